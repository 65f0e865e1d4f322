import { describe, expect } from 'vitest';
import { bulkTool } from '../harness/bulk.ts';
import { runPlay, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

/** Ten rows from this one on, one question each. */
const tenFrom = (first: number): string => `async (ctx) => {
  const rows = await ctx.dataset('rows', Array.from({ length: 10 }, (_, n) => ({ n: ${first} + n })))
    .withColumn('v', async (row, ctx) => (await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: row.n } })).data)
    .run({ concurrency: 10 });
  return (await rows.materialize()).map((row) => row.v?.got.n ?? null);
}`;

/** A workspace whose provider refuses batches like this for their size, and the sizes of those that it was asked. */
async function tooLong(isTooLong: (asked: readonly number[]) => boolean) {
  const { tool, sent } = await bulkTool({ maxSize: 10, maxWaitMs: 60_000 }, (asked) => (isTooLong(asked) ? 413 : 200));
  return { workspace: await testWorkspace({ tools: [tool] }), sizes: () => sent.splice(0).map(({ length }) => length) };
}

describe('the size of a batch', () => {
  verifies('BATCH-SIZE-1', 'that its provider does not take is learnt by the first that is refused', async () => {
    const { workspace, sizes } = await tooLong(({ length }) => length > 4);
    expect((await runPlay(workspace, tenFrom(0))).result).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(sizes().sort((a, b) => b - a)).toEqual([10, 5, 5, 3, 3, 2, 2]);
    expect((await runPlay(workspace, tenFrom(10))).result).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
    expect(sizes()).toEqual([3, 3, 3, 1]);
  });

  verifies('BATCH-SIZE-1', 'stays what it is where one row is too long', async () => {
    const { workspace, sizes } = await tooLong((asked) => asked.includes(3));
    expect((await runPlay(workspace, tenFrom(0))).result).toEqual([0, 1, 2, null, 4, 5, 6, 7, 8, 9]);
    expect(sizes()).toContain(1);
    await runPlay(workspace, tenFrom(10));
    expect(sizes()).toEqual([10]);
  });
});
