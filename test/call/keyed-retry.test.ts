import { describe, expect } from 'vitest';
import { defineTool } from '../../src/sdk/index.ts';
import { crash, fastClock, laterClock } from '../harness/crash.ts';
import { json, testProvider } from '../harness/provider.ts';
import { diedInRates } from '../harness/rates.ts';
import { countedTool, endsAs, until } from '../harness/tools.ts';
import {
  attempt,
  creditsShown,
  openTest,
  queued,
  retryFailed,
  runPlay,
  testFolder,
  testWorkspace,
} from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const KEYED = { id: 'acme.send', effect: 'write', maxTries: 1, idempotency: { header: 'Idempotency-Key' } } as const;

/** Sends until it is answered, then the same on purpose once more. */
const TWICE = `async (ctx) => {
  const told = [];
  for (let n = 0; n < 9 && told.length < 2; n++)
    try { told.push((await ctx.tools.execute({ id: 'm' + n, tool: 'acme.send', input: { to: 'ada' } })).data); } catch {}
  return told;
}`;
const IN_ROW = `async (ctx) => {
  const rows = await ctx.dataset('rows', [{ n: 1 }]).withColumn('v', (row, ctx) => (${TWICE})(ctx)).run({ key: 'n' });
  return (await rows.materialize())[0].v ?? null;
}`;

/** A provider that does what it is asked once a key, and whose first so many answers are lost. */
function mailer(lost: number) {
  const done = new Set<string>();
  let asked = 0;
  const { tool, sent } = countedTool(KEYED, (_, { operationKey }) => {
    done.add(operationKey);
    if (++asked <= lost) throw endsAs('ambiguous');
    return `sent ${[...done].indexOf(operationKey) + 1}`;
  });
  return { tool, sent, done };
}

describe('a keyed write that may have been done and that its play asks for again', () => {
  verifies('WRITE-LOOP-1', 'goes out under the same key, and the next one that is meant under another', async () => {
    for (const play of [TWICE, IN_ROW]) {
      const { tool, sent, done } = mailer(3);
      const { result } = await runPlay(await testWorkspace({ tools: [tool] }), play);
      expect(result).toEqual(['sent 1', 'sent 2']);
      expect([sent.length, done.size]).toEqual([5, 2]);
    }
  });

  verifies('WRITE-LOOP-1', 'keeps its key over the death of the process', async () => {
    for (const play of [TWICE, IN_ROW])
      for (const diesAfter of [1, 2, 3, 4, 5]) {
        const { tool, sent, done } = mailer(3);
        const dir = testFolder();
        const now = await openTest(dir, { tools: [tool] });
        const run = await queued(now, play);
        // The record of an ending is lost: a failure's entry, or an answer's receipt.
        await crash(
          now,
          run.id,
          (write) => sent.length === diesAfter && (write.kind === 'call' || write.kind === 'receipt'),
        );
        const later = await openTest(dir, { tools: [tool], clock: laterClock() });
        const { result } = await attempt(later, run.id);
        expect([diesAfter, result, done.size]).toEqual([diesAfter, [expect.any(String), 'sent 2'], 2]);
      }
  });

  verifies(
    'WRITE-LOOP-1',
    'keeps its key where the provider refuses it meanwhile: it may have been done before',
    async () => {
      const keys: string[] = [];
      const { tool } = countedTool({ ...KEYED, maxTries: 2 }, (_, { operationKey }) => {
        keys.push(operationKey);
        if (keys.length <= 2) throw endsAs('ambiguous');
        if (keys.length === 3) throw endsAs('rejected');
        return 'sent';
      });
      const once = TWICE.replace('told.length < 2', 'told.length < 1');
      expect((await runPlay(await testWorkspace({ tools: [tool] }), once)).result).toEqual(['sent']);
      expect([keys.length, new Set(keys).size]).toEqual([4, 1]);
    },
  );

  verifies(
    ['WRITE-LOOP-1', 'KEY-UNSURE-1'],
    'keeps its key where a limit of calls is in the way meanwhile',
    async () => {
      const endings = ['ambiguous', 'ambiguous', 'deferred'];
      const { tool, sent } = countedTool({ ...KEYED, maxTries: 2 }, () => {
        const ending = endings.shift();
        if (ending !== undefined) throw endsAs(ending);
        return 'sent';
      });
      const once = TWICE.replace('told.length < 2', 'told.length < 1');
      expect((await runPlay(await testWorkspace({ tools: [tool] }), once)).result).toEqual(['sent']);
      expect([sent.length, new Set(sent.map(({ operationKey }) => operationKey)).size]).toEqual([4, 1]);
    },
  );

  verifies('WRITE-LOOP-1', 'is one operation for one call at a time', async () => {
    const { tool, done } = mailer(1);
    const { result } = await runPlay(
      await testWorkspace({ tools: [tool] }),
      `async (ctx) => {
        const send = (id) => ctx.tools.execute({ id, tool: 'acme.send', input: { to: 'ada' } });
        await send('lost').catch(() => {});
        return (await Promise.all([send('a'), send('b')])).length;
      }`,
    );
    expect([result, done.size]).toEqual([2, 2]);
  });
});

/**
 * A provider that keeps its keys, charges and sends once a key, and answers by status; `lost` does the work and resets, `late` does it
 * and answers 503, `slow` names 45 seconds besides; `busy` does nothing and names an hour.
 */
async function keeping(statuses: (number | 'lost' | 'late' | 'slow' | 'busy')[]) {
  const done = new Set<string>();
  const keys: string[] = [];
  const { url } = await testProvider((response, { headers, body }) => {
    const key = String(headers['idempotency-key']);
    keys.push(key);
    const next = statuses.shift() ?? 200;
    const asked = JSON.parse(body) as unknown;
    if (next === 'lost' || next === 'late' || next === 'slow' || next === 200)
      for (const at of Array.isArray(asked) ? asked.keys() : [0]) done.add(`${key} ${at}`);
    if (next === 'lost') response.destroy();
    else if (next === 'late') json(response, 503, {});
    else if (next === 'slow') json(response, 503, {}, { 'retry-after': '45' });
    else if (next === 'busy') json(response, 503, {}, { 'retry-after': '3600' });
    else json(response, next, { n: 1 });
  });
  const toolOf = (effect: 'read' | 'write', credits = 1) =>
    defineTool<object>({
      ...{ id: 'acme.send', effect, input: { type: 'object' }, cost: { credits }, maxTries: 5 },
      idempotency: { header: 'Idempotency-Key' },
      request: ({ input }) => ({ method: 'POST', url, body: input }),
    });
  const batchOf = (effect: 'read' | 'write', maxSize: number) =>
    defineTool<object>({
      ...{ id: 'acme.send', effect, input: { type: 'object' }, cost: { credits: 1 }, maxTries: 5 },
      idempotency: { header: 'Idempotency-Key' },
      batch: {
        maxSize,
        request: (inputs) => ({ method: 'POST', url, body: inputs }),
        split: (_, inputs) => inputs.map(() => ({ status: 'completed', data: { n: 1 } })),
      },
    });
  return { toolOf, batchOf, done, keys };
}

const ONE = `async (ctx) => (await ctx.tools.execute({ id: 'm', tool: 'acme.send', input: { to: 'ada' } })).data.n`;

describe('a keyed call whose answer was lost', () => {
  verifies('KEY-UNSURE-1', 'goes out under its key after 429s and 503s as well, and is charged once', async () => {
    for (const effect of ['read', 'write'] as const) {
      const { toolOf, done, keys } = await keeping(['lost', 429, 503, 'lost']);
      const workspace = await testWorkspace({ tools: [toolOf(effect)], clock: fastClock(50) });
      const { run, result } = await runPlay(workspace, ONE, { maxCredits: 1 });
      expect([result, new Set(keys).size, done.size]).toEqual([1, 1, 1]);
      expect(await creditsShown(workspace, run.id)).toEqual({ settled: 1, unknown: 0 });
    }
  });

  verifies('KEY-UNSURE-1', 'keeps its key also where its process died before it knew', async () => {
    for (const effect of ['read', 'write'] as const) {
      const { toolOf, done, keys } = await keeping([200, 429]);
      const dir = testFolder();
      const now = await openTest(dir, { tools: [toolOf(effect)] });
      const run = await queued(now, ONE);
      await crash(now, run.id, (write) => write.kind === 'receipt');
      const later = await openTest(dir, { tools: [toolOf(effect)], clock: laterClock() });
      expect([(await attempt(later, run.id)).result, new Set(keys).size, done.size]).toEqual([1, 1, 1]);
    }
  });

  verifies('KEY-UNSURE-1', 'keeps it then also where it costs nothing, and its account is refused', async () => {
    for (const status of [429, 402]) {
      const { toolOf, done, keys } = await keeping([200, status]);
      const dir = testFolder();
      const tools = [toolOf('write', 0)];
      const now = await openTest(dir, { tools });
      const run = await queued(now, ONE);
      await crash(now, run.id, (write) => write.kind === 'receipt');
      const later = await openTest(dir, { tools, clock: laterClock() });
      const { result } = await attempt(later, run.id);
      expect(result ?? (await retryFailed(later, run.id)).result).toBe(1);
      expect([status, new Set(keys).size, done.size]).toEqual([status, 1, 1]);
    }
  });

  verifies('KEY-UNSURE-1', 'keeps it whatever it is refused for then, though it is tried again later', async () => {
    for (const status of [402, 403, 413, 422]) {
      const { toolOf, keys } = await keeping(['lost', status]);
      const workspace = await testWorkspace({ tools: [toolOf('write')], clock: fastClock(50) });
      const { run, code } = await runPlay(workspace, ONE);
      expect(code).toBeDefined();
      expect((await retryFailed(workspace, run.id)).result).toBe(1);
      expect([status, new Set(keys).size]).toEqual([status, 1]);
    }
  });
});

verifies(
  'BUDGET-LEFT-2',
  'what a dead attempt has lost under a key is spent where that is refused in the next',
  async () => {
    const { toolOf, done } = await keeping(['lost', 200, 422]);
    const tools = [toolOf('read')];
    const dir = testFolder();
    const now = await openTest(dir, { tools, clock: fastClock(50) });
    const run = await queued(now, ONE);
    await crash(now, run.id, (write) => write.kind === 'receipt');
    diedInRates(now.paths.rates);
    const later = await openTest(dir, { tools, clock: laterClock() });
    expect([(await attempt(later, run.id)).code, done.size]).toEqual(['PROVIDER_VALIDATION', 1]);
    expect(await creditsShown(later, run.id)).toEqual({ settled: 0, unknown: 1 });
  },
);

describe('a keyed call that is answered 503', () => {
  const ROWS = `async (ctx) => {
    const rows = await ctx.dataset('rows', Array.from({ length: 64 }, (_, n) => ({ n }))).withColumn('v', async (row, ctx) =>
      (await ctx.tools.execute({ id: 'm', tool: 'acme.send', input: { n: row.n } })).data.n).run({ key: 'n', concurrency: 64 });
    return (await rows.materialize()).length;
  }`;

  verifies('KEY-UNAVAILABLE-1', 'goes out under its key again, since that may have come after the work', async () => {
    for (const effect of ['read', 'write'] as const) {
      const { toolOf, done, keys } = await keeping(['late', 503, 'late']);
      const workspace = await testWorkspace({ tools: [toolOf(effect)], clock: fastClock(50) });
      const { run, result } = await runPlay(workspace, ONE, { maxCredits: 1 });
      expect([result, keys.length, new Set(keys).size, done.size]).toEqual([1, 4, 1, 1]);
      expect(await creditsShown(workspace, run.id)).toEqual({ settled: 1, unknown: 0 });
    }
  });

  verifies(
    'KEY-UNAVAILABLE-1',
    'is unknown where it is answered nothing else, until it is tried again under its key',
    async () => {
      for (const statuses of [Array(5).fill(503), Array(5).fill('late'), ['busy']]) {
        const { toolOf, done } = await keeping(statuses);
        const dir = testFolder();
        const now = await openTest(dir, { tools: [toolOf('read')], clock: fastClock(50) });
        const { run, code } = await runPlay(now, ONE, { maxCredits: 1 });
        expect(code).toEqual(expect.stringMatching(/^PROVIDER_/));
        expect(await creditsShown(now, run.id)).toEqual({ settled: 0, unknown: 1 });
        const later = await openTest(dir, { tools: [toolOf('read')], clock: laterClock() });
        expect([(await retryFailed(later, run.id)).result, done.size]).toEqual([1, 1]);
        expect(await creditsShown(later, run.id)).toEqual({ settled: 1, unknown: 0 });
      }
    },
  );

  verifies('KEY-UNAVAILABLE-1', 'holds its credits where its row is parked, alone and in batches', async () => {
    for (const maxSize of [1, 4])
      for (const effect of ['read', 'write'] as const) {
        const { toolOf, batchOf, done } = await keeping(Array(3).fill('slow'));
        const tools = [maxSize === 1 ? toolOf(effect) : batchOf(effect, maxSize)];
        const workspace = await testWorkspace({ tools, clock: fastClock(100) });
        const { run, code } = await runPlay(workspace, ROWS, { maxCredits: 40 });
        expect([maxSize, code, done.size]).toEqual([maxSize, 'OUT_OF_CREDITS', 40]);
        expect(await creditsShown(workspace, run.id)).toEqual({ settled: 40, unknown: 0 });
      }
  });

  verifies('KEY-UNAVAILABLE-1', 'holds them over the end of an attempt', async () => {
    const { toolOf, done } = await keeping(Array(8).fill('slow'));
    const dir = testFolder();
    const now = await openTest(dir, { tools: [toolOf('read')] });
    const run = await queued(now, ROWS, { maxCredits: 40 });
    const progress = await now.engine.start(run.id);
    await until(() => done.size >= 8);
    progress.interrupt();
    await progress.outcome;
    const { settled, unknown } = await creditsShown(now, run.id);
    expect([settled + unknown, unknown > 0]).toEqual([done.size, true]);
    const later = await openTest(dir, { tools: [toolOf('read')], clock: laterClock() });
    expect([(await attempt(later, run.id)).code, done.size]).toEqual(['OUT_OF_CREDITS', 40]);
    expect(await creditsShown(later, run.id)).toEqual({ settled: 40, unknown: 0 });
  });

  verifies('KEY-UNAVAILABLE-1', 'holds its credits until it is known: no limit is exceeded meanwhile', async () => {
    const statuses = Array.from({ length: 64 }, (_, n) => (n % 4 === 0 ? 'late' : 200));
    const { toolOf, done } = await keeping(statuses);
    const workspace = await testWorkspace({ tools: [toolOf('read')], clock: fastClock(20) });
    const { run, code } = await runPlay(workspace, ROWS, { maxCredits: 40 });
    expect([code, done.size]).toEqual(['OUT_OF_CREDITS', 40]);
    expect(await creditsShown(workspace, run.id)).toEqual({ settled: 40, unknown: 0 });
  });
});
