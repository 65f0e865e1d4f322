import { describe, expect } from 'vitest';
import type { Write } from '../../src/store/index.ts';
import {
  existingRun,
  prepareRerun,
  type RunRecord,
  resolveOperation,
  type Workspace,
} from '../../src/workspace/index.ts';
import { crash, laterClock } from '../harness/crash.ts';
import { callsOf, FIND_AND_SEND, rerun } from '../harness/rerun.ts';
import { countedTool, endsAs, ROWS } from '../harness/tools.ts';
import { openTest, queued, runPlay, testFolder, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const isReceipt = (write: Write): boolean => write.kind === 'receipt';

async function doubtOf(workspace: Workspace, run: RunRecord): Promise<string> {
  const [doubt] = await workspace.store.report.operationsOfRun(run.no, 9);
  return doubt?.callId ?? '';
}

describe('a rerun of writes', () => {
  const send = (parts: object = {}, run?: Parameters<typeof countedTool>[1]) =>
    countedTool({ id: 'acme.send', effect: 'write', ...parts }, run);

  async function inDoubt(parts: object = {}) {
    const find = countedTool({}, ({ n }) => n);
    const sender = send(parts);
    const dir = testFolder();
    const tools = [find.tool, sender.tool];
    const now = await openTest(dir, { tools });
    const run = await queued(now, FIND_AND_SEND);
    let receipts = 0;
    await crash(now, run.id, (write) => isReceipt(write) && ++receipts === 4);
    expect(sender.sent.map(({ input }) => input.to)).toEqual([0, 1]);
    const later = await openTest(dir, { tools, clock: laterClock() });
    return { ...sender, find, later, run: await existingRun(later, run.id) };
  }

  verifies(
    ['RERUN-DOUBT-1', 'RERUN-FAILED-1'],
    'leaves one in doubt until it is resolved, whether the source had found that out or not',
    async () => {
      const { later, run, sent } = await inDoubt();
      const codes = async (made: RunRecord) => {
        const rows = await later.store.report.failedRows(made.no, 1, { afterOrdinal: -1, limit: 9 });
        return rows.map((row) => [row.ordinal, JSON.parse(row.error ?? '{}').code]);
      };
      const first = await rerun(later, run, { failed: true });
      expect(await codes(first.run)).toEqual([[1, 'IN_DOUBT']]);
      expect(sent.map(({ input }) => input.to)).toEqual([0, 1, 2, 3, 4]);
      const second = await rerun(later, first.run, { failed: true });
      expect(await codes(second.run)).toEqual([[1, 'IN_DOUBT']]);
      expect(sent).toHaveLength(5);
      const call = await doubtOf(later, second.run);
      await resolveOperation(later, second.run, { call, as: 'done', data: 'was sent' });
      const third = await rerun(later, await existingRun(later, second.run.id), { failed: true });
      expect([third.result[1], sent.length]).toEqual(['was sent', 5]);
      // In the first rerun it stays in doubt.
      expect(await doubtOf(later, first.run)).toBe(call);
      // What a rerun of it goes by cannot be said otherwise.
      await expect(resolveOperation(later, first.run, { call, as: 'notDone', data: null })).rejects.toMatchObject({
        code: 'WRITE_ALREADY_DONE',
      });
      await resolveOperation(later, first.run, { call, as: 'done', data: 'was sent' });
      const other = await rerun(later, await existingRun(later, first.run.id), { failed: true });
      expect([other.result[1], sent.length]).toEqual(['was sent', 5]);
    },
  );

  verifies('RERUN-FAILED-1', 'sends one again that the provider has refused, which leaves no doubt', async () => {
    let refuses = true;
    const { tool, sent } = send({}, ({ n }) => {
      if (refuses && n === 1) throw endsAs('rejected');
      return n;
    });
    const workspace = await testWorkspace({ tools: [tool] });
    const { run } = await runPlay(workspace, ROWS.replace('acme.find', 'acme.send'));
    expect(sent).toHaveLength(6);
    refuses = false;
    expect((await rerun(workspace, run, { failed: true })).result).toEqual([0, 1, 2, 3, 4, 5]);
    expect(sent).toHaveLength(7);
  });

  verifies('RERUN-WRITE-1', 'sends nothing that was sent, and what may have been sent only under its key', async () => {
    const { later, run, sent } = await inDoubt({ idempotency: { header: 'Idempotency-Key' } });
    const resumed = await rerun(later, run);
    expect(resumed.result).toHaveLength(5);
    expect(sent.map(({ input }) => input.to)).toEqual([0, 1, 1, 2, 3, 4]);
    expect(sent[2]?.operationKey).toBe(sent[1]?.operationKey);
    const again = await rerun(later, resumed.run);
    expect([again.result, sent.length]).toEqual([resumed.result, 6]);
    expect(await callsOf(later, again.run)).toMatchObject({ sourceRun: 10, live: 0 });
  });

  verifies(
    'RERUN-WRITE-1',
    'that ended without an answer go out again under their key, those refused under the next',
    async () => {
      const endings = ['ambiguous', 'rejected'];
      const { tool, sent } = send({ idempotency: { header: 'Idempotency-Key' }, maxTries: 1 }, () => {
        const ending = endings.shift();
        if (ending !== undefined) throw endsAs(ending);
        return 'ok';
      });
      const workspace = await testWorkspace({ tools: [tool] });
      const source = `async (ctx) => {
      const rows = await ctx.dataset('rows', [{ n: 0 }, { n: 1 }]).withColumn('sent', async (row, ctx) =>
        (await ctx.tools.execute({ id: 's', tool: 'acme.send', input: { n: row.n } })).data).run({ concurrency: 1 });
      return (await rows.materialize()).map((row) => row.sent ?? null);
    }`;
      const first = await runPlay(workspace, source);
      expect(first.result).toEqual([null, null]);
      expect(sent).toHaveLength(2);
      expect((await rerun(workspace, first.run, { failed: true })).result).toEqual(['ok', 'ok']);
      const [ambiguous, refused, again, next] = sent.map(({ operationKey }) => operationKey);
      expect(again).toBe(ambiguous);
      expect(next).not.toBe(refused);
    },
  );

  verifies(
    ['RERUN-WRITE-1', 'RERUN-REFRESH-1'],
    'sends none again because a read was refreshed or the tool has changed, but where it is named',
    async () => {
      let round = 1;
      const find = countedTool({}, ({ n }) => n * 10 + round);
      const sender = send();
      const dir = testFolder();
      const workspace = await openTest(dir, { tools: [find.tool, sender.tool] });
      const first = await runPlay(workspace, FIND_AND_SEND);
      const same = await rerun(workspace, first.run, { refresh: 'all' });
      expect([find.sent.length, sender.sent.length]).toEqual([10, 5]);
      expect(same.result).toEqual(first.result);
      round = 2;
      const other = await rerun(workspace, first.run, { refresh: ['acme.find'] });
      expect([find.sent.length, sender.sent.length, other.result]).toEqual([15, 5, [null, null, null, null, null]]);
      const [failed] = await workspace.store.report.failedRows(other.run.no, 1, { afterOrdinal: -1, limit: 9 });
      expect(JSON.parse(failed?.error ?? '{}')).toMatchObject({
        code: 'WRITE_ALREADY_DONE',
        message: expect.stringMatching(/acme\.send.*'s' in sent.*another input/),
      });
      const { writes } = await prepareRerun(workspace, first.run, { cwd: dir, refresh: ['acme.send'] });
      expect(writes).toEqual(['acme.send']);
      const named = await rerun(workspace, first.run, { refresh: ['acme.send'], rows: ['1'] });
      expect([named.result[1], sender.sent.length]).toEqual([{ got: { to: 11 } }, 6]);
      expect(new Set(sender.sent.map(({ operationKey }) => operationKey)).size).toBe(6);
      const alone = await runPlay(workspace, FIND_AND_SEND);
      const changed = send({ version: '2' });
      const later = await openTest(dir, { tools: [find.tool, changed.tool] });
      // One that has other reruns, which have made them too, and one that has none.
      for (const { run } of [first, alone]) {
        const unfit = await rerun(later, run);
        expect([unfit.result, changed.sent.length]).toEqual([[null, null, null, null, null], 0]);
        const [why] = await later.store.report.failedRows(unfit.run.no, 1, { afterOrdinal: -1, limit: 9 });
        expect(why?.error).toContain('by another version or account of the tool');
      }
    },
  );
});
