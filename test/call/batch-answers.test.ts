import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LocalEngine } from '../../src/engine/index.ts';
import { receiptById, receiptsList, whyRow } from '../../src/report/index.ts';
import { CallsheetError } from '../../src/sdk/index.ts';
import type { Committer, Unit, Write } from '../../src/store/index.ts';
import { evictReceipts, receiptsToEvict, reportSource } from '../../src/workspace/index.ts';
import { crash, laterClock } from '../harness/crash.ts';
import { batchedTool } from '../harness/tools.ts';
import {
  attempt,
  creditsShown,
  openTest,
  queued,
  runPlay,
  settled,
  testFolder,
  testWorkspace,
} from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const FIVE = `async (ctx) => {
  const rows = await ctx.dataset('rows', Array.from({ length: 5 }, (_, n) => ({ n })))
    .withColumn('v', async (row, ctx) => (await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: row.n } })).data)
    .run({ key: 'n' });
  return (await rows.materialize()).map((row) => row.v ?? null);
}`;

type Asked = readonly { readonly n: number }[];
type Split = (value: Asked) => readonly unknown[];

/** A tool whose split is what the test says at present. */
function mendable(split: Split, parts: object = {}) {
  const now = { split, times: 0 };
  const counted = batchedTool(
    {
      maxSize: 5,
      ...parts,
      split: (value: Asked) => {
        now.times++;
        return now.split(value) as never;
      },
    },
    (inputs) => inputs,
  );
  return { ...counted, now };
}

const fair: Split = (value) => value.map(({ n }) => ({ status: 'completed', data: n * 10 }));
const isReceipt = (write: Write): boolean => write.kind === 'receipt';

describe("a batch's answer", () => {
  verifies(
    'BATCH-WHOLE-1',
    "is on disk, with its members' receipts, in one unit and before split sees it",
    async () => {
      const units: Unit[] = [];
      const { tool } = mendable((value) => {
        expect(units.filter((unit) => unit.some(isReceipt))).toHaveLength(1);
        return fair(value);
      });
      const workspace = await testWorkspace({ tools: [tool] });
      const { committer } = workspace;
      const watched: Committer = {
        ...committer,
        commit: (unit) => committer.commit(unit).then(() => void units.push(unit)),
        defer: (unit, settled) => committer.defer(unit, settled),
        flush: () => committer.flush(),
      };
      const run = await queued(workspace, FIVE);
      const calls = { ...workspace.deps.calls, committer: watched };
      const engine = new LocalEngine({ ...workspace.deps, committer: watched, calls });
      expect((await attempt(workspace, run.id, engine)).result).toEqual([0, 10, 20, 30, 40]);
      const kept = units.flat().filter(isReceipt);
      expect(kept).toHaveLength(6);
    },
  );

  verifies(
    ['BATCH-WHOLE-1', 'BATCH-SPLIT-1'],
    'that split cannot read is a contract error of each member, kept, and read anew once it is mended',
    async () => {
      const wrong: readonly [Split, string][] = [
        [(value) => value.slice(1), 'returned 4 outcomes for 5 inputs'],
        [() => ({}) as never, 'instead of a list'],
        [(value) => (value as never as { rows: never[] }).rows.map((row) => row), 'TypeError'],
      ];
      for (const [split, problem] of wrong) {
        const { tool, sent, now } = mendable(split);
        const dir = testFolder();
        const workspace = await openTest(dir, { tools: [tool] });
        const { run, outcome, code } = await runPlay(workspace, FIVE);
        expect(code).toBe('TOOL_CONTRACT');
        expect((outcome as { error: Error }).error.message).toContain(problem);
        await workspace.close();
        now.split = fair;
        const later = await openTest(dir, { tools: [tool] });
        expect((await attempt(later, run.id)).result).toEqual([0, 10, 20, 30, 40]);
        expect(sent).toHaveLength(1);
        expect(await settled(later, run)).toBe(5);
      }
    },
  );

  verifies('BATCH-SPLIT-1', 'that split reads wrongly for one member fails that one only', async () => {
    const config = `import { defineConfig } from 'callsheet'; export default defineConfig({ continueOnContractError: true });`;
    const { tool } = mendable((value) =>
      value.map(({ n }) => (n === 3 ? { status: 'what' } : { status: 'completed', data: n })),
    );
    const workspace = await testWorkspace({ tools: [tool], files: { 'callsheet.config.ts': config } });
    const { result, run } = await runPlay(workspace, FIVE);
    expect(result).toEqual([0, 1, 2, null, 4]);
    const [row] = await workspace.store.report.failedRows(run.no, 1, { afterOrdinal: -1, limit: 9 });
    expect(JSON.parse(row?.error ?? '{}')).toMatchObject({ code: 'TOOL_CONTRACT' });
    expect(await creditsShown(workspace, run.id)).toEqual({ settled: 4, unknown: 1 });
  });

  verifies('BATCH-WHOLE-1', 'gives other cells in a rerun by a mended split, and buys nothing', async () => {
    const { tool, sent, now } = mendable((value) => value.map(() => ({ status: 'no_result' })));
    const dir = testFolder();
    const workspace = await openTest(dir, { tools: [tool] });
    expect((await runPlay(workspace, FIVE)).result).toEqual([null, null, null, null, null]);
    await workspace.close();
    now.split = fair;
    const later = await openTest(dir, { tools: [tool] });
    const { result, run } = await runPlay(later, FIVE);
    expect(result).toEqual([0, 10, 20, 30, 40]);
    expect([sent.length, await settled(later, run)]).toEqual([1, 0]);
  });

  verifies(
    'BATCH-WHOLE-1',
    'that a dead process had recorded and not settled is settled by its own calls',
    async () => {
      const { tool, sent } = mendable(fair);
      const dir = testFolder();
      const now = await openTest(dir, { tools: [tool] });
      const run = await queued(now, FIVE);
      await crash(now, run.id, (write) => write.kind === 'call');
      const later = await openTest(dir, { tools: [tool], clock: laterClock() });
      expect((await attempt(later, run.id)).result).toEqual([0, 10, 20, 30, 40]);
      expect([sent.length, await settled(later, run)]).toEqual([1, 5]);
      expect(await later.store.calls.unsettledReceipts(run.no)).toEqual([]);
    },
  );

  verifies('BATCH-OUTCOMES-1', 'that refused a member, and whose process died, has that one asked again', async () => {
    for (const isMended of [false, true]) {
      const heeds = { first: true };
      const split = ({ serial, inputs }: { serial: number; inputs: Asked }) =>
        inputs.map(({ n }) =>
          n === 2 && serial === 1 && heeds.first
            ? { status: 'failed', message: 'busy', ending: 'deferred' }
            : { status: 'completed', data: n },
        ) as never;
      const { tool, sent } = batchedTool({ maxSize: 5, split }, (inputs) => ({ serial: sent.length, inputs }));
      const dir = testFolder();
      const now = await openTest(dir, { tools: [tool] });
      const run = await queued(now, FIVE);
      await crash(now, run.id, (write) => write.kind === 'call' || write.kind === 'operation');
      heeds.first = !isMended;
      const later = await openTest(dir, { tools: [tool], clock: laterClock() });
      expect((await attempt(later, run.id)).result).toEqual([0, 1, 2, 3, 4]);
      // What the first answer says of it now is what counts.
      const asked = sent.map(({ inputs }) => inputs.map(({ n }) => n));
      expect(asked).toEqual(isMended ? [[0, 1, 2, 3, 4]] : [[0, 1, 2, 3, 4], [2]]);
      expect(await settled(later, run)).toBe(5);
    }
  });

  verifies(
    'BATCH-MEMORY-1',
    'is read and split once, whatever its size and however many members are read',
    async () => {
      const split: Split = (value) => value.map(({ n }) => ({ status: 'completed', data: n }));
      const { tool, now } = mendable(split, { maxSize: 5 });
      const large = {
        ...tool,
        batch: { ...tool.batch, run: (inputs: Asked) => inputs.map((one) => ({ ...one, pad: 'x'.repeat(200_000) })) },
      };
      const dir = testFolder();
      const workspace = await openTest(dir, { tools: [large as never] });
      await runPlay(workspace, FIVE);
      await workspace.close();
      const again = await openTest(dir, { tools: [large as never] });
      now.times = 0;
      let raws = 0;
      const { calls } = again.store;
      const receiptRaw = calls.receiptRaw.bind(calls);
      Object.assign(calls, {
        receiptRaw: (id: number) => {
          raws++;
          return receiptRaw(id);
        },
      });
      const { result, run } = await runPlay(again, FIVE);
      expect(result).toEqual([0, 1, 2, 3, 4]);
      expect([now.times, raws, await settled(again, run)]).toEqual([1, 1, 0]);
    },
  );

  it('is no other member’s to change', async () => {
    const shared = { list: [1] };
    const { tool } = mendable((value) => value.map(() => ({ status: 'completed', data: shared })));
    const workspace = await testWorkspace({ tools: [tool] });
    const play = FIVE.replace('.data)', ').data.list.push(row.n))').replace('(await ctx.tools', '((await ctx.tools');
    expect((await runPlay(workspace, play)).result).toEqual([2, 2, 2, 2, 2]);
  });

  verifies(
    'BATCH-RESCUE-1',
    'that the store refuses is kept beside it, whole, and its members find it later',
    async () => {
      const { tool, sent } = mendable(fair, { effect: 'write' });
      const dir = testFolder();
      const now = await openTest(dir, { tools: [tool] });
      const run = await queued(now, FIVE);
      let isFull = false;
      const { committer } = now;
      const failing: Committer = {
        commit: (unit) => {
          isFull ||= unit.some(isReceipt);
          return isFull
            ? Promise.reject(new CallsheetError('STORE_FULL', 'The disk is full.'))
            : committer.commit(unit);
        },
        defer: (unit, settled) => {
          if (!isFull) committer.defer(unit, settled);
        },
        flush: () => committer.flush(),
      };
      const calls = { ...now.calls, committer: failing };
      const { code } = await attempt(now, run.id, new LocalEngine({ ...now.deps, committer: failing, calls }));
      expect(code).toBe('STORE_FULL');
      await now.close();
      const later = await openTest(dir, { tools: [tool], clock: laterClock() });
      expect(readdirSync(join(dir, '.callsheet', 'rescue'))).toEqual([]);
      expect(await later.store.report.listReceipts({ limit: 99 })).toHaveLength(6);
      expect((await attempt(later, run.id)).result).toEqual([0, 10, 20, 30, 40]);
      expect([sent.length, await settled(later, run)]).toEqual([1, 5]);
    },
  );

  verifies('BATCH-REPORT-1', 'is shown with each receipt, and why and evict know its members', async () => {
    const { tool, sent } = mendable(fair);
    const workspace = await testWorkspace({ tools: [tool] });
    const { run } = await runPlay(workspace, FIVE);
    const source = reportSource(workspace);
    const { receipts } = await receiptsList(source, { limit: 99 });
    expect(receipts.map((receipt) => receipt.tool)).toEqual(['acme.find:batch', ...Array(5).fill('acme.find')]);
    expect(receipts.slice(1).map((receipt) => receipt.input)).toEqual([0, 1, 2, 3, 4].map((n) => ({ n })));
    const why = await whyRow(source, run, { row: '3' });
    const [attemptOfRow] = why.columns[0]?.attempts ?? [];
    expect(attemptOfRow).toMatchObject({ tool: 'acme.find', source: 'live', credits: 1, receiptId: receipts[4]?.id });
    const part = await receiptById(source, attemptOfRow?.receiptId ?? '');
    expect([part.partOf, JSON.parse(part.raw)]).toMatchObject([receipts[0]?.id, { kind: 'part', index: 3 }]);
    const whole = await receiptById(source, part.partOf ?? '');
    expect([whole.partOf, JSON.parse(whole.raw).answer.value[3]]).toEqual([null, { n: 3 }]);
    // Everything is hidden from other runs, and a run that points at it reads it all the same.
    await evictReceipts(workspace, await receiptsToEvict(workspace.store, { before: Number.MAX_SAFE_INTEGER }));
    await runPlay(workspace, FIVE);
    expect(sent).toHaveLength(2);
    const replayed = await workspace.calls.lookup.byId(Number(attemptOfRow?.receiptId?.slice(4)));
    expect(replayed?.part?.index).toBe(3);
  });
});
