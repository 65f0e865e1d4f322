import { definePlay, steps } from 'callsheet';

interface Lead {
  n: string;
  first_name: string;
  last_name: string;
  domain: string;
}

interface Message {
  message_id: string;
}

const personOf = ({ first_name, last_name, domain }: Lead) => ({ first_name, last_name, domain });
const mailTo = (to: string) => ({ to, subject: 'Hello', body: `To ${to}, once.` });

const beside = definePlay('beside', async (ctx, input: { domain: string }) => {
  const asked = { first_name: 'Beside', last_name: 'Ashvale', domain: input.domain };
  const found = await ctx.tools.execute({ id: 'find', tool: 'hunter.email_finder', input: asked });
  await ctx.sleep('2500ms');
  const sent = mailTo('beside@example.com');
  await ctx.tools.execute<Message>({ id: 'send', tool: 'messages.send', input: sent });
  return found.values.email ?? null;
});

/** A waterfall, a write, a sleep, an event wait and a run that goes on beside it. */
export default definePlay('stop-anywhere', async (ctx, input: { csv: string; begun: string }) => {
  const leads = await ctx.csv<Lead>(input.csv);
  const at = await ctx.now('begin');
  const child = await ctx.runPlayAsync('beside', beside, { domain: 'stripe.com' });
  const rows = await ctx
    .dataset('leads', leads)
    .withColumn(
      'email',
      steps<Lead>()
        .step('hunter', async (row, ctx) => {
          const asked = { id: 'hunter', tool: 'hunter.email_finder', input: personOf(row) };
          return (await ctx.tools.execute(asked)).values.email as string | null;
        })
        .step(
          'prospeo',
          async (row, ctx) => {
            const asked = { id: 'prospeo', tool: 'prospeo.email_finder', input: personOf(row) };
            return (await ctx.tools.execute(asked)).values.email as string | null;
          },
          { runIf: (row) => !row.hunter },
        )
        .return((row) => row.hunter ?? row.prospeo ?? `nobody${row.n}@example.com`),
    )
    .withColumn('sent', async (row, ctx) => {
      const asked = { id: 'send', tool: 'messages.send', input: mailTo(`row${row.n}.${row.email}`) };
      const { data } = await ctx.tools.execute<Message>(asked);
      return data === null ? null : 'sent';
    })
    .withColumn('answer', async (row, ctx) => {
      if (Number(row.n) % 5 === 0) await ctx.sleep('40ms');
      if (Number(row.n) % 5 === 2) await ctx.sleep('2500ms');
      if (Number(row.n) % 8 !== 1) return null;
      const answer = await ctx.waitForEvent('reply', { event: 'reply' });
      return (answer as { said: string }).said;
    })
    .run({ key: 'n', concurrency: 4 });
  await ctx.sleep('20ms');
  const bye = await ctx.tools.execute<Message>({ id: 'bye', tool: 'messages.send', input: mailTo('all@example.com') });
  return { rows, child: child.playName, bye: bye.status, dated: at.getTime() > 0 };
});
