import { definePlay, steps } from 'callsheet';

interface Row {
  n: string;
}

interface Letter {
  id: string;
}

interface Input {
  /** Tells this run's questions from those of others. */
  run: number;
  csv: string;
}

const inner = definePlay('inner', async (ctx, input: { run: number }) => {
  const found = await ctx.tools.execute({ id: 'look', tool: 'acme.first', input: { run: input.run, n: 'inner' } });
  return found.data;
});

const beside = definePlay('beside', async (ctx, input: { run: number }) => {
  await ctx.sleep('30m');
  const found = await ctx.tools.execute({ id: 'look', tool: 'acme.first', input: { run: input.run, n: 'beside' } });
  return found.data;
});

/** Every kind of boundary, every kind of call, in rows and outside. */
export default definePlay('fault-points', async (ctx, input: Input) => {
  const { run } = input;
  const at = (await ctx.now()).toISOString();
  const picked = await ctx.step('pick', () => {
    (globalThis as { callsheetChaosStep?: (label: string) => void }).callsheetChaosStep?.('pick');
    return run * 2;
  });
  const child = await ctx.runPlay('inner', inner, { run });
  const started = await ctx.runPlayAsync('beside', beside, { run });
  const leads = await ctx.csv<Row>(input.csv);
  const rows = await ctx
    .dataset('leads', leads)
    .withColumn(
      'email',
      steps<Row>()
        .step('first', async (row, ctx) => {
          const asked = { id: 'first', tool: 'acme.first', input: { run, n: row.n } };
          const found = await ctx.tools.execute<{ email: string } | null>(asked).catch(() => undefined);
          return found?.data?.email ?? null;
        })
        .step(
          'second',
          async (row, ctx) => {
            const asked = { id: 'second', tool: 'acme.second', input: { run, n: row.n } };
            return (await ctx.tools.execute<{ email: string }>(asked)).data.email;
          },
          { runIf: (row) => row.first === null },
        )
        .return((row) => row.first ?? row.second),
    )
    .withColumn('sent', async (row, ctx) => {
      const seen = (await ctx.now('seen')).toISOString();
      const letter = { run, to: row.email, at: seen };
      return (await ctx.tools.execute<Letter>({ id: 'send', tool: 'acme.send', input: letter })).data.id;
    })
    .withColumn('answer', async (row, ctx) => {
      if (row.n === '1') await ctx.sleep('30m');
      if (row.n === '2') return (await ctx.waitForEvent('ok', { event: 'ok' })) as { said: string };
      await ctx.sleep(2);
      return null;
    })
    .run({ key: 'n', concurrency: 2 });
  const bye = await ctx.tools.execute<Letter>({ id: 'bye', tool: 'acme.send', input: { run, to: 'all', at } });
  const cells = (await rows.materialize()).map(({ n, email, sent, answer }) => ({ n, email, sent, answer }));
  return { picked, child, started: started.playName, cells, bye: bye.data.id };
});
