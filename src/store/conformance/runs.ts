import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { StoreConflict } from '../port.ts';
import { AT, committed, lease, newRun, type StoreUnderTest, startedRun } from './samples.ts';

export function runs(current: () => StoreUnderTest): void {
  it('keeps what a run was made with, and numbers runs upwards', async () => {
    const { store } = current();
    const first = { kind: 'run' as const, run: newRun('run_a', { idempotencyKey: 'once', input: '{"é":"日本 🎉"}' }) };
    const second: { kind: 'run'; run: ReturnType<typeof newRun>; no?: number } = { kind: 'run', run: newRun('run_b') };
    await committed(store, first, second);
    const run = await store.runs.run('run_a');
    expect(run).toEqual({
      ...first.run,
      no: 1,
      status: 'queued',
      attempt: 0,
      owner: null,
      leaseUntil: null,
      startedAt: null,
      finishedAt: null,
      wakeAt: null,
      cancelRequested: false,
      error: null,
      result: null,
    });
    expect(second.no).toBe(2);
    expect(await store.runs.runByIdempotencyKey('once')).toEqual(run);
    expect(await store.runs.runByIdempotencyKey('never')).toBeUndefined();
    expect(await store.runs.run('run_c')).toBeUndefined();
  });

  it('refuses a second run with the same id or idempotency key', async () => {
    const { store } = current();
    await committed(store, { kind: 'run', run: newRun('run_a', { idempotencyKey: 'once' }) });
    const sameId = { kind: 'run' as const, run: newRun('run_a') };
    const sameKey = { kind: 'run' as const, run: newRun('run_b', { idempotencyKey: 'once' }) };
    for (const write of [sameId, sameKey]) {
      const [outcome] = await store.commit([[write]]);
      expect(outcome).toMatchObject({ ok: false, error: { name: 'StoreConflict', what: 'run-exists' } });
      expect(write).not.toHaveProperty('no');
    }
    expect(await store.report.listRuns({ limit: 10 })).toHaveLength(1);
  });

  it('moves through waiting to completed, and gives the lease back', async () => {
    const { store } = current();
    const fence = await startedRun(store);
    const paused = { status: 'waiting' as const, at: AT + 1, error: null, result: null, wakeAt: AT + 500 };
    await committed(store, { kind: 'runState', fence, ...paused });
    expect(await store.runs.run('run_1')).toMatchObject({
      status: 'waiting',
      owner: null,
      leaseUntil: null,
      wakeAt: AT + 500,
      finishedAt: null,
    });
    await committed(store, lease('run_1', 2, { now: AT + 500 }));
    const ended = { status: 'completed' as const, at: AT + 900, error: null, result: '{"n":1}', wakeAt: null };
    await committed(store, { kind: 'runState', fence: { ...fence, attempt: 2 }, ...ended });
    expect(await store.runs.run('run_1')).toMatchObject({
      status: 'completed',
      attempt: 2,
      startedAt: AT,
      finishedAt: AT + 900,
      wakeAt: null,
      result: '{"n":1}',
    });
  });

  it('takes up a failed run again without its old ending', async () => {
    const { store } = current();
    const fence = await startedRun(store);
    const ended = { status: 'failed' as const, at: AT + 1, error: '{"code":"X"}', result: null, wakeAt: null };
    await committed(store, { kind: 'cancel', runId: 'run_1' }, { kind: 'runState', fence, ...ended });
    await committed(store, lease('run_1', 2));
    expect(await store.runs.run('run_1')).toMatchObject({
      ...{ status: 'running', error: null, finishedAt: null, cancelRequested: false },
    });
  });

  it('remembers options and a request to cancel', async () => {
    const { store } = current();
    const fence = await startedRun(store);
    await committed(
      store,
      { kind: 'runOptions', fence, options: '{"maxCredits":5}' },
      { kind: 'runArtifact', fence, artifact: 'other code' },
      { kind: 'cancel', runId: 'run_1' },
    );
    expect(await store.runs.run('run_1')).toMatchObject({
      options: '{"maxCredits":5}',
      artifact: 'other code',
      cancelRequested: true,
    });
    await expect(committed(store, { kind: 'cancel', runId: 'run_x' })).rejects.toMatchObject({ what: 'run-missing' });
  });

  verifies('CANCEL-BORN-1', 'a run inherits the request to cancel of its parent, and of nobody else', async () => {
    const { store } = current();
    const below = (parentRunId: string | null) => ({ parentRunId, rootRunId: 'root' });
    const made = (id: string, parent: string | null) =>
      committed(store, { kind: 'run', run: newRun(id, below(parent)) });
    const asked = async (id: string) => (await store.runs.run(id))?.cancelRequested;
    await startedRun(store, 'root');
    await made('before', 'root');
    // In one unit with what asks for it, and after it.
    await committed(store, { kind: 'cancel', runId: 'root' }, { kind: 'run', run: newRun('with', below('root')) });
    await made('after', 'root');
    await made('below that', 'after');
    await made('below another', 'before');
    await made('of nobody', null);
    await made('of one that is gone', 'gone');
    const ids = ['before', 'with', 'after', 'below that', 'below another', 'of nobody', 'of one that is gone'];
    expect(await Promise.all(ids.map(asked))).toEqual([false, true, true, true, false, false, false]);
    // The next transaction after it was asked, by whatever handle.
    const another = await current().another();
    await committed(another, { kind: 'run', run: newRun('of another process', below('root')) });
    expect(await asked('of another process')).toBe(true);
  });

  verifies(
    'STORE-DUE-1',
    'says which runs are due: queued for others, woken, cancelled while waiting, or left by a dead process',
    async () => {
      const { store } = current();
      const waiting = { status: 'waiting' as const, at: AT, error: null, result: null };
      await committed(store, { kind: 'run', run: newRun('queued', { wakeAt: AT }) });
      await committed(store, { kind: 'run', run: newRun('queued for later', { wakeAt: AT + 20_000 }) });
      await committed(store, { kind: 'run', run: newRun('of its maker', { wakeAt: null }) });
      const sleeping = await startedRun(store, 'sleeping');
      await committed(store, { kind: 'runState', fence: sleeping, ...waiting, wakeAt: AT + 1_000 });
      const person = await startedRun(store, 'person');
      await committed(store, { kind: 'runState', fence: person, ...waiting, wakeAt: null });
      await startedRun(store, 'dead');
      const done = await startedRun(store, 'done');
      await committed(store, { kind: 'runState', fence: done, ...waiting, status: 'completed', wakeAt: null });
      const ids = async (now: number, limit = 10): Promise<string[]> =>
        (await store.runs.runsDue(now, limit)).map((run) => run.id);
      expect(await store.runs.run('queued for later')).toMatchObject({ wakeAt: AT + 20_000 });
      expect(await ids(AT - 1)).toEqual([]);
      expect(await ids(AT)).toEqual(['queued']);
      expect(await ids(AT + 1_000)).toEqual(['queued', 'sleeping']);
      expect(await ids(AT + 15_000)).toEqual(['queued', 'sleeping', 'dead']);
      expect(await ids(AT + 15_000, 2)).toEqual(['queued', 'sleeping']);
      expect(await ids(AT + 20_000)).toEqual(['queued', 'sleeping', 'dead', 'queued for later']);
      await committed(store, { kind: 'cancel', runId: 'person' });
      expect(await ids(AT)).toContain('person');
    },
  );
}

export function leases(current: () => StoreUnderTest): void {
  it('starts the next attempt of a free run', async () => {
    const { store } = current();
    await startedRun(store);
    expect(await store.runs.run('run_1')).toMatchObject({
      status: 'running',
      attempt: 1,
      owner: 'host/1',
      leaseUntil: AT + 15_000,
      startedAt: AT,
    });
  });

  it('refuses a held lease, a skipped or repeated attempt, and a run that is not there', async () => {
    const { store } = current();
    await startedRun(store);
    for (const [write, what] of [
      [lease('run_1', 2, { now: AT + 14_999 }), 'lease'],
      [lease('run_1', 3, { now: AT + 20_000 }), 'lease'],
      [lease('run_1', 1, { now: AT + 20_000, takeOver: true }), 'lease'],
      [lease('run_x', 1), 'run-missing'],
    ] as const) {
      const refused = committed(store, write);
      await expect(refused).rejects.toBeInstanceOf(StoreConflict);
      await expect(refused).rejects.toMatchObject({ what });
    }
    expect(await store.runs.run('run_1')).toMatchObject({ attempt: 1 });
  });

  it('gives a lease that is over, or taken over, and keeps the first start', async () => {
    const { store } = current();
    await startedRun(store);
    await committed(store, lease('run_1', 2, { now: AT + 15_000 }));
    expect(await store.runs.run('run_1')).toMatchObject({ attempt: 2, owner: 'host/2', startedAt: AT });
    await committed(store, lease('run_1', 3, { now: AT + 15_001, takeOver: true }));
    expect(await store.runs.run('run_1')).toMatchObject({ attempt: 3, owner: 'host/3', startedAt: AT });
  });

  it('lets a heartbeat hold a lease for longer', async () => {
    const { store } = current();
    const fence = await startedRun(store);
    await committed(store, { kind: 'heartbeat', fence, until: AT + 20_000 });
    await expect(committed(store, lease('run_1', 2, { now: AT + 16_000 }))).rejects.toMatchObject({ what: 'lease' });
  });

  it('lets exactly one of two that want the same attempt have it', async () => {
    const { store } = current();
    await committed(store, { kind: 'run', run: newRun('run_1') });
    const outcomes = await store.commit([[lease('run_1', 1)], [lease('run_1', 1)]]);
    expect(outcomes.map((outcome) => outcome.ok)).toEqual([true, false]);
  });
}
