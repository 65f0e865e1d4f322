import { describe, expect } from 'vitest';
import { VirtualClock } from '../../src/scope/virtual-clock.ts';
import type { Tool } from '../../src/sdk/index.ts';
import { recordedTries, type Unit, type Write } from '../../src/store/index.ts';
import type { Workspace } from '../../src/workspace/index.ts';
import { crash, crashingEngine, noonClock } from '../harness/crash.ts';
import { diedInRates } from '../harness/rates.ts';
import { batchedTool, chargedFor, countedTool, endsAs, inputRows, latch, until } from '../harness/tools.ts';
import {
  attempt,
  creditsShown,
  openTest,
  type PlayOrder,
  queued,
  retryFailed,
  runPlay,
  testFolder,
} from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const ROWS = inputRows(8, "if (globalThis.callsheetEndsEarly) throw new Error('early');");
const KEYED = { idempotency: { header: 'Idempotency-Key' } };
const WRITE = { effect: 'write' } as const;
const FRESH = ROWS.replaceAll('({ n })', '({ n: 1_000 + n })');

/** A provider that does and charges all at once; while it is `slow`, all answers from the tenth on are on their way. */
function slowProvider(parts: object = {}) {
  let isSlow = true;
  const never = latch();
  const found = countedTool(parts, async ({ n }) => {
    if (isSlow && found.sent.length > 10) await never.opened;
    return n;
  });
  const charged = (): number => chargedFor(found.sent, parts);
  /** The same provider, by a tool whose author has changed it. */
  const changed = (more: object): Tool =>
    countedTool({ ...parts, ...more }, ({ n }, { operationKey }) => {
      found.sent.push({ input: { n }, operationKey });
      return n;
    }).tool;
  const answer = (): void => {
    isSlow = false;
  };
  return { ...found, charged, answer, changed };
}

interface Killed {
  readonly dir: string;
  readonly runId: string;
  /** The workspace as another process opens it an hour later. */
  readonly later: Workspace;
}

/** A run whose process is killed once this holds. */
async function killed(
  tool: Tool,
  when: () => boolean,
  { config = {}, then = tool, ...order }: PlayOrder & { readonly config?: object; readonly then?: Tool },
): Promise<Killed> {
  const dir = testFolder({ 'callsheet.config.json': JSON.stringify(config) });
  const now = await openTest(dir, { tools: [tool], clock: noonClock() });
  const run = await queued(now, ROWS, order);
  const { engine, die } = crashingEngine(now, () => false);
  void engine.start(run.id);
  await until(when);
  await now.committer.flush();
  // What is on disk is settled by the end of the turn.
  await new Promise((resolve) => setImmediate(resolve));
  die();
  diedInRates(now.paths.rates);
  return { dir, runId: run.id, later: await openTest(dir, { tools: [then], clock: noonClock(3_600_000) }) };
}

describe('calls that were out when their process was killed', () => {
  for (const [how, parts, then] of [
    ['are unknown, until they have gone out again under their key', KEYED, { unknown: 0, charged: 30 }],
    ['without a key stay unknown, since they may be charged twice', {}, { unknown: 8, charged: 38 }],
  ] as const)
    verifies('BUDGET-LEFT-1', how, async () => {
      const provider = slowProvider(parts);
      const { later, runId } = await killed(provider.tool, () => provider.sent.length === 18, { input: { rows: 30 } });
      expect(await creditsShown(later, runId)).toEqual({ settled: 10, unknown: 8 });
      provider.answer();
      expect((await attempt(later, runId)).result).toBe(30);
      const { unknown, charged } = then;
      expect([await creditsShown(later, runId), provider.charged()]).toEqual([{ settled: 30, unknown }, charged]);
    });

  for (const parts of [KEYED, {}])
    verifies('BUDGET-LEFT-1', 'stay unknown where another run has bought the answers meanwhile', async () => {
      const provider = slowProvider(parts);
      const order = { input: { rows: 30 }, config: { creditsPerDay: 60 } };
      const { dir, later, runId } = await killed(provider.tool, () => provider.sent.length === 18, order);
      provider.answer();
      const other = await runPlay(later, ROWS, { input: { rows: 30 } });
      expect(await creditsShown(later, other.run.id)).toEqual({ settled: 20, unknown: 0 });
      expect((await attempt(later, runId)).result).toBe(30);
      expect([await creditsShown(later, runId), provider.charged()]).toEqual([{ settled: 10, unknown: 8 }, 38]);
      // Nothing is taken from the day, nor given back to it, that the runs do not tell of.
      const third = await runPlay(later, FRESH, { input: { rows: 100 } });
      expect([third.code, provider.charged()]).toEqual(['OUT_OF_CREDITS', 60]);
      const again = await openTest(dir, { tools: [provider.tool], clock: noonClock(7_200_000) });
      await retryFailed(again, runId);
      expect(await creditsShown(again, runId)).toEqual({ settled: 10, unknown: 8 });
    });

  for (const [what, more] of [
    ['version', { version: '7' }],
    ['reuse', { reuse: { scope: 'run' } }],
  ] as const)
    verifies(
      'BUDGET-LEFT-4',
      `stay unknown beside what goes out once the ${what} of their tool is another`,
      async () => {
        const provider = slowProvider(KEYED);
        const then = provider.changed(more);
        const order = { input: { rows: 30 }, config: { creditsPerDay: 60 }, then };
        const { dir, later, runId } = await killed(provider.tool, () => provider.sent.length === 18, order);
        expect((await attempt(later, runId)).result).toBe(30);
        expect([await creditsShown(later, runId), provider.charged()]).toEqual([{ settled: 30, unknown: 8 }, 38]);
        const other = await runPlay(later, FRESH, { input: { rows: 100 } });
        expect([other.code, provider.charged()]).toEqual(['OUT_OF_CREDITS', 60]);
        const again = await openTest(dir, { tools: [provider.tool], clock: noonClock(7_200_000) });
        await retryFailed(again, runId);
        expect(await creditsShown(again, runId)).toEqual({ settled: 30, unknown: 8 });
      },
    );

  verifies('BUDGET-LEFT-1', 'count once where their answers, or their ends, are on disk', async () => {
    const { tool } = countedTool({ maxTries: 1 }, ({ n }) => {
      if (n === 1) throw endsAs('rejected');
      return n;
    });
    const now = await openTest(testFolder(), { tools: [tool] });
    const run = await queued(now, ROWS, { input: { rows: 4 } });
    await crash(now, run.id, (write) => write.kind === 'call' && write.entry.error === null);
    const { calls, report } = now.store;
    const paid = (await calls.unsettledReceipts(run.no)).map(({ callId }) => callId);
    const failed = (await report.failedCalls(run.no, 10)).map(({ callId }) => callId);
    expect([paid.length > 0, failed.length]).toEqual([true, 1]);
    const tries = [...paid, ...failed, 'other'].map((callId) => ({
      ...{ callId, place: { datasetNo: 1, ordinal: 1 }, tool: 'acme.find', credits: 1 },
    }));
    expect(await recordedTries(calls, run.no, tries)).toEqual(
      new Map([...paid, ...failed].map((callId) => [callId, { end: paid.includes(callId) ? 'answered' : 'failed' }])),
    );
  });

  verifies('BUDGET-LEFT-2', 'never take a run over its limit: with a key all of it is used', async () => {
    for (const [parts, limit] of [
      [KEYED, 20],
      [{}, 25],
      [WRITE, 25],
    ] as const) {
      const provider = slowProvider(parts);
      const order = { input: { rows: 100 }, maxCredits: limit };
      const { later, runId } = await killed(provider.tool, () => provider.sent.length === 18, order);
      provider.answer();
      expect((await attempt(later, runId)).code).toBe('OUT_OF_CREDITS');
      const { settled, unknown } = await creditsShown(later, runId);
      expect([provider.charged(), settled + unknown]).toEqual([limit, limit]);
      // What is lost is still spent for the attempt after that.
      const { code, outcome } = await attempt(later, runId);
      expect([code, outcome]).toMatchObject(['OUT_OF_CREDITS', { error: { details: { settled, unknown } } }]);
      expect(provider.charged()).toBe(limit);
    }
  });

  verifies('BUDGET-LEFT-2', 'of a batch are those of its members', async () => {
    const never = latch();
    let isSlow = true;
    const { tool, sent } = batchedTool({ maxSize: 4, ...KEYED }, async (inputs) => {
      if (isSlow && sent.length > 2) await never.opened;
      return inputs.map(({ n }) => n);
    });
    const order = { input: { rows: 100 }, maxCredits: 22 };
    const { later, runId } = await killed(tool, () => sent.length === 4, order);
    expect(await creditsShown(later, runId)).toEqual({ settled: 8, unknown: 8 });
    isSlow = false;
    expect((await attempt(later, runId)).code).toBe('OUT_OF_CREDITS');
    const charged = new Map(sent.map(({ operationKey, inputs }) => [operationKey, inputs.length]));
    expect([...charged.values()].reduce((sum, size) => sum + size, 0)).toBe(22);
    expect(await creditsShown(later, runId)).toEqual({ settled: 22, unknown: 0 });
  });

  verifies(
    ['BUDGET-LEFT-1', 'BATCH-POISON-1'],
    'are known where their batch is refused when it goes out again, and goes out in parts',
    async () => {
      const never = latch();
      let isSlow = true;
      const { tool, sent } = batchedTool({ maxSize: 4, ...KEYED }, async (inputs) => {
        if (isSlow) await never.opened;
        if (inputs.some(({ n }) => n === 2)) throw endsAs('rejected');
        return inputs.map(({ n }) => n);
      });
      const { later, runId } = await killed(tool, () => sent.length === 2, { input: { rows: 8 } });
      expect(await creditsShown(later, runId)).toEqual({ settled: 0, unknown: 8 });
      isSlow = false;
      await attempt(later, runId);
      expect(await creditsShown(later, runId)).toEqual({ settled: 7, unknown: 0 });
    },
  );

  verifies('BUDGET-LEFT-2', 'are held by the day for their run, whoever else spends of it', async () => {
    for (const [parts, others, own] of [
      [KEYED, 12, 18],
      [{}, 12, 10],
      [WRITE, 12, 10],
    ] as const) {
      const provider = slowProvider(parts);
      const order = { input: { rows: 18 }, config: { creditsPerDay: 30 } };
      const { later, runId } = await killed(provider.tool, () => provider.sent.length === 18, order);
      provider.answer();
      const other = await runPlay(later, FRESH, { input: { rows: 100 } });
      expect([other.code, (await creditsShown(later, other.run.id)).settled]).toEqual(['OUT_OF_CREDITS', others]);
      const resumed = await attempt(later, runId);
      // Rows of writes in doubt fail, without a credit.
      expect(resumed.code).toBe(own === 18 || parts === WRITE ? undefined : 'OUT_OF_CREDITS');
      expect([(await creditsShown(later, runId)).settled, provider.charged()]).toEqual([own, 30]);
    }
  });

  verifies('BUDGET-LEFT-2', 'go on being held where the next attempt ends before it has asked for them', async () => {
    const provider = slowProvider(KEYED);
    const order = { input: { rows: 30 }, config: { creditsPerDay: 30 } };
    const { later, runId } = await killed(provider.tool, () => provider.sent.length === 18, order);
    Object.assign(globalThis, { callsheetEndsEarly: true });
    const ended = await attempt(later, runId);
    Object.assign(globalThis, { callsheetEndsEarly: false });
    expect(ended.code).toBe('PLAY_THREW');
    expect(await creditsShown(later, runId)).toEqual({ settled: 10, unknown: 8 });
    provider.answer();
    const other = await runPlay(later, FRESH, { input: { rows: 100 } });
    expect([other.code, provider.charged()]).toEqual(['OUT_OF_CREDITS', 30]);
  });
});

describe('answers that were recorded and not settled when their process was killed', () => {
  verifies(['BUDGET-SETTLED-1', 'BUDGET-DAY-1'], 'count once for the day, whoever else spends of it', async () => {
    for (const [parts, asksFirst] of [
      [KEYED, 'another'],
      [KEYED, 'itself'],
      [{}, 'itself'],
      [WRITE, 'another'],
    ] as const) {
      const { tool, sent } = countedTool(parts, ({ n }) => n);
      const dir = testFolder({ 'callsheet.config.json': JSON.stringify({ creditsPerDay: 40 }) });
      const now = await openTest(dir, { tools: [tool], clock: noonClock() });
      const run = await queued(now, ROWS, { input: { rows: 8 } });
      await crash(now, run.id, (write) => write.kind === 'call');
      diedInRates(now.paths.rates);
      expect(await now.store.calls.unsettledReceipts(run.no)).toHaveLength(8);
      const later = await openTest(dir, { tools: [tool], clock: noonClock(3_600_000) });
      expect(await creditsShown(later, run.id)).toEqual({ settled: 0, unknown: 8 });
      // Held for their run, whoever asks first.
      if (asksFirst === 'another') await runPlay(later, FRESH, { input: { rows: 100 } });
      expect((await attempt(later, run.id)).result).toBe(8);
      expect([await creditsShown(later, run.id), sent.length]).toEqual([
        { settled: 8, unknown: 0 },
        asksFirst === 'another' ? 40 : 8,
      ]);
      // Nothing of it is counted twice, nor given back.
      const third = await runPlay(later, FRESH.replaceAll('1_000', '2_000'), { input: { rows: 100 } });
      expect([third.code, sent.length]).toEqual(['OUT_OF_CREDITS', 40]);
    }
  });
});

describe('answers that were journalled when their process was killed, and no limit was told', () => {
  /** A run that is killed before this write; no limit is told of what its journal has by then. */
  async function killedUntold(order: PlayOrder, dies: (write: Write) => boolean, config = {}) {
    const counted = countedTool(KEYED, ({ n }) => n);
    const dir = testFolder({ 'callsheet.config.json': JSON.stringify(config) });
    const now = await openTest(dir, { tools: [counted.tool], clock: noonClock() });
    const run = await queued(now, ROWS, order);
    const { committer } = now;
    const untold = {
      commit: (unit: Unit) => committer.commit(unit),
      defer: (unit: Unit, settled?: (error: unknown) => void) =>
        committer.defer(unit, unit.some(({ kind }) => kind === 'call') ? undefined : settled),
      flush: () => committer.flush(),
    };
    await crash({ ...now, committer: untold }, run.id, dies);
    diedInRates(now.paths.rates);
    return { ...counted, run, later: await openTest(dir, { tools: [counted.tool], clock: noonClock(3_600_000) }) };
  }

  verifies(['BUDGET-SETTLED-1', 'BUDGET-DAY-1'], 'count once for the day', async () => {
    const isEnd = ({ kind }: Write): boolean => kind === 'runState';
    const { sent, run, later } = await killedUntold({ input: { rows: 8 } }, isEnd, { creditsPerDay: 40 });
    expect(await creditsShown(later, run.id)).toEqual({ settled: 8, unknown: 0 });
    const other = await runPlay(later, FRESH, { input: { rows: 20 } });
    expect([other.result, (await attempt(later, run.id)).result]).toEqual([20, 8]);
    const third = await runPlay(later, FRESH.replaceAll('1_000', '2_000'), { input: { rows: 100 } });
    expect([third.code, sent.length]).toEqual(['OUT_OF_CREDITS', 40]);
  });

  verifies('BUDGET-SETTLED-1', 'count for their run as well', async () => {
    let entries = 0;
    const order = { input: { rows: 60 }, maxCredits: 40 };
    const { sent, run, later } = await killedUntold(order, ({ kind }) => kind === 'call' && ++entries > 20);
    expect((await creditsShown(later, run.id)).settled).toBeGreaterThan(0);
    expect((await attempt(later, run.id)).code).toBe('OUT_OF_CREDITS');
    expect([chargedFor(sent, KEYED), await creditsShown(later, run.id)]).toEqual([40, { settled: 40, unknown: 0 }]);
  });
});

describe('answers that cost less than they might have', () => {
  verifies('BUDGET-SETTLED-1', 'leave what they did not cost to those that come after them', async () => {
    const { tool } = countedTool({ cost: { max: 5, credits: () => 1 } as never });
    const workspace = await openTest(testFolder(), { tools: [tool] });
    const one = inputRows(1);
    expect((await runPlay(workspace, one, { input: { rows: 6 }, maxCredits: 10 })).result).toBe(6);
    const more = await runPlay(workspace, one.replaceAll('({ n })', '({ n: 1_000 + n })'), {
      input: { rows: 7 },
      maxCredits: 10,
    });
    expect([more.code, await creditsShown(workspace, more.run.id)]).toEqual([
      'OUT_OF_CREDITS',
      { settled: 6, unknown: 0 },
    ]);
  });
});

describe('a call whose answer is lost and whose next try is put off', () => {
  verifies('BUDGET-LOST-1', 'keeps its credits until it goes on', async () => {
    const clock = new VirtualClock();
    let asked = 0;
    const limits = { rate: [{ calls: 3, per: '1m' }], concurrency: 3 } as const;
    const { tool, sent } = countedTool({ ...KEYED, limits }, ({ n }) => {
      if (++asked === 3) throw endsAs('ambiguous');
      return n;
    });
    const workspace = await openTest(testFolder(), { tools: [tool], clock });
    const run = await queued(workspace, ROWS, { input: { rows: 5 }, maxCredits: 5 });
    const ended = attempt(workspace, run.id);
    let isOver = false;
    void ended.finally(() => {
      isOver = true;
    });
    while (!isOver) await clock.advance(500);
    expect([(await ended).result, sent.length]).toEqual([5, 6]);
    expect(await creditsShown(workspace, run.id)).toEqual({ settled: 5, unknown: 0 });
  });
});
