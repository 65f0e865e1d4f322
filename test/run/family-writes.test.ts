import { describe, expect } from 'vitest';
import {
  existingRun,
  type RunRecord,
  resolveOperation,
  resumeOptions,
  type Workspace,
} from '../../src/workspace/index.ts';
import { crash, laterClock } from '../harness/crash.ts';
import { queuedRerun, rerun } from '../harness/rerun.ts';
import { batchedTool, countedTool, endsAs, latch, until } from '../harness/tools.ts';
import { attempt, creditsShown, openTest, queued, retryFailed, runPlay, testFolder } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const PLAY = `async (ctx) => {
  const rows = await ctx.dataset('rows', [{ n: 0 }, { n: 1 }, { n: 2 }, { n: 3 }]).withColumn('sent', async (row, ctx) =>
    (await ctx.tools.execute({ id: 's', tool: 'acme.send', input: { n: row.n } })).data).run({ key: 'n', concurrency: 1 });
  return (await rows.materialize()).map((row) => row.sent ?? null);
}`;
const KEYED = { idempotency: { header: 'Idempotency-Key' } };

interface Failure {
  readonly code: string;
  readonly message: string;
  readonly next: readonly string[];
}

async function failures(workspace: Workspace, runNo: number): Promise<readonly Failure[]> {
  const rows = await workspace.store.report.failedRows(runNo, 1, { afterOrdinal: -1, limit: 9 });
  return rows.map(({ error }) => JSON.parse(error ?? '{}') as Failure);
}

const codes = async (workspace: Workspace, runNo: number): Promise<readonly string[]> =>
  (await failures(workspace, runNo)).map(({ code }) => code);

/** A run that died as the message of its second row had gone out, and the workspace that goes on with it. */
async function killed(parts: object = {}) {
  const { tool, sent } = countedTool({ id: 'acme.send', effect: 'write', ...parts });
  const dir = testFolder();
  const now = await openTest(dir, { tools: [tool] });
  const run = await queued(now, PLAY);
  let receipts = 0;
  await crash(now, run.id, (write) => write.kind === 'receipt' && ++receipts === 2);
  const later = await openTest(dir, { tools: [tool], clock: laterClock() });
  const asked = (): readonly number[] => sent.map(({ input }) => input.n);
  return { dir, tool, sent, asked, later, run: await existingRun(later, run.id) };
}

async function doubtOf(workspace: Workspace, run: RunRecord): Promise<string> {
  const [doubt] = await workspace.store.report.operationsOfRun(run.no, 9);
  return doubt?.callId ?? '';
}

describe('a write of a run that has reruns', () => {
  verifies('RERUN-WRITE-2', 'is not sent by the source what its rerun has done, but where it is told to', async () => {
    for (const parts of [{}, KEYED]) {
      const { later, run, asked } = await killed(parts);
      const isKeyed = parts === KEYED;
      const made = await rerun(later, run, { failed: true });
      const after = isKeyed ? [0, 1, 1, 2, 3] : [0, 1, 2, 3];
      expect(asked()).toEqual(after);
      await attempt(later, run.id);
      expect(asked()).toEqual(after);
      const told = await failures(later, run.no);
      expect(told.map(({ code }) => code)).toEqual([
        isKeyed ? 'WRITE_ALREADY_DONE' : 'IN_DOUBT',
        'WRITE_ALREADY_DONE',
        'WRITE_ALREADY_DONE',
      ]);
      expect(told[1]?.message).toContain(`was made by ${made.run.id}`);
      expect(told[1]?.next[0]).toContain(`runs show ${made.run.id}`);
      const source = await existingRun(later, run.id);
      await rerun(later, source, { rows: ['2'] });
      expect(asked()).toEqual(after);
      await rerun(later, source, { rows: ['2'], resend: true });
      expect(asked().slice(after.length).sort()).toContain(2);
    }
  });

  verifies('RERUN-WRITE-2', 'is sent once where somebody said that it was not done, and a rerun sent it', async () => {
    const { later, run, asked } = await killed();
    expect(await codes(later, (await attempt(later, run.id)).run.no)).toEqual(['IN_DOUBT']);
    const call = await doubtOf(later, run);
    await resolveOperation(later, await existingRun(later, run.id), { call, as: 'notDone', data: null });
    await rerun(later, await existingRun(later, run.id), { failed: true });
    expect(asked()).toEqual([0, 1, 2, 3, 1]);
    await retryFailed(later, run.id);
    expect([asked().length, await codes(later, run.no)]).toEqual([5, ['WRITE_ALREADY_DONE']]);
  });

  verifies('RERUN-WRITE-2', 'is held back where a rerun may have sent it, which tells that run', async () => {
    const { dir, tool, later, run, asked } = await killed();
    const made = await queuedRerun(later, run, { failed: true });
    await crash(later, made.id, (write) => write.kind === 'receipt');
    expect(asked()).toEqual([0, 1, 2]);
    const last = await openTest(dir, { tools: [tool], clock: laterClock(7_200_000) });
    await attempt(last, run.id);
    expect(asked()).toEqual([0, 1, 2, 3]);
    const told = await failures(last, run.no);
    expect(told.map(({ code }) => code)).toEqual(['IN_DOUBT', 'WRITE_ALREADY_DONE']);
    expect(told[1]?.next[0]).toContain(`runs errors ${made.id}`);
    // What the source has sent meanwhile answers the rerun.
    await attempt(last, made.id);
    expect(asked()).toEqual([0, 1, 2, 3]);
  });

  verifies('RERUN-WRITE-2', 'goes out under the key that a rerun has begun it with', async () => {
    const { dir, tool, later, run, sent, asked } = await killed(KEYED);
    const made = await queuedRerun(later, run, { failed: true });
    let receipts = 0;
    await crash(later, made.id, (write) => write.kind === 'receipt' && ++receipts === 2);
    expect(asked()).toEqual([0, 1, 1, 2]);
    const last = await openTest(dir, { tools: [tool], clock: laterClock(7_200_000) });
    let more = 0;
    await crash(last, run.id, (write) => write.kind === 'receipt' && ++more === 1);
    expect(asked()).toEqual([0, 1, 1, 2, 2]);
    const end = await openTest(dir, { tools: [tool], clock: laterClock(10_800_000) });
    await attempt(end, made.id);
    expect(asked()).toEqual([0, 1, 1, 2, 2, 2, 3]);
    const keys = sent.filter(({ input }) => input.n === 2).map(({ operationKey }) => operationKey);
    expect(new Set(keys).size).toBe(1);
  });

  /** A rerun of the killed run at whose first message something else happens. */
  async function meanwhile(parts: object, what: (later: Workspace, run: RunRecord) => Promise<unknown>) {
    const { dir, run, asked, sent } = await killed(parts);
    let first = true;
    const { tool } = countedTool({ id: 'acme.send', effect: 'write', ...parts }, async (input, { operationKey }) => {
      sent.push({ input, operationKey });
      if (first) {
        first = false;
        await what(later, run);
      }
      return 'ok';
    });
    // Nothing that happens is later than anything else.
    const at = laterClock().now();
    const later = await openTest(dir, { tools: [tool], clock: { ...laterClock(), now: () => at } });
    const made = await queuedRerun(later, run, { failed: true });
    await attempt(later, made.id);
    return { later, run, made, asked, sent };
  }

  verifies('RERUN-WRITE-4', 'is not sent by a rerun that was at work when another was made', async () => {
    const { later, made, asked } = await meanwhile({}, (at, run) => rerun(at, run, { failed: true }));
    expect(asked()).toEqual([0, 1, 2, 3]);
    expect(await codes(later, made.no)).toEqual(['IN_DOUBT', 'WRITE_ALREADY_DONE']);
  });

  verifies('RERUN-WRITE-4', 'is not sent by a rerun while its source goes on', async () => {
    for (const parts of [{}, KEYED]) {
      const { later, run, made, asked, sent } = await meanwhile(parts, (at, source) => attempt(at, source.id));
      const keys = (n: number) => new Set(sent.filter(({ input }) => input.n === n).map((one) => one.operationKey));
      // With a key, both send it as the same operation.
      if (parts === KEYED) expect([1, 2, 3].map((n) => keys(n).size)).toEqual([1, 1, 1]);
      else expect([...asked()].sort()).toEqual([0, 1, 2, 3]);
      expect([await codes(later, run.no), await codes(later, made.no)]).toMatchObject(
        parts === KEYED
          ? [[], []]
          : [
              ['IN_DOUBT', 'WRITE_ALREADY_DONE'],
              ['IN_DOUBT', 'WRITE_ALREADY_DONE'],
            ],
      );
    }
  });

  verifies('RERUN-WRITE-4', 'is sent by one of many reruns that look in the same moment', async () => {
    for (const parts of [{}, KEYED]) {
      const { later, run, sent, asked } = await killed(parts);
      const { calls } = later.store;
      const look = calls.callInRuns;
      const all = latch();
      let looking = 0;
      // Nobody goes on before each of them has seen that nobody has sent it.
      const together: typeof look = async (...of) => {
        const seen = await look(...of);
        if (++looking === 3) all.open();
        await all.opened;
        return seen;
      };
      Object.assign(calls, { callInRuns: together });
      const reruns = await Promise.all([1, 2, 3].map(() => queuedRerun(later, run, { rows: ['2'] })));
      await Promise.all(reruns.map(({ id }) => attempt(later, id)));
      const keys = new Set(sent.filter(({ input }) => input.n === 2).map(({ operationKey }) => operationKey));
      expect(keys.size).toBe(1);
      if (parts !== KEYED) expect(asked()).toEqual([0, 1, 2, 3]);
    }
  });

  verifies('RERUN-WRITE-4', 'is found where the family is looked up anew while it is looked at', async () => {
    const { tool, sent } = countedTool({ id: 'acme.send', effect: 'write' });
    const workspace = await openTest(testFolder(), { tools: [tool] });
    const source = await queued(workspace, PLAY.replace('concurrency: 1', 'concurrency: 2'));
    const [one, two] = [await queuedRerun(workspace, source), await queuedRerun(workspace, source)];
    const { calls, runs } = workspace.store;
    const [look, family] = [calls.callInRuns, runs.rerunsOf];
    const overtaken = latch();
    let looking = 0;
    let isRead = false;
    // The first has looked at row 0 before the second sends all; at row 1 it looks after that, and learns it while row 0, which
    // is overtaken by then, reads which runs there are.
    const inTurn: typeof look = async (...of) => {
      const number = ++looking;
      const seen = await look(...of);
      if (number === 1) await attempt(workspace, two.id);
      if (number !== 2) return seen;
      await until(() => sent.length === 4);
      const later = await look(...of);
      await overtaken.opened;
      return later;
    };
    const slowly: typeof family = async (id) => {
      if (sent.length === 4) {
        overtaken.open();
        await until(() => isRead);
      }
      return family(id);
    };
    Object.assign(calls, { callInRuns: inTurn });
    Object.assign(runs, { rerunsOf: slowly });
    void overtaken.opened.then(async () => {
      for (let turn = 0; turn < 200; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
      isRead = true;
    });
    await attempt(workspace, one.id);
    expect(sent.map(({ input }) => input.n).sort()).toEqual([0, 1, 2, 3]);
  });

  verifies(
    ['RERUN-WRITE-4', 'BUDGET-GONE-1'],
    'leaves the batch that it would go out with, and the others go',
    async () => {
      const [sentByTwo, oneIsDone] = [latch(), latch()];
      const { tool, sent } = batchedTool({ id: 'acme.send', effect: 'write', maxSize: 2 }, (inputs) => {
        sentByTwo.open();
        return inputs.map(() => 'ok');
      });
      const workspace = await openTest(testFolder(), { tools: [tool] });
      const source = await queued(workspace, PLAY.replace('concurrency: 1', 'concurrency: 4'));
      const [one, two] = [await queuedRerun(workspace, source), await queuedRerun(workspace, source)];
      const { calls } = workspace.store;
      const look = calls.callInRuns;
      let looking = 0;
      let other: ReturnType<typeof attempt> | undefined;
      // When the first has looked at all its rows, and found none sent, the second sends those in the middle.
      const inTurn: typeof look = async (...of) => {
        const seen = await look(...of);
        if (++looking === 4) other = attempt(workspace, two.id);
        if (looking <= 4) await sentByTwo.opened;
        else if (looking <= 8 && [0, 3].includes(of[1].ordinal)) await oneIsDone.opened;
        return seen;
      };
      Object.assign(calls, { callInRuns: inTurn });
      await attempt(workspace, one.id);
      oneIsDone.open();
      await other;
      expect(sent.map(({ inputs }) => inputs.map(({ n }) => n))).toEqual([[1, 2], [0], [3]]);
      const refused = Array(2).fill('WRITE_ALREADY_DONE');
      expect([await codes(workspace, one.no), await codes(workspace, two.no)]).toEqual([refused, refused]);
      for (const { id } of [one, two]) expect(await creditsShown(workspace, id)).toEqual({ settled: 2, unknown: 0 });
    },
  );

  verifies('RERUN-WRITE-3', 'that two reruns have in doubt is not done in neither once one has sent it', async () => {
    const { later, run, asked } = await killed();
    const [second, third] = [await rerun(later, run, { failed: true }), await rerun(later, run, { failed: true })];
    const call = await doubtOf(later, second.run);
    await resolveOperation(later, second.run, { call, as: 'notDone', data: null });
    await retryFailed(later, second.run.id);
    expect(asked()).toEqual([0, 1, 2, 3, 1]);
    for (const other of [third.run, run]) {
      const known = await existingRun(later, other.id);
      await expect(resolveOperation(later, known, { call, as: 'notDone', data: null })).rejects.toMatchObject({
        code: 'WRITE_ALREADY_DONE',
        details: { rerun: second.run.id },
      });
    }
    await retryFailed(later, third.run.id);
    expect(asked()).toHaveLength(5);
  });

  verifies('RERUN-WRITE-3', 'is not sent by a rerun where its source has begun it anew since', async () => {
    const { dir, tool, later, run, asked } = await killed();
    await attempt(later, run.id);
    const source = await existingRun(later, run.id);
    const [one, two] = [await rerun(later, source, { failed: true }), await rerun(later, source, { failed: true })];
    const call = await doubtOf(later, source);
    const notDone = { call, as: 'notDone', data: null } as const;
    await resolveOperation(later, one.run, notDone);
    await resolveOperation(later, source, notDone);
    await resumeOptions(later, source, { retryFailed: true });
    await crash(later, run.id, (write) => write.kind === 'receipt');
    expect(asked()).toEqual([0, 1, 2, 3, 1]);
    const last = await openTest(dir, { tools: [tool], clock: laterClock(7_200_000) });
    await expect(resolveOperation(last, two.run, notDone)).rejects.toMatchObject({
      code: 'WRITE_ALREADY_DONE',
      details: { rerun: run.id },
    });
    await retryFailed(last, one.run.id);
    expect([asked().length, await codes(last, one.run.no)]).toEqual([5, ['WRITE_ALREADY_DONE']]);
  });

  for (const isBatched of [false, true])
    verifies(
      ['RERUN-WRITE-3', 'RERUN-DOUBT-1'],
      `that reruns only have in doubt can be said to be not done, and is sent by nobody before${isBatched ? ', in a batch' : ''}`,
      async () => {
        let isLost = true;
        const answered = (): string => {
          if (isLost) throw endsAs('ambiguous');
          return 'ok';
        };
        const parts = { id: 'acme.send', effect: 'write' } as const;
        const { tool, sent } = isBatched
          ? batchedTool({ ...parts, maxSize: 2 }, (inputs) => inputs.map(answered))
          : countedTool(parts, answered);
        const workspace = await openTest(testFolder(), { tools: [tool] });
        const { run: source } = await runPlay(workspace, PLAY.replace('concurrency: 1', 'concurrency: 4'));
        isLost = false;
        const before = sent.length;
        const reruns = [];
        for (const how of [{}, {}, { resend: true }, { refresh: ['acme.send'] }]) {
          const { run } = await rerun(workspace, source, { failed: true, ...how });
          expect(await codes(workspace, run.no)).toEqual(Array(4).fill('IN_DOUBT'));
          reruns.push(run);
        }
        expect(sent).toHaveLength(before);
        const call = await doubtOf(workspace, source);
        const runs = [source, ...reruns];
        for (const run of runs) await resolveOperation(workspace, run, { call, as: 'notDone', data: null });
        for (const run of runs.slice(0, 3)) await retryFailed(workspace, run.id);
        expect(sent).toHaveLength(before + 1);
      },
    );

  verifies('RERUN-WRITE-3', 'that was said to be not done in two reruns at once is sent by one', async () => {
    const { later, run, asked } = await killed();
    const reruns = [await rerun(later, run, { failed: true }), await rerun(later, run, { failed: true })];
    const call = await doubtOf(later, run);
    for (const { run: made } of reruns) await resolveOperation(later, made, { call, as: 'notDone', data: null });
    for (const { run: made } of reruns) await retryFailed(later, made.id);
    expect(asked()).toEqual([0, 1, 2, 3, 1]);
  });
});

const STARTS = `async (ctx) => (await ctx.runPlayAsync('kid', kid, {})).runId`;

verifies(
  'RERUN-WRITE-5',
  'of a run that a rerun has started is not sent by the one that its source starts later',
  async () => {
    for (const parts of [{}, KEYED]) {
      const { tool, sent } = countedTool({ id: 'acme.send', effect: 'write', ...parts });
      const dir = testFolder();
      const now = await openTest(dir, { tools: [tool] });
      const source = `(() => { const kid = definePlay('kid', async (ctx) =>
      (await ctx.tools.execute({ id: 's', tool: 'acme.send', input: { n: 1 } })).data); return ${STARTS}; })()`;
      const run = await queued(now, source);
      await crash(now, run.id, (write) => write.kind === 'run');
      const later = await openTest(dir, { tools: [tool], clock: laterClock() });
      const made = await rerun(later, await existingRun(later, run.id));
      const resumed = await attempt(later, run.id);
      expect(resumed.outcome.kind).toBe('completed');
      for (const { run: parent } of [made, resumed])
        for (const child of await later.store.runs.childrenOf(parent.id)) await attempt(later, child.id);
      expect(sent).toHaveLength(1);
    }
  },
);

verifies('RERUN-WRITE-2', 'a run without reruns asks for none of their calls', async () => {
  const { tool, sent } = countedTool({ id: 'acme.send', effect: 'write' });
  const workspace = await openTest(testFolder(), { tools: [tool] });
  const { calls } = workspace.store;
  const ask = calls.callInRuns;
  let asked = 0;
  const counted: typeof ask = (...of) => {
    asked++;
    return ask(...of);
  };
  Object.assign(calls, { callInRuns: counted });
  await runPlay(workspace, PLAY);
  expect([sent.length, asked]).toEqual([4, 0]);
});
