import { definePlay, type RowCtx, steps } from 'callsheet';

interface Lead {
  first_name: string;
  last_name: string;
  company: string;
  domain: string;
  title: string;
}

const finder = (tool: string) => async (row: Lead, ctx: RowCtx) => {
  const { first_name, last_name, domain } = row;
  const found = await ctx.tools.execute({ id: tool, tool, input: { first_name, last_name, domain } });
  return found.values.email as string | null;
};

export default definePlay(
  'find-work-email',
  async (ctx, input: { csv: string }) => {
    const leads = await ctx.csv<Lead>(input.csv, { required: ['first_name', 'last_name', 'domain'] });
    const rows = await ctx
      .dataset('leads', leads)
      .withColumn(
        'email',
        steps<Lead>()
          .step('hunter', finder('hunter.email_finder'), { continueOnProviderUnavailable: true })
          .step('prospeo', finder('prospeo.email_finder'), {
            runIf: (row) => row.hunter === null,
            continueOnProviderUnavailable: true,
          })
          .step('dropcontact', finder('dropcontact.enrich'), {
            runIf: (row) => row.hunter === null && row.prospeo === null,
            continueOnProviderUnavailable: true,
          })
          .return((row) => row.hunter ?? row.prospeo ?? row.dropcontact),
      )
      .withColumn('email_status', {
        runIf: (row) => row.email !== null,
        run: async ({ row, ctx }) => {
          const checked = await ctx.tools.execute({
            id: 'verify',
            tool: 'zerobounce.validate',
            input: { email: row.email },
          });
          return checked.values.status as string;
        },
      })
      .withColumn('industry', async (row, ctx) => {
        const found = await ctx.tools.execute({
          id: 'company',
          tool: 'clearbit.company',
          input: { domain: row.domain },
        });
        return found.values.industry as string | null;
      })
      .run({ key: ['first_name', 'last_name', 'domain'], description: 'Work e-mails of the leads' });
    return { rows, count: await rows.count() };
  },
  {
    description: 'Work e-mails, cheapest provider first, verified, with the industry of the company',
    billing: { maxCreditsPerRun: 5000 },
  },
);
