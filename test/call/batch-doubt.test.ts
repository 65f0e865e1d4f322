import { expect } from 'vitest';
import { crash, laterClock } from '../harness/crash.ts';
import { batchedTool } from '../harness/tools.ts';
import { attempt, openTest, queued, testFolder } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const SEND = `async (ctx) => {
  const rows = await ctx.dataset('rows', [{ n: 0 }, { n: 1 }]).withColumn('sent', async (row, ctx) =>
    (await ctx.tools.execute({ id: 's', tool: 'acme.send', input: { n: row.n } })).data).run({ key: 'n' });
  return (await rows.materialize()).map((row) => row.sent ?? null);
}`;

verifies('BATCH-DOUBT-2', 'is not sent again where the process died before it could say so', async () => {
  for (const parts of [{}, { idempotency: { header: 'Idempotency-Key' } }]) {
    const { tool, sent } = batchedTool({
      ...{ id: 'acme.send', effect: 'write', maxSize: 2, ...parts },
      split: () => [
        { status: 'completed', data: 'ok' },
        { status: 'failed', message: 'nobody knows', ending: 'ambiguous' },
      ],
    });
    const dir = testFolder();
    const now = await openTest(dir, { tools: [tool] });
    const run = await queued(now, SEND);
    // The answer is on disk, and nothing of what it says.
    await crash(now, run.id, (write) => write.kind === 'call');
    expect(sent).toHaveLength(1);
    const later = await openTest(dir, { tools: [tool], clock: laterClock() });
    const { result } = await attempt(later, run.id);
    expect([result, sent.length]).toEqual([['ok', null], 1]);
    const [failed] = await later.store.report.failedRows(run.no, 1, { afterOrdinal: -1, limit: 9 });
    expect(JSON.parse(failed?.error ?? '{}')).toMatchObject({ code: 'IN_DOUBT' });
  }
});
