import { describe, expect } from 'vitest';
import type { Write } from '../../src/store/index.ts';
import { existingRun, newRun, resolveOperation, resumeOptions, type Workspace } from '../../src/workspace/index.ts';
import { crash, laterClock, zeroChance } from '../harness/crash.ts';
import { countedTool, endsAs, latch, until } from '../harness/tools.ts';
import {
  attempt,
  openTest,
  playFile,
  queued,
  retryFailed,
  runPlay,
  settled,
  testFolder,
} from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const SEND = `async (ctx) => (await ctx.tools.execute({ id: 'send', tool: 'acme.send', input: { to: 'ada' } })).data`;
const SEND_ROWS = `async (ctx) => {
  const rows = await ctx.dataset('rows', [{ n: 1 }, { n: 2 }])
    .withColumn('sent', async (row, ctx) => (await ctx.tools.execute({ id: 'send', tool: 'acme.send', input: { n: row.n } })).data)
    .run({ concurrency: 1 });
  return (await rows.materialize()).map((row) => row.sent ?? null);
}`;
const isReceipt = (write: Write): boolean => write.kind === 'receipt';

function sender(parts: object = {}, run?: Parameters<typeof countedTool>[1]) {
  return countedTool({ id: 'acme.send', effect: 'write', ...parts }, run);
}

/** A run whose process died after it had sent a write and before it knew what became of it. */
async function inDoubt(source: string, parts: object = {}) {
  const counted = sender(parts);
  const dir = testFolder();
  const now = await openTest(dir, { tools: [counted.tool] });
  const run = await queued(now, source);
  await crash(now, run.id, isReceipt);
  expect(counted.sent).toHaveLength(1);
  const later = await openTest(dir, { tools: [counted.tool], clock: laterClock() });
  return { ...counted, dir, run, later };
}

describe('a write without idempotency', () => {
  verifies('INTENT-1', 'goes out only when its intent is on disk', async () => {
    const dir = testFolder();
    const seen: unknown[] = [];
    const { tool } = sender({}, async () => {
      seen.push(await other.store.report.operationsOfRun(1, 9));
      return 'ok';
    });
    const now = await openTest(dir, { tools: [tool] });
    const other = await openTest(dir);
    await runPlay(now, SEND);
    expect(seen).toMatchObject([[{ state: 'intended', tool: 'acme.send', label: 'send', tries: 0 }]]);
  });

  verifies(
    ['INTENT-1', 'DOUBT-LISTED-1'],
    'that was out when its process died is in doubt: not sent by a resume, nor by one that tries again what failed',
    async () => {
      const { later, run, sent } = await inDoubt(SEND);
      const { outcome } = await attempt(later, run.id);
      expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'IN_DOUBT', retryable: false } });
      const { error } = outcome as unknown as { error: { next: string[]; details: { callId: string } } };
      const call = error.details.callId;
      expect(error.next.join('\n')).toMatch(
        new RegExp(`callsheet runs resolve ${run.id} (call_)?${call} --as not-done`),
      );
      await retryFailed(later, run.id);
      await attempt(later, run.id);
      expect(sent).toHaveLength(1);
    },
  );

  verifies('INTENT-1', 'fails its row only, and the rows behind it are sent', async () => {
    const { later, run, sent } = await inDoubt(SEND_ROWS);
    expect((await attempt(later, run.id)).result).toEqual([null, { got: { n: 2 } }]);
    const [row] = await later.store.report.failedRows(run.no, 1, { afterOrdinal: -1, limit: 9 });
    expect(JSON.parse(row?.error ?? '{}').code).toBe('IN_DOUBT');
    expect(sent.map(({ input }) => input.n)).toEqual([1, 2]);
  });

  verifies('INTENT-1', 'whose answer is on disk is not in doubt, and neither is one that was refused', async () => {
    const dir = testFolder();
    let refuses = true;
    const { tool, sent } = sender({}, () => {
      if (refuses) throw endsAs('rejected');
      return 'ok';
    });
    const now = await openTest(dir, { tools: [tool] });
    const run = await queued(now, SEND);
    const first = await attempt(now, run.id);
    refuses = false;
    await resumeOptions(now, first.run, { retryFailed: true });
    await crash(now, run.id, (write) => write.kind === 'call');
    const later = await openTest(dir, { tools: [tool], clock: laterClock() });
    expect((await attempt(later, run.id)).result).toBe('ok');
    expect(sent).toHaveLength(2);
    expect(await settled(later, run)).toBe(1);
  });

  verifies('INTENT-RESOLVE-1', 'stays in doubt in a rerun, until it is resolved there', async () => {
    const { later, run, sent } = await inDoubt(SEND);
    await attempt(later, run.id);
    const { run: rerun } = await newRun(later, {
      play: playFile(later, SEND),
      cwd: later.paths.dir,
      input: {},
    });
    // What `runs rerun` begins with.
    const again = { ...rerun, id: 'run_again', rootRunId: 'run_again', replayedFrom: run.id };
    await later.committer.commit([
      { kind: 'run', run: again },
      { kind: 'copyRun', fromRunNo: run.no, toRunId: again.id, again: [] },
    ]);
    expect((await attempt(later, again.id)).code).toBe('IN_DOUBT');
    expect(sent).toHaveLength(1);
    const made = await later.store.runs.run(again.id);
    if (made === undefined) throw new Error('no rerun');
    await resolveOperation(later, made, {
      call: callOf(await doubts(later, made.no)),
      as: 'notDone',
      data: null,
    });
    expect((await retryFailed(later, again.id)).result).toEqual({ got: { to: 'ada' } });
    expect(sent).toHaveLength(2);
    expect((await retryFailed(later, run.id)).code).toBe('IN_DOUBT');
    expect(sent).toHaveLength(2);
  });
});

function doubts(workspace: Workspace, runNo: number) {
  return workspace.store.report.operationsOfRun(runNo, 9);
}

function callOf([operation]: readonly { readonly callId: string }[]): string {
  return operation?.callId.slice(0, 20) ?? 'none';
}

describe('runs resolve', () => {
  verifies('INTENT-RESOLVE-1', 'not-done sends it again', async () => {
    const { later, run, sent } = await inDoubt(SEND_ROWS);
    const first = await attempt(later, run.id);
    expect(first.result).toEqual([null, { got: { n: 2 } }]);
    await resolveOperation(later, first.run, {
      call: callOf(await doubts(later, run.no)),
      as: 'notDone',
      data: null,
    });
    expect((await retryFailed(later, run.id)).result).toEqual([{ got: { n: 1 } }, { got: { n: 2 } }]);
    expect(sent.map(({ input }) => input.n)).toEqual([1, 2, 1]);
    expect(await settled(later, run)).toBe(2);
  });

  verifies('INTENT-RESOLVE-1', 'done completes it with what was said, at its declared price', async () => {
    // Code that reads what the provider answers need not be able to read what people say.
    const extract = { n: (data: unknown) => (data as { got: { n: number } }).got.n };
    const { later, run, sent } = await inDoubt(SEND_ROWS, { cost: { credits: 5 }, extract });
    const first = await attempt(later, run.id);
    const call = callOf(await doubts(later, run.no));
    await resolveOperation(later, first.run, { call, as: 'done', data: { id: 'msg_1' } });
    const resumed = await retryFailed(later, run.id);
    expect(resumed.code).toBeUndefined();
    expect(resumed.result[0]).toEqual({ id: 'msg_1' });
    expect(sent.filter(({ input }) => input.n === 1)).toHaveLength(1);
    const [entry] = (await later.store.calls.journal(run.no, 1, [0])).get(0) ?? [];
    expect(entry).toMatchObject({ outcome: 'completed', source: 'live', credits: 5 });
    const raw = JSON.parse((await later.store.calls.receiptRaw(entry?.receiptId ?? 0)) ?? 'null');
    expect(raw).toMatchObject({ value: { id: 'msg_1' }, given: true });
    // What was said is an answer like any other: a later attempt reads it.
    expect((await retryFailed(later, run.id)).code ?? 'completed').toBe('completed');
    await expect(resolveOperation(later, first.run, { call, as: 'notDone', data: null })).rejects.toMatchObject({
      code: 'OPERATION_NOT_FOUND',
    });
  });

  verifies('INTENT-RESOLVE-1', 'settles an ambiguous ending, too, and works outside rows', async () => {
    let works = false;
    const { tool, sent } = sender({}, () => {
      if (!works) throw endsAs('ambiguous');
      return 'ok';
    });
    const workspace = await openTest(testFolder(), { tools: [tool] });
    const { run, code } = await runPlay(workspace, SEND);
    expect(code).toBe('IN_DOUBT');
    works = true;
    await resolveOperation(workspace, run, {
      call: callOf(await doubts(workspace, run.no)),
      as: 'notDone',
      data: null,
    });
    expect((await attempt(workspace, run.id)).result).toBe('ok');
    expect(sent).toHaveLength(2);
  });

  verifies('DOUBT-LISTED-1', 'refuses what is not in doubt: on its way, unknown, or not told apart', async () => {
    const held = latch();
    const { tool, sent } = sender({}, async () => {
      await held.opened;
      return 1;
    });
    const workspace = await openTest(testFolder(), { tools: [tool] });
    const run = await queued(workspace, SEND);
    const progress = await workspace.engine.start(run.id);
    await until(() => sent.length === 1);
    const on = await doubts(workspace, run.no);
    expect(on).toHaveLength(1);
    const worked = await workspace.store.runs.run(run.id);
    if (worked === undefined) throw new Error('no run');
    for (const call of [on[0]?.callId ?? '', 'nothing', ''])
      await expect(resolveOperation(workspace, worked, { call, as: 'done', data: null })).rejects.toMatchObject({
        code: 'OPERATION_NOT_FOUND',
      });
    held.open();
    await progress.outcome;
  });
});

describe('reconcile', () => {
  const found = (answer: unknown) => ({
    reconcile: (input: unknown, operationKey: string) => {
      asked.push({ input, operationKey });
      if (answer instanceof Error) throw answer;
      return answer;
    },
  });
  let asked: { input: unknown; operationKey: string }[] = [];

  verifies('INTENT-RECONCILE-1', 'done ends the call, not done sends it, anything else leaves the doubt', async () => {
    const cases = [
      [{ status: 'done', data: { id: 7 } }, { id: 7 }, 1],
      [{ status: 'notDone' }, { got: { to: 'ada' } }, 2],
      [{ status: 'unknown' }, 'IN_DOUBT', 1],
      [{ status: 'perhaps' }, 'IN_DOUBT', 1],
      [{ status: 'done', data: () => 1 }, 'IN_DOUBT', 1],
      [new Error('no such page'), 'IN_DOUBT', 1],
    ] as const;
    for (const [answer, ends, times] of cases) {
      asked = [];
      const { later, run, sent } = await inDoubt(SEND, found(answer));
      const resumed = await attempt(later, run.id);
      expect([answer, resumed.code ?? resumed.result]).toEqual([answer, ends]);
      expect([answer, sent.length]).toEqual([answer, times]);
      expect(asked).toEqual([{ input: { to: 'ada' }, operationKey: sent[0]?.operationKey }]);
      expect([answer, await settled(later, run)]).toEqual([answer, ends === 'IN_DOUBT' ? 0 : 1]);
    }
  });

  verifies(['BUDGET-LOST-1', 'INTENT-RECONCILE-1'], 'what was not done needs no credits besides', async () => {
    asked = [];
    const { later, run } = await inDoubt(SEND, found({ status: 'notDone' }));
    await resumeOptions(later, await existingRun(later, run.id), { maxCredits: 1 });
    expect((await attempt(later, run.id)).result).toEqual({ got: { to: 'ada' } });
  });
});

describe('a write whose input is another one on a resume', () => {
  const TIMED = `async (ctx) => (await ctx.tools.execute({ id: 'send', tool: 'acme.send', input: { at: performance.now() } })).data`;
  const TIMED_ROW = `async (ctx) => {
    await ctx.dataset('rows', [{ n: 1 }])
      .withColumn('sent', async (row, ctx) => (await ctx.tools.execute({ id: 'send', tool: 'acme.send', input: { at: performance.now() } })).data)
      .run();
    return 'done';
  }`;
  const keyed = { idempotency: { header: 'Idempotency-Key' } };

  verifies(
    'INTENT-SITE-1',
    'is not sent a second time, whether it was out or recorded, with a key or without',
    async () => {
      for (const parts of [{}, keyed])
        for (const source of [TIMED, TIMED_ROW])
          for (const dies of [isReceipt, (write: Write) => write.kind === 'runState' || write.kind === 'row']) {
            const { tool, sent } = sender(parts);
            const dir = testFolder();
            const now = await openTest(dir, { tools: [tool] });
            const run = await queued(now, source);
            await crash(now, run.id, dies);
            const later = await openTest(dir, { tools: [tool], clock: laterClock() });
            expect((await attempt(later, run.id)).code).toBe('NON_DETERMINISTIC');
            expect((await attempt(later, run.id)).code).toBe('NON_DETERMINISTIC');
            expect(sent).toHaveLength(1);
          }
    },
    30_000,
  );

  verifies('INTENT-SITE-1', 'but another place or another label is another write', async () => {
    const { tool, sent } = sender(keyed);
    const dir = testFolder();
    const now = await openTest(dir, { tools: [tool] });
    const source = `async (ctx) => {
      const send = (id, n) => ctx.tools.execute({ id, tool: 'acme.send', input: { n } });
      await send('a', 1);
      await send('a', 2);
      await send('b', 3);
      await send('a', 4);
      return 'sent';
    }`;
    for (const left of [0, 1, 2, 3]) {
      sent.length = 0;
      let receipts = left;
      const run = await queued(now, source);
      await crash(now, run.id, (write) => write.kind === 'receipt' && receipts-- === 0);
      const later = await openTest(dir, { tools: [tool], clock: laterClock() });
      expect((await attempt(later, run.id)).result).toBe('sent');
      expect(sent.map(({ input }) => input.n)).toEqual([1, 2, 3, 4].toSpliced(left, 0, left + 1));
      expect(new Set(sent.map(({ operationKey }) => operationKey)).size).toBe(4);
    }
  });

  verifies('INTENT-SITE-2', 'is told from one whose branch only asks earlier than last time', async () => {
    const held = latch();
    const find = countedTool({}, async ({ n }) => {
      if (n === 1) await held.opened;
      return n;
    });
    const { tool, sent } = sender(keyed);
    const dir = testFolder();
    const now = await openTest(dir, { tools: [find.tool, tool] });
    const source = `async (ctx) => {
      await Promise.all([1, 2].map(async (n) => {
        await ctx.tools.execute({ id: 'find', tool: 'acme.find', input: { n } });
        await ctx.tools.execute({ id: 'send', tool: 'acme.send', input: { n } });
      }));
      return 'sent';
    }`;
    const run = await queued(now, source);
    // The second branch writes first, and the process dies when the first one is about to.
    let operations = 0;
    const dead = crash(now, run.id, (write) => write.kind === 'operation' && ++operations === 2);
    await until(() => sent.length === 1);
    held.open();
    await dead;
    const later = await openTest(dir, { tools: [find.tool, tool], clock: laterClock() });
    expect((await attempt(later, run.id)).result).toBe('sent');
    expect(sent.map(({ input }) => input.n)).toEqual([2, 1]);
  });
});

describe('a waterfall', () => {
  verifies('CALL-JOURNAL-2', 'whose first leg failed before the kill and is well after it is paid once', async () => {
    let works = false;
    const first = countedTool({}, () => {
      if (!works) throw endsAs('rejected');
      return 'first';
    });
    const second = countedTool({ id: 'acme.other', cost: { credits: 10 } }, () => 'second');
    const tools = [first.tool, second.tool];
    const dir = testFolder();
    const now = await openTest(dir, { tools, chance: zeroChance() });
    const source = `async (ctx) => {
      const call = (tool) => ctx.tools.execute({ id: tool, tool, input: {} }).then((one) => one.data);
      const answer = await call('acme.find').catch(() => call('acme.other'));
      await ctx.step('after', () => 1);
      return answer;
    }`;
    const run = await queued(now, source);
    await crash(now, run.id, (write) => write.kind === 'boundary');
    works = true;
    const later = await openTest(dir, { tools, clock: laterClock() });
    expect((await attempt(later, run.id)).result).toBe('second');
    expect([first.sent.length, second.sent.length]).toEqual([1, 1]);
    expect(await settled(later, run)).toBe(10);
  });
});
