import { definePlay, steps } from 'callsheet';

interface Lead {
  first_name: string;
  last_name: string;
  company: string;
  domain: string;
  title: string;
}

interface Person {
  first_name: string;
  last_name: string;
  domain: string;
}

const personOf = ({ first_name, last_name, domain }: Lead): Person => ({ first_name, last_name, domain });
const orNext = { continueOnProviderUnavailable: true };

export default definePlay(
  'find-work-email',
  async (ctx, input: { csv: string }) => {
    const leads = await ctx.csv<Lead>(input.csv, { required: ['first_name', 'last_name', 'domain'] });
    const rows = await ctx
      .dataset('leads', leads)
      .withColumn(
        'email',
        steps<Lead>()
          .step(
            'hunter',
            async (row, ctx) =>
              (await ctx.tools.execute({ id: 'hunter', tool: 'hunter.email_finder', input: personOf(row) })).values
                .email,
            orNext,
          )
          .step(
            'prospeo',
            async (row, ctx) =>
              (await ctx.tools.execute({ id: 'prospeo', tool: 'prospeo.email_finder', input: personOf(row) })).values
                .email,
            { ...orNext, runIf: (row) => !row.hunter },
          )
          .step(
            'dropcontact',
            async (row, ctx) =>
              (await ctx.tools.execute({ id: 'dropcontact', tool: 'dropcontact.enrich', input: personOf(row) })).values
                .email,
            { ...orNext, runIf: (row) => !row.hunter && !row.prospeo },
          )
          .return((row) => row.hunter ?? row.prospeo ?? row.dropcontact ?? null),
      )
      .withColumn('email_status', {
        runIf: (row) => row.email !== null,
        run: async ({ row, ctx }) => {
          const input = { email: row.email };
          return (await ctx.tools.execute({ id: 'verify', tool: 'zerobounce.validate', input })).values.status;
        },
      })
      .withColumn('industry', async (row, ctx) => {
        const input = { domain: row.domain };
        return (await ctx.tools.execute({ id: 'company', tool: 'clearbit.company', input })).values.industry;
      })
      .run({ key: ['first_name', 'last_name', 'domain'], description: 'Work e-mails of the leads' });
    return { rows, count: await rows.count() };
  },
  {
    description: 'Work e-mails, cheapest provider first, verified, with the industry of the company',
    billing: { maxCreditsPerRun: 5000 },
  },
);
