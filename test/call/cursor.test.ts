import { rmSync } from 'node:fs';
import { describe, expect } from 'vitest';
import { Journal } from '../../src/call/index.ts';
import { LocalEngine } from '../../src/engine/index.ts';
import { type Clock, digest } from '../../src/scope/index.ts';
import { defineTool } from '../../src/sdk/index.ts';
import { type Committer, MemoryStore, type OperationRecord, type Write } from '../../src/store/index.ts';
import { resumeOptions } from '../../src/workspace/index.ts';
import { crash, fastClock, zeroChance } from '../harness/crash.ts';
import { json, testProvider } from '../harness/provider.ts';
import { countedTool, endsAs } from '../harness/tools.ts';
import { attempt, openTest, putFile, queued, runPlay, testFolder } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const CALL = `async (ctx) => (await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: {} })).data`;

function shifted(clock: Clock, ms: number): Clock {
  return { ...clock, now: () => clock.now() + ms };
}

describe('a call that is being tried when its process dies', () => {
  verifies('RETRY-CURSOR-1', 'goes on counting and waiting where it was, under the key that was next', async () => {
    const clock = fastClock(20);
    const at: number[] = [];
    const { tool, sent } = countedTool({ maxTries: 3 }, () => {
      at.push(clock.now());
      // Some seconds, then too many of them to be waited for in memory.
      throw endsAs('deferred', { retryAfterMs: sent.length === 1 ? 2_000 : 400_000 });
    });
    const dir = testFolder();
    const now = await openTest(dir, { tools: [tool], clock, chance: zeroChance() });
    const run = await queued(now, CALL);
    await crash(now, run.id, (write) => write.kind === 'call');
    expect(sent).toHaveLength(2);
    const [cursor] = (await now.store.calls.operations(run.no, 0, [0])).get(0) ?? [];
    expect(cursor).toMatchObject({ state: 'retrying', tries: 2, refusals: 2, tool: 'acme.find' });
    expect((cursor?.waitUntil ?? 0) - (at[1] ?? 0)).toBeGreaterThanOrEqual(400_000);
    // The call knows it by itself, whatever is known of its account.
    for (const part of ['', '-wal', '-shm']) rmSync(now.paths.rates + part, { force: true });
    // Well after the lease, and before that time is over.
    const later = await openTest(dir, { tools: [tool], clock: shifted(clock, 380_000), chance: zeroChance() });
    const resumed = await attempt(later, run.id);
    expect(resumed.outcome).toMatchObject({
      kind: 'failed',
      error: { details: { tries: 3 } },
    });
    expect(sent).toHaveLength(3);
    // Node's timers may be a millisecond early, which are twenty on this clock.
    expect((at[2] ?? 0) + 380_020).toBeGreaterThanOrEqual(cursor?.waitUntil ?? Number.POSITIVE_INFINITY);
    expect(new Set(sent.map(({ operationKey }) => operationKey)).size).toBe(3);
  });

  verifies(
    'KEY-OPERATION-2',
    'is another operation once it was refused, and the same one from its first ambiguous ending on',
    async () => {
      const endings = ['deferred', 'ambiguous', 'deferred'];
      const { tool, sent } = countedTool({ idempotency: { header: 'Idempotency-Key' } }, () => {
        const ending = endings[sent.length - 1];
        if (ending !== undefined) throw endsAs(ending);
        return 'ok';
      });
      const clock = fastClock(20);
      const dir = testFolder();
      const now = await openTest(dir, { tools: [tool], clock, chance: zeroChance() });
      const run = await queued(now, CALL);
      let operations = 0;
      await crash(now, run.id, (write) => write.kind === 'operation' && ++operations === 3);
      const later = await openTest(dir, { tools: [tool], clock: shifted(clock, 3_600_000), chance: zeroChance() });
      expect((await attempt(later, run.id)).result).toBe('ok');
      const [a, b, c, d] = sent.map(({ operationKey }) => operationKey);
      expect(sent).toHaveLength(4);
      expect([a === b, b === c, c === d]).toEqual([false, true, true]);
    },
  );

  verifies('KEY-OPERATION-2', 'goes out under another key when what was refused is tried again', async () => {
    let works = false;
    const { tool, sent } = countedTool({ idempotency: { header: 'Idempotency-Key' } }, () => {
      if (!works) throw endsAs('rejected');
      return 'ok';
    });
    const workspace = await openTest(testFolder(), { tools: [tool] });
    const { run } = await runPlay(workspace, CALL);
    works = true;
    await resumeOptions(workspace, run, { retryFailed: true });
    expect((await attempt(workspace, run.id)).result).toBe('ok');
    expect(new Set(sent.map(({ operationKey }) => operationKey)).size).toBe(2);
  });

  verifies('RETRY-CURSOR-2', 'gives its cursor out once', async () => {
    const store = new MemoryStore();
    const place = { datasetNo: 0, ordinal: 0 };
    const callId = digest('call');
    const operation = { callId, site: callId, state: 'retrying', tries: 1 } as OperationRecord;
    const reads = { ...store.calls, operations: async () => new Map([[0, [operation]]]) };
    const journal = new Journal(reads, 1);
    await journal.load(0, [0]);
    expect(journal.takeOperation(place, digest('other'))).toBeUndefined();
    expect(journal.takeOperation(place, callId)).toEqual(operation);
    expect(journal.takeOperation(place, callId)).toBeUndefined();
  });

  verifies('RETRY-CURSOR-2', 'has none where it is answered at once', async () => {
    const { tool } = countedTool();
    const workspace = await openTest(testFolder(), { tools: [tool] });
    const kinds: Write['kind'][] = [];
    const { committer } = workspace;
    const watching: Committer = {
      commit: (unit) => {
        kinds.push(...unit.map(({ kind }) => kind));
        return committer.commit(unit);
      },
      defer: (unit, settled) => committer.defer(unit, settled),
      flush: () => committer.flush(),
    };
    const run = await queued(workspace, CALL);
    const calls = { ...workspace.calls, committer: watching };
    const engine = new LocalEngine({ ...workspace.deps, calls });
    expect((await attempt(workspace, run.id, engine)).code).toBeUndefined();
    expect(kinds).toEqual(['receipt']);
  });
});

describe('retries', () => {
  verifies('RETRY-BUDGET-1', 'stop when the run has used up its share of them', async () => {
    const { tool, sent } = countedTool({ maxTries: 5 }, () => {
      throw endsAs('notDispatched');
    });
    const workspace = await openTest(testFolder(), { tools: [tool], chance: zeroChance() });
    const { result } = await runPlay(
      workspace,
      `async (ctx) => (await Promise.allSettled(Array.from({ length: 20 }, (_, n) =>
        ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n } })))).map((one) => one.reason.message)`,
    );
    expect(result).toHaveLength(20);
    for (const message of result) expect(message).toMatch(/not tried again: the retries of this run are used up/);
    expect(sent).toHaveLength(20 + 25);
  });
});

describe('calls that are refused for now', () => {
  verifies('RETRY-BUDGET-2', 'go out again however many of the run are', async () => {
    // More than a run has retries, and all of them together.
    const CALLS = 30;
    const { tool, sent } = countedTool({ limits: { concurrency: CALLS } }, ({ n }) => {
      if (sent.length > CALLS) return n;
      throw endsAs('deferred', { retryAfterMs: 10 });
    });
    const workspace = await openTest(testFolder(), { tools: [tool], clock: fastClock(40) });
    const { result } = await runPlay(
      workspace,
      `async (ctx) => (await Promise.all(Array.from({ length: ${CALLS} }, (_, n) =>
        ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n } })))).length`,
    );
    expect([result, sent.length]).toEqual([CALLS, 2 * CALLS]);
  });
});

describe('a credential that is refused', () => {
  async function refusing(rotates: boolean, calls: number) {
    const dir = testFolder({ '.env': 'ACME_KEY=old-key-123\n' });
    const provider = await testProvider((response, { headers }) => {
      if (rotates) putFile(dir, '.env', 'ACME_KEY=new-key-456\n');
      json(response, headers.authorization === 'new-key-456' ? 200 : 401, { ok: true });
    });
    const tool = defineTool<{ n: number }>({
      id: 'acme.find',
      effect: 'read',
      input: { type: 'object' },
      secrets: ['ACME_KEY'],
      request: ({ secret }) => ({ url: `${provider.url}/`, headers: { authorization: secret('ACME_KEY') } }),
    });
    const workspace = await openTest(dir, { tools: [tool] });
    const source = `async (ctx) => (await Promise.all(Array.from({ length: ${calls} }, (_, n) =>
      ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n } }).then((one) => one.status, (error) => error.code))))`;
    return { ...(await runPlay(workspace, source)), provider };
  }

  verifies('RETRY-SECRET-1', 'is looked up again, and all that it had stopped goes out with the new one', async () => {
    const { result, provider } = await refusing(true, 5);
    expect(result).toEqual(Array(5).fill('completed'));
    expect(provider.requests).toHaveLength(10);
  });

  verifies('RETRY-SECRET-1', 'is not tried again where it has not changed', async () => {
    const { result, provider } = await refusing(false, 3);
    expect(result).toEqual(Array(3).fill('PROVIDER_AUTHENTICATION'));
    expect(provider.requests).toHaveLength(3);
  });
});
