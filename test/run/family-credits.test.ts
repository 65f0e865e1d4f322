import { describe, expect } from 'vitest';
import { existingRun } from '../../src/workspace/index.ts';
import { crash, crashingEngine, laterClock, noonClock } from '../harness/crash.ts';
import { queuedRerun, rerun } from '../harness/rerun.ts';
import { batchedTool, chargedFor, countedTool, latch } from '../harness/tools.ts';
import { attempt, creditsShown, openTest, queued, testFolder } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const WRITES = `async (ctx) => {
  const rows = await ctx.dataset('rows', [0, 1, 2].map((n) => ({ n }))).withColumn('sent', async (row, ctx) => {
    const { data, execution } = await ctx.tools.execute({ id: 's', tool: 'acme.send', input: { n: row.n } });
    return data + ' for ' + execution.credits;
  }).run({ key: 'n' });
  return (await rows.materialize()).map((row) => row.sent ?? null);
}`;
const KEYED = { id: 'acme.send', effect: 'write', idempotency: { header: 'Idempotency-Key' } } as const;

describe('what runs of one family send under one key', () => {
  verifies('BUDGET-FAMILY-1', 'is settled by the one that is answered first, and costs the other nothing', async () => {
    const [allAreOut, both] = [latch(), latch()];
    let out = 0;
    const { tool, sent } = countedTool(KEYED, async () => {
      if (++out === 3) allAreOut.open();
      if (out === 6) both.open();
      await both.opened;
      return 'ok';
    });
    const workspace = await openTest(testFolder({ 'callsheet.config.json': '{ "creditsPerDay": 6 }' }), {
      tools: [tool],
      clock: noonClock(),
    });
    const source = await queued(workspace, WRITES);
    const made = await queuedRerun(workspace, source);
    const first = attempt(workspace, source.id);
    await allAreOut.opened;
    const ended = [await attempt(workspace, made.id), await first];
    expect([sent.length, chargedFor(sent, KEYED)]).toEqual([6, 3]);
    const shown = [await creditsShown(workspace, made.id), await creditsShown(workspace, source.id)];
    expect(shown.map(({ unknown }) => unknown)).toEqual([0, 0]);
    expect(shown.reduce((sum, { settled }) => sum + settled, 0)).toBe(3);
    const told = ended.flatMap(({ result }) => result as string[]);
    expect(told.filter((text) => text === 'ok for 1')).toHaveLength(3);
    expect(told.filter((text) => text === 'ok for 0')).toHaveLength(3);
    for (const { run } of ended) {
      const rows = await workspace.store.datasets.rows(run.no, 1, { from: 0, to: 9, maxBytes: 9999 });
      const inRows = rows.reduce((sum, { credits }) => sum + credits, 0);
      expect(inRows).toBe((await creditsShown(workspace, run.id)).settled);
    }
    // What the other has not settled is there for others.
    const third = await queued(workspace, WRITES);
    expect((await attempt(workspace, third.id)).outcome.kind).toBe('completed');
  });

  verifies('BUDGET-FAMILY-1', 'and one has lost at a kill is known where the other has settled it since', async () => {
    const { tool, sent } = countedTool(KEYED, () => 'ok');
    const dir = testFolder();
    const now = await openTest(dir, { tools: [tool] });
    const run = await queued(now, WRITES);
    await crash(now, run.id, (write) => write.kind === 'receipt');
    const later = await openTest(dir, { tools: [tool], clock: laterClock() });
    const source = await existingRun(later, run.id);
    const made = await rerun(later, source);
    expect(chargedFor(sent, KEYED)).toBe(3);
    expect(await creditsShown(later, made.run.id)).toEqual({ settled: 3, unknown: 0 });
    expect(await creditsShown(later, run.id)).toEqual({ settled: 0, unknown: 3 });
    await attempt(later, run.id);
    expect(chargedFor(sent, KEYED)).toBe(3);
    expect(await creditsShown(later, run.id)).toEqual({ settled: 0, unknown: 0 });
  });

  verifies(
    'BUDGET-FAMILY-1',
    'and a rerun has lost at a kill is known where its source has settled it since',
    async () => {
      const [areOut, isDead] = [latch(), latch()];
      const { tool, sent } = countedTool(KEYED, async () => {
        if (sent.length === 6) areOut.open();
        if (sent.length > 3 && sent.length <= 6) await isDead.opened;
        return 'ok';
      });
      const dir = testFolder();
      const now = await openTest(dir, { tools: [tool] });
      const source = await queued(now, WRITES);
      await crash(now, source.id, (write) => write.kind === 'receipt');
      const later = await openTest(dir, { tools: [tool], clock: laterClock() });
      const made = await queuedRerun(later, source);
      const dying = crashingEngine(later, () => false);
      void dying.engine.start(made.id);
      await areOut.opened;
      dying.die();
      isDead.open();
      const last = await openTest(dir, { tools: [tool], clock: laterClock(7_200_000) });
      await attempt(last, source.id);
      expect(await creditsShown(last, made.id)).toEqual({ settled: 0, unknown: 3 });
      await attempt(last, made.id);
      expect(chargedFor(sent, KEYED)).toBe(3);
      expect(await creditsShown(last, source.id)).toEqual({ settled: 3, unknown: 0 });
      expect(await creditsShown(last, made.id)).toEqual({ settled: 0, unknown: 0 });
    },
  );
});

verifies(
  'BUDGET-FAMILY-2',
  'a read that a killed run had out is asked anew by its rerun, and each pays for what it asks',
  async () => {
    for (const how of [{}, { refresh: 'all' }] as const) {
      const { tool, sent } = batchedTool({ ...KEYED, effect: 'read', maxSize: 3 }, (inputs) => inputs.map(() => 'ok'));
      const dir = testFolder();
      const now = await openTest(dir, { tools: [tool] });
      const run = await queued(now, WRITES);
      await crash(now, run.id, (write) => write.kind === 'receipt');
      const later = await openTest(dir, { tools: [tool], clock: laterClock() });
      const made = await rerun(later, await existingRun(later, run.id), how);
      await attempt(later, run.id);
      const keys = new Set(sent.map(({ operationKey }) => operationKey));
      expect(keys.size).toBe(2);
      expect(await creditsShown(later, made.run.id)).toEqual({ settled: 3, unknown: 0 });
      const { settled, unknown } = await creditsShown(later, run.id);
      expect(settled + unknown).toBe(3);
    }
  },
);
