import { describe, expect } from 'vitest';
import { defineTool } from '../../src/sdk/index.ts';
import type { Write } from '../../src/store/index.ts';
import { resumeOptions, type Workspace } from '../../src/workspace/index.ts';
import { crash, crashingEngine, laterClock, zeroChance } from '../harness/crash.ts';
import { json, testProvider } from '../harness/provider.ts';
import { countedTool, endsAs, latch, until } from '../harness/tools.ts';
import { attempt, openTest, queued, runPlay, settled, testFolder } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const WATERFALL = `async (ctx, input) => {
  const at = await ctx.now('start');
  const token = await ctx.step('token', () => 'token-' + input.salt);
  const rows = await ctx.dataset('people', [1, 2, 3, 4].map((n) => ({ n, q: Math.ceil(n / 2) })))
    .withColumn('email', steps()
      .step('first', async (row, ctx) => {
        try { return (await ctx.tools.execute({ id: 'f', tool: 'acme.find', input: { salt: input.salt, q: row.q } })).data; }
        catch (error) { if (error.code !== 'PROVIDER_NOT_FOUND' && error.code !== 'TOOL_THREW') throw error; return null; }
      })
      .step('second', async (row, ctx) => (await ctx.tools.execute({ id: 's', tool: 'acme.other', input: { salt: input.salt, n: row.n } })).execution,
        { runIf: (row) => row.first === null })
      .return((row) => row.first ?? row.second))
    .withColumn('sent', async (row, ctx) => (await ctx.tools.execute({ id: 'w', tool: 'acme.send', input: { salt: input.salt, n: row.n } })).execution)
    .run({ concurrency: 2 });
  const last = await ctx.tools.execute({ id: 'l', tool: 'acme.find', input: { salt: input.salt, q: 99 }, refresh: true });
  return { at: at.toISOString(), token, rows: await rows.materialize(), last: [last.data, last.execution] };
}`;

/** Three tools: a read that refuses every odd question, a read, and a write. Each counts by salt. */
function waterfallTools() {
  const bySalt = new Map<string, string[]>();
  const note = (tool: string, input: { salt: string }, what: unknown): void => {
    bySalt.set(input.salt, [...(bySalt.get(input.salt) ?? []), `${tool}:${what}`]);
  };
  const find = countedTool({}, (input) => {
    note('find', input, input.q);
    if (input.q % 2 === 1 && input.q < 99) throw endsAs('rejected');
    return `${input.q}@x.io`;
  });
  const other = countedTool({ id: 'acme.other', cost: { credits: 10 } }, (input) => {
    note('other', input, input.n);
    return 'found';
  });
  // Without the key, what was in flight at a death would be in doubt.
  const idempotency = { header: 'Idempotency-Key' };
  const send = countedTool({ id: 'acme.send', effect: 'write', idempotency, cost: { credits: 100 } }, (input) => {
    note('send', input, input.n);
    return 'sent';
  });
  return { tools: [find.tool, other.tool, send.tool], asked: (salt: string) => (bySalt.get(salt) ?? []).toSorted() };
}

// biome-ignore lint/suspicious/noExplicitAny: a result of a play
function shape(result: any): unknown {
  const text = JSON.stringify(result, (key, value) => {
    if (key === 'durationMs' || key === 'at' || key === 'receiptId') return typeof value;
    return key === 'callId' || key === 'receiptKey' ? 'digest' : value;
  });
  return JSON.parse(text.replaceAll(/token-\w+/g, 'token'));
}

describe('a run whose process dies', () => {
  verifies(
    ['RUN-RESUME-1', 'CALL-JOURNAL-2', 'KEY-WRITE-1', 'DATA-POOL-2'],
    'between any two writes goes on to the same result and ledger as one that does not',
    async () => {
      const { tools, asked } = waterfallTools();
      const dir = testFolder();
      const now = await openTest(dir, { tools });
      const later = await openTest(dir, { tools, clock: laterClock() });
      const plain = await runPlay(now, WATERFALL, { input: { salt: 'plain' }, file: 'w.play.ts' });
      expect(plain.outcome.kind).toBe('completed');
      const whole = asked('plain');
      const cost = await settled(now, plain.run);
      expect(cost).toBe(whole.filter((one) => one.startsWith('find')).length - 1 + 20 + 400);
      let died = 0;
      for (let units = 1; ; units++) {
        const run = await queued(now, WATERFALL, { input: { salt: `s${units}` }, file: 'w.play.ts' });
        let left = units;
        const seen = new Set<Write>();
        const dies = (write: Write): boolean => !seen.has(write) && write.kind !== 'event' && left-- === 0;
        const { engine, dead, isDead } = crashingEngine(now, dies);
        const progress = await engine.start(run.id);
        await Promise.race([dead, progress.outcome]);
        if (!isDead()) break;
        died++;
        await now.committer.flush();
        const resumed = await attempt(later, run.id);
        expect([units, resumed.outcome.kind]).toEqual([units, 'completed']);
        expect([units, shape(resumed.result)]).toEqual([units, shape(plain.result)]);
        expect([units, await settled(later, resumed.run)]).toEqual([units, cost]);
        // What was in flight at the moment of death may have been done again; nothing that was recorded may.
        const receipts = (await later.store.report.listReceipts({ limit: 10_000 })).filter((one) =>
          one.input.includes(`"s${units}"`),
        );
        expect([units, receipts.length]).toEqual([units, whole.length - 1]);
        const repeated = asked(`s${units}`).length - whole.length;
        expect([units, repeated >= 0 && repeated <= 2]).toEqual([units, true]);
      }
      expect(died).toBeGreaterThan(25);
    },
    60_000,
  );

  verifies(
    'CALL-JOURNAL-1',
    'gives a call that had ended its original result, execution and price included',
    async () => {
      const { tool, sent } = countedTool();
      const dir = testFolder();
      const now = await openTest(dir, { tools: [tool] });
      const source = `async (ctx) => {
      const call = (id, options) => ctx.tools.execute({ id, tool: 'acme.find', input: {}, ...options });
      const all = [await call('a'), await call('b'), ...(await Promise.all([call('c', { refresh: true }), call('d')]))];
      const seen = all.map((one) => [one.status, one.data, one.execution]);
      await ctx.step('attempt ' + ctx.run.attempt, () => JSON.stringify(seen));
      return seen;
    }`;
      const run = await queued(now, source);
      await crash(now, run.id, (write) => write.kind === 'runState');
      const later = await openTest(dir, { tools: [tool], clock: laterClock() });
      const resumed = await attempt(later, run.id);
      const [first] = await later.store.report.boundariesOfRun(run.no, 10);
      expect(resumed.result).toEqual(JSON.parse(JSON.parse(first?.value ?? '""')));
      expect(resumed.result.map(([, , execution]: [0, 0, { source: string }]) => execution.source)).toEqual([
        'live',
        'receipt',
        'live',
        'receipt',
      ]);
      expect(sent).toHaveLength(2);
      expect(await settled(later, run)).toBe(2);
    },
  );

  verifies(
    'CALL-JOURNAL-2',
    'sees the failure again that its play had seen, of the same class, and pays nothing',
    async () => {
      const { tool, sent } = countedTool({ maxTries: 1 }, (input) => {
        throw endsAs(input.how);
      });
      const dir = testFolder();
      const now = await openTest(dir, { tools: [tool] });
      const source = `async (ctx) => {
      const seen = [];
      for (const how of ['rejected', 'ambiguous', 'deferred'])
        await ctx.tools.execute({ id: how, tool: 'acme.find', input: { how } })
          .catch((error) => seen.push([error.constructor.name, error.code, error.message, isProviderUnavailable(error), error.details]));
      return { attempt: ctx.run.attempt, seen };
    }`;
      const run = await queued(now, source);
      await crash(now, run.id, (write) => write.kind === 'runState');
      const later = await openTest(dir, { tools: [tool], clock: laterClock() });
      const { result } = await attempt(later, run.id);
      expect(result.attempt).toBe(2);
      expect(result.seen.map(([kind, , , passes]: unknown[]) => [kind, passes])).toEqual([
        ['ToolExecutionError', false],
        ['ProviderTransientError', true],
        ['ProviderTransientError', true],
      ]);
      expect(sent).toHaveLength(3);
    },
  );

  verifies(
    ['CALL-REFRESH-1', 'KEY-REUSE-2'],
    'after a receipt and before its journal buys no refresh and no never-shared answer again',
    async () => {
      const refreshed = countedTool();
      const never = countedTool({ id: 'acme.never', reuse: 'never', cost: { credits: 10 } });
      const tools = [refreshed.tool, never.tool];
      const dir = testFolder();
      const now = await openTest(dir, { tools });
      const later = await openTest(dir, { tools, clock: laterClock() });
      for (const [index, call] of [
        `{ id: 'x', tool: 'acme.find', input: {}, refresh: true }`,
        `{ id: 'x', tool: 'acme.never', input: {} }`,
      ].entries()) {
        const run = await queued(now, `async (ctx) => (await ctx.tools.execute(${call})).execution.source`, {
          maxCredits: 10,
        });
        await crash(now, run.id, (write) => write.kind === 'call');
        expect(await settled(later, run)).toBe(0);
        const resumed = await attempt(later, run.id);
        expect(resumed.result).toBe('live');
        expect(await settled(later, run)).toBe([1, 10][index]);
      }
      expect([refreshed.sent.length, never.sent.length]).toEqual([1, 1]);
    },
  );

  verifies(
    'BUDGET-LIMIT-1',
    'what it had paid but not yet settled counts against the limit of its next attempt',
    async () => {
      const { tool, sent } = countedTool();
      const dir = testFolder();
      const now = await openTest(dir, { tools: [tool] });
      const source = `async (ctx) => {
      const call = (n) => ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n } });
      await Promise.all([call(1), call(2)]);
      await call(3);
      return 'three';
    }`;
      const run = await queued(now, source, { maxCredits: 2 });
      await crash(now, run.id, (write) => write.kind === 'call');
      expect(sent).toHaveLength(2);
      // The dead hold no credits.
      await now.close();
      const later = await openTest(dir, { tools: [tool], clock: laterClock() });
      expect((await attempt(later, run.id)).code).toBe('OUT_OF_CREDITS');
      expect(sent).toHaveLength(2);
      await resumeOptions(later, (await attempt(later, run.id)).run, { maxCredits: 3 });
      expect((await attempt(later, run.id)).result).toBe('three');
      expect(sent).toHaveLength(3);
      expect(await settled(later, run)).toBe(3);
    },
  );
});

describe('an attempt that another one has overtaken', () => {
  verifies(
    ['CALL-STALE-ATTEMPT-1', 'RUN-FENCE-1'],
    'keeps the answer that it had paid for; its journal, rows and further calls are refused',
    async () => {
      const held = latch();
      const { tool, sent } = countedTool({}, async (input) => {
        if (sent.length === 1) await held.opened;
        return input.n;
      });
      const dir = testFolder();
      const now = await openTest(dir, { tools: [tool] });
      const source = `async (ctx) => {
        const rows = await ctx.dataset('rows', [{ n: 1 }, { n: 2 }])
          .withColumn('one', async (row, ctx) => (await ctx.tools.execute({ id: 'a', tool: 'acme.find', input: row })).data)
          .withColumn('two', async (row, ctx) => (await ctx.tools.execute({ id: 'b', tool: 'acme.find', input: { n: row.n + 10 } })).data)
          .run({ concurrency: 1 });
        return (await rows.materialize()).map(({ one, two }) => [one, two]);
      }`;
      const run = await queued(now, source);
      const stale = await now.engine.start(run.id);
      await until(() => sent.length === 1);
      const later = await openTest(dir, { tools: [tool], clock: laterClock() });
      const { result } = await attempt(later, run.id);
      expect(result).toEqual([
        [1, 11],
        [2, 12],
      ]);
      const before = sent.length;
      held.open();
      const outcome = await stale.outcome;
      expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'STALE_ATTEMPT' } });
      expect(sent.length).toBe(before);
      const receipts = await later.store.report.listReceipts({ limit: 100 });
      expect(receipts).toHaveLength(5);
      expect(await settled(later, run)).toBe(4);
      const record = await later.store.runs.run(run.id);
      expect(record).toMatchObject({ status: 'completed', attempt: 2 });
    },
  );

  verifies('CALL-STALE-ATTEMPT-1', 'learns it from the first refused journal entry, and calls no further', async () => {
    const held = latch();
    const { tool, sent } = countedTool({}, async () => {
      if (sent.length === 1) await held.opened;
      return 1;
    });
    const dir = testFolder();
    const now = await openTest(dir, { tools: [tool] });
    const run = await queued(
      now,
      `async (ctx) => {
        for (let n = 0; n < 20; n++) await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n }, refresh: true });
      }`,
    );
    const stale = await now.engine.start(run.id);
    await until(() => sent.length === 1);
    const later = await openTest(dir, { tools: [tool], clock: laterClock() });
    expect((await attempt(later, run.id)).outcome.kind).toBe('completed');
    expect(sent).toHaveLength(21);
    held.open();
    expect(await stale.outcome).toMatchObject({ kind: 'failed', error: { code: 'STALE_ATTEMPT' } });
    expect(sent.length).toBeLessThanOrEqual(23);
  });
});

describe('resume --retry-failed', () => {
  async function twice(source: string): Promise<{
    workspace: Workspace;
    sent: unknown[];
    first: Awaited<ReturnType<typeof runPlay>>;
    second: Awaited<ReturnType<typeof attempt>>;
  }> {
    let works = false;
    const { tool, sent } = countedTool({}, (input) => {
      if (!works && input.n === 2) throw endsAs('rejected');
      return input.n;
    });
    const workspace = await openTest(testFolder(), { tools: [tool], chance: zeroChance() });
    const first = await runPlay(workspace, source);
    works = true;
    await resumeOptions(workspace, first.run, { retryFailed: true });
    return { workspace, sent, first, second: await attempt(workspace, first.run.id) };
  }

  verifies('CALL-JOURNAL-2', 'asks again what had failed in failed rows, and nothing else', async () => {
    const { workspace, sent, first, second } = await twice(`async (ctx) => {
      const rows = await ctx.dataset('rows', [{ n: 1 }, { n: 2 }, { n: 3 }])
        .withColumn('before', async (row, ctx) => (await ctx.tools.execute({ id: 'a', tool: 'acme.find', input: { n: row.n + 10 } })).data)
        .withColumn('value', async (row, ctx) => (await ctx.tools.execute({ id: 'b', tool: 'acme.find', input: { n: row.n } })).data)
        .run();
      return (await rows.materialize()).map((row) => row.value ?? null);
    }`);
    expect(first.result).toEqual([1, null, 3]);
    expect(second.result).toEqual([1, 2, 3]);
    expect(sent).toHaveLength(7);
    expect(await settled(workspace, second.run)).toBe(6);
    const { failed, credits } = await workspace.store.datasets.rowCounts(second.run.no, 1);
    expect([failed, credits]).toEqual([0, 6]);
  });

  verifies('CALL-JOURNAL-2', 'asks again what had failed outside rows', async () => {
    const { sent, first, second } = await twice(`async (ctx) => {
      await ctx.tools.execute({ id: 'a', tool: 'acme.find', input: { n: 1 } });
      return (await ctx.tools.execute({ id: 'b', tool: 'acme.find', input: { n: 2 } })).data;
    }`);
    expect(first.code).toBe('TOOL_THREW');
    expect(second.result).toBe(2);
    expect(sent).toHaveLength(3);
  });

  verifies('RETRY-WRITE-1', 'does not send a write again that is in doubt', async () => {
    const { tool, sent } = countedTool({ id: 'acme.send', effect: 'write' }, () => {
      throw endsAs('ambiguous');
    });
    const workspace = await openTest(testFolder(), { tools: [tool] });
    const first = await runPlay(
      workspace,
      `async (ctx) => void (await ctx.dataset('rows', [{ n: 1 }])
        .withColumn('sent', async (row, ctx) => (await ctx.tools.execute({ id: 'a', tool: 'acme.send', input: row })).data).run())`,
    );
    await resumeOptions(workspace, first.run, { retryFailed: true });
    await attempt(workspace, first.run.id);
    expect(sent).toHaveLength(1);
    const [row] = await workspace.store.report.failedRows(first.run.no, 1, { afterOrdinal: -1, limit: 9 });
    expect(JSON.parse(row?.error ?? '{}').code).toBe('IN_DOUBT');
  });
});

describe('a tool that has changed', () => {
  verifies(
    'RUN-TOOL-CHANGED-1',
    'under one version is told once on resume, and its kept answers are read by its new code',
    async () => {
      const provider = await testProvider((response) => json(response, 200, { mail: 'ada@x.io' }));
      const toolWith = (path: string) =>
        defineTool({
          id: 'acme.find',
          effect: 'read',
          input: { type: 'object' },
          request: () => ({ url: provider.url }),
          extract: { email: path },
        });
      const source = `async (ctx) => {
      const call = (id) => ctx.tools.execute({ id, tool: 'acme.find', input: {} });
      return [(await call('a')).values.email, (await call('b')).values.email];
    }`;
      const dir = testFolder();
      const now = await openTest(dir, { tools: [toolWith('email')] });
      const run = await queued(now, source);
      await crash(now, run.id, (write) => write.kind === 'runState');
      const later = await openTest(dir, { tools: [toolWith('mail')], clock: laterClock() });
      const { result, events } = await attempt(later, run.id);
      expect(result).toEqual(['ada@x.io', 'ada@x.io']);
      const warnings = events.filter(({ type }) => type === 'tool.changed');
      expect(warnings.map(({ level }) => level)).toEqual(['warn']);
      expect(warnings[0]?.message).toContain("acme.find has changed under version '1'");

      const same = await queued(now, source);
      await crash(now, same.id, (write) => write.kind === 'runState');
      const unchanged = await openTest(dir, { tools: [toolWith('email')], clock: laterClock(7_200_000) });
      expect((await attempt(unchanged, same.id)).events.filter(({ type }) => type === 'tool.changed')).toEqual([]);
      expect(provider.requests).toHaveLength(1);
    },
  );
});
