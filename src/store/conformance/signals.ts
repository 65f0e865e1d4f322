import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { NewSignal } from '../records.ts';
import {
  AT,
  armed,
  committed,
  ended,
  expired,
  lease,
  newRun,
  newSignal,
  newWait,
  row,
  type StoreUnderTest,
  signalled,
  startedRun,
} from './samples.ts';

export function signals(current: () => StoreUnderTest): void {
  delivery(current);
  refusals(current);
  wakeUps(current);
}

function delivery(current: () => StoreUnderTest): void {
  verifies('STORE-SIGNALS-1', 'answers the first wait of the run, row and event, and no other', async () => {
    const { store, reopen } = current();
    const fence = await startedRun(store);
    const other = await startedRun(store, 'run_2');
    const at = (ordinal: number, rowKey: string, key = 'approved') => ({
      fence,
      place: row(ordinal),
      wait: newWait(key, { rowKey }),
    });
    await armed(store, { fence: other, wait: newWait('approved', { rowKey: 'ada' }) });
    await armed(store, at(1, 'bob'));
    await armed(store, at(0, 'ada', 'approved/2'));
    await armed(store, at(0, 'ada'));
    await armed(store, at(0, 'ada', 'signed'));
    const outcome = await signalled(store, newSignal('approved', { rowKey: 'ada' }));
    expect(outcome).toEqual({ delivered: [{ runId: 'run_1', waitNo: 3, rowKey: 'ada' }], kept: false });
    expect(await signalled(store, newSignal('approved', { rowKey: 'ada', data: '2' }))).toMatchObject({
      delivered: [{ waitNo: 4 }],
    });
    const again = await reopen();
    const found = (await again.runs.waits(fence.runNo, 1, [0])).get(0);
    expect(
      found?.map(({ no, state, payload, signalNo, settledAt }) => [no, state, payload, signalNo, settledAt]),
    ).toEqual([
      [3, 'answered', '{"é":1}', 1, AT + 50],
      [4, 'answered', '2', 2, AT + 50],
      [5, 'open', null, null, null],
    ]);
    expect((await again.report.waitsOfRuns({ limit: 10 })).map((wait) => wait.no)).toEqual([1, 2, 5]);
  });

  verifies('STORE-SIGNALS-2', 'keeps an early signal for one wait of its run, event and row', async () => {
    const { store } = current();
    const fence = await startedRun(store);
    const other = await startedRun(store, 'run_2');
    for (const [data, rowKey] of [
      ['1', 'bob'],
      ['2', null],
      ['3', 'ada'],
    ] as const)
      expect(await signalled(store, newSignal('approved', { rowKey, data }))).toEqual({ delivered: [], kept: true });
    const arm = (place: number, rowKey: string | null, key = 'approved', of = fence) =>
      armed(store, { fence: of, place: row(place), wait: newWait(key, { rowKey, armedAt: AT + 70 }) });
    expect(await arm(0, 'ada', 'approved', other)).toMatchObject({ state: 'open' });
    expect(await arm(0, 'ada', 'signed')).toMatchObject({ state: 'open' });
    expect(await arm(0, 'ada')).toMatchObject({ state: 'answered', payload: '2', signalNo: 2, settledAt: AT + 70 });
    expect(await arm(2, null)).toMatchObject({ state: 'open' });
    expect(await arm(0, 'ada', 'approved/2')).toMatchObject({ payload: '3', signalNo: 3 });
    expect(await arm(0, 'ada', 'approved/3')).toMatchObject({ state: 'open' });
    expect(await arm(1, 'bob')).toMatchObject({ payload: '1', signalNo: 1 });
    // What was delivered at once is not there for a later wait.
    await signalled(store, newSignal('signed'));
    expect(await arm(0, 'ada', 'signed/2')).toMatchObject({ state: 'open' });
  });

  verifies('STORE-SIGNALS-2', 'gives no kept signal to a wait that takes only what comes after it', async () => {
    const { store, reopen } = current();
    const fence = await startedRun(store);
    await signalled(store, newSignal('approved'));
    const question = await armed(store, { fence, wait: newWait('approved', { early: false }) });
    expect(question).toMatchObject({ state: 'open', payload: null });
    expect(question).not.toHaveProperty('early');
    // It is still there for a wait that takes it, and the question for an answer of its own.
    expect(await armed(store, { fence, wait: newWait('approved/2') })).toMatchObject({
      state: 'answered',
      signalNo: 1,
    });
    expect(await signalled(store, newSignal('approved'))).toMatchObject({ delivered: [{ waitNo: 1 }], kept: false });
    const again = await reopen();
    expect((await again.runs.waits(fence.runNo, 0, [0])).get(0)?.[0]).toMatchObject({ no: 1, signalNo: 2 });
  });

  it('never gives a kept signal to a sleep', async () => {
    const { store } = current();
    const fence = await startedRun(store);
    await signalled(store, newSignal('approved'));
    const sleep = newWait('approved', { kind: 'sleep', event: null, deadline: AT + 1 });
    expect(await armed(store, { fence, wait: sleep })).toMatchObject({ state: 'open' });
  });

  verifies(
    'STORE-SIGNALS-3',
    'refuses several rows or runs unless all are meant, and answers the first of each',
    async () => {
      const { store } = current();
      const fence = await startedRun(store);
      const two = await startedRun(store, 'run_2');
      for (let ordinal = 0; ordinal < 7; ordinal++)
        await armed(store, { fence, place: row(ordinal), wait: newWait('approved', { rowKey: `key ${ordinal}` }) });
      await armed(store, { fence, place: row(0), wait: newWait('approved/2', { rowKey: 'key 0' }) });
      await armed(store, { fence: two, place: row(0), wait: newWait('approved', { rowKey: 'key 0' }) });
      const refused = signalled(store, newSignal('approved'));
      await expect(refused).rejects.toMatchObject({ name: 'StoreConflict', what: 'signal-several' });
      await expect(refused).rejects.toThrow(/"approved".*key 0 of run run_1.*key 4 of run run_1, and others/);
      await expect(refused).rejects.not.toThrow(/key 5/);
      await expect(signalled(store, newSignal('approved', { runId: null, rowKey: 'key 0' }))).rejects.toThrow(
        /run_1.*run_2/,
      );
      expect((await store.report.waitsOfRuns({ limit: 20 })).length).toBe(9);
      const all = await signalled(store, newSignal('approved', { all: true }));
      expect(all.delivered.map((to) => to.waitNo)).toEqual([1, 2, 3, 4, 5, 6, 7]);
      const both = await signalled(store, newSignal('approved', { runId: null, all: true }));
      expect(both.delivered).toEqual([
        { runId: 'run_1', waitNo: 8, rowKey: 'key 0' },
        { runId: 'run_2', waitNo: 9, rowKey: 'key 0' },
      ]);
    },
  );

  it('finds whichever run waits, where none is named', async () => {
    const { store } = current();
    const done = await startedRun(store, 'done');
    const dead = await startedRun(store, 'dead');
    const fence = await startedRun(store);
    for (const of of [done, dead, fence]) await armed(store, { fence: of, wait: newWait('approved') });
    await committed(store, ended(done, 'completed'));
    await committed(store, ended(dead, 'failed'));
    const outcome = await signalled(store, newSignal('approved', { runId: null }));
    expect(outcome).toEqual({ delivered: [{ runId: 'run_1', waitNo: 3, rowKey: null }], kept: false });
  });

  it('answers exactly the wait that is named, whatever its event', async () => {
    const { store } = current();
    const fence = await startedRun(store);
    for (const key of ['a', 'a/2']) await armed(store, { fence, wait: newWait(key, { rowKey: 'ada' }) });
    expect(await signalled(store, newSignal('', { runId: null, waitNo: 2 }))).toEqual({
      delivered: [{ runId: 'run_1', waitNo: 2, rowKey: 'ada' }],
      kept: false,
    });
    expect((await store.runs.waits(fence.runNo, 0, [0])).get(0)?.map((wait) => wait.state)).toEqual([
      'open',
      'answered',
    ]);
  });

  it('is seen by another handle', async () => {
    const { store, another } = current();
    const fence = await startedRun(store);
    await armed(store, { fence, wait: newWait('approved') });
    const other = await another();
    await signalled(other, newSignal('approved'));
    expect(await store.runs.answeredSince(fence.runNo, 0)).toMatchObject({ newest: 1, places: [{}] });
    expect(await expired(store, { fence, key: 'approved', at: AT })).toMatchObject({ state: 'answered' });
    await other.close();
  });
}

function refusals(current: () => StoreUnderTest): void {
  verifies('STORE-SIGNALS-3', 'refuses a signal that nothing can take, with the reason', async () => {
    const { store } = current();
    const fence = await startedRun(store);
    const done = await startedRun(store, 'done');
    const over = await startedRun(store, 'cancelled');
    const dead = await startedRun(store, 'dead');
    for (const of of [fence, done, dead]) await armed(store, { fence: of, wait: newWait('approved') });
    await armed(store, { fence, wait: newWait('over') });
    await expired(store, { fence, key: 'over', at: AT });
    await armed(store, { fence, wait: newWait('nap', { kind: 'sleep', event: null, deadline: AT + 1 }) });
    await committed(store, ended(done, 'completed'), ended(over, 'cancelled'), ended(dead, 'failed'));
    const cases: readonly (readonly [NewSignal, string])[] = [
      [newSignal('approved', { runId: 'run_x' }), 'run-missing'],
      [newSignal('approved', { runId: 'done' }), 'run-finished'],
      [newSignal('approved', { runId: 'cancelled', waitNo: 1 }), 'run-finished'],
      [newSignal('approved', { runId: null, waitNo: 2 }), 'run-finished'],
      [newSignal('wrong', { runId: null }), 'signal-unawaited'],
      [newSignal('approved', { runId: null, rowKey: 'ada' }), 'signal-unawaited'],
      [newSignal('over', { waitNo: 4 }), 'wait-settled'],
      [newSignal('over'), 'wait-settled'],
      [newSignal('nap', { waitNo: 5 }), 'wait-missing'],
      [newSignal('approved', { waitNo: 3 }), 'wait-missing'],
      [newSignal('approved', { runId: null, waitNo: 99 }), 'wait-missing'],
    ];
    for (const [signal, what] of cases)
      await expect(signalled(store, signal), JSON.stringify(signal)).rejects.toMatchObject({
        name: 'StoreConflict',
        what,
      });
    // None of them took a number. A failed run may be resumed, so it takes its answer.
    expect(await store.runs.answeredSince(fence.runNo, 0)).toEqual({ places: [], newest: 0 });
    expect((await signalled(store, newSignal('approved', { runId: 'dead' }))).delivered).toHaveLength(1);
  });

  verifies(
    'STORE-SIGNALS-3',
    'keeps no second answer for a question that nobody has asked, unless told to',
    async () => {
      const { store } = current();
      const fence = await startedRun(store);
      const arm = (ordinal: number, rowKey: string, key = 'approved') =>
        armed(store, { fence, place: row(ordinal), wait: newWait(key, { rowKey }) });
      await arm(0, 'ada');
      const first = newSignal('approved', { rowKey: 'ada', data: '1' });
      expect(await signalled(store, first)).toMatchObject({ kept: false });
      for (const rowKey of ['ada', null]) {
        const second = signalled(store, { ...first, rowKey, data: '2' });
        await expect(second).rejects.toMatchObject({ name: 'StoreConflict', what: 'wait-settled' });
        await expect(second).rejects.toThrow(new Date(AT + 50).toISOString());
      }
      expect(await arm(0, 'ada', 'approved/2')).toMatchObject({ state: 'open' });
      // Another row and another event have not been asked yet; and while one is asked, it takes the answer.
      expect(await signalled(store, { ...first, rowKey: 'bob' })).toMatchObject({ kept: true });
      expect(await signalled(store, newSignal('signed'))).toMatchObject({ kept: true });
      expect(await signalled(store, first)).toMatchObject({ delivered: [{ waitNo: 2 }] });
      expect(await signalled(store, { ...first, data: '3', keep: true })).toMatchObject({ kept: true });
      expect(await arm(0, 'ada', 'approved/3')).toMatchObject({ state: 'answered', payload: '3' });
      expect((await store.runs.waits(fence.runNo, 1, [0])).get(0)?.[0]).toMatchObject({ payload: '1' });
    },
  );

  verifies(
    'STORE-SIGNALS-4',
    'keeps no second early signal of a run, event and row while the first is not taken, unless told to',
    async () => {
      const { store, another } = current();
      const fence = await startedRun(store);
      await startedRun(store, 'run_2');
      const arm = (ordinal: number, rowKey: string | null, key: string) =>
        armed(store, { fence, place: row(ordinal), wait: newWait(key, { rowKey }) });
      for (const rowKey of ['ada', null]) {
        expect(await signalled(store, newSignal('approved', { rowKey, data: '1' }))).toMatchObject({ kept: true });
        const second = signalled(store, newSignal('approved', { rowKey, data: '2', at: AT + 99 }));
        await expect(second).rejects.toMatchObject({ name: 'StoreConflict', what: 'wait-settled' });
        await expect(second).rejects.toThrow(new Date(AT + 50).toISOString());
      }
      const other = await another();
      await expect(signalled(other, newSignal('approved'))).rejects.toMatchObject({ what: 'wait-settled' });
      await other.close();
      // Another row, another event, another run.
      for (const one of [{ rowKey: 'bob' }, { runId: 'run_2' }])
        expect(await signalled(store, newSignal('approved', one))).toMatchObject({ kept: true });
      expect(await signalled(store, newSignal('signed'))).toMatchObject({ kept: true });
      expect(await signalled(store, newSignal('signed', { data: '2', keep: true }))).toMatchObject({ kept: true });
      expect(await arm(0, null, 'signed')).toMatchObject({ state: 'answered', payload: '{"é":1}' });
      expect(await arm(0, null, 'signed/2')).toMatchObject({ state: 'answered', payload: '2' });
      // What was refused answers nothing.
      expect(await arm(1, 'ada', 'approved')).toMatchObject({ payload: '1', signalNo: 1 });
      expect(await arm(1, 'ada', 'approved/2')).toMatchObject({ payload: '1', signalNo: 2 });
      expect(await arm(1, 'ada', 'approved/3')).toMatchObject({ state: 'open' });
    },
  );
}

function wakeUps(current: () => StoreUnderTest): void {
  verifies('STORE-WAKE-1', 'wakes the waiting runs that it answers, in the same transaction', async () => {
    const { store } = current();
    const early = await startedRun(store, 'early');
    const late = await startedRun(store, 'late');
    const never = await startedRun(store, 'never');
    const idle = await startedRun(store, 'idle');
    const busy = await startedRun(store, 'busy');
    for (const fence of [early, late, never, busy]) await armed(store, { fence, wait: newWait('approved') });
    await committed(store, ended(early, 'waiting', { wakeAt: AT + 20 }));
    await committed(store, ended(late, 'waiting', { wakeAt: AT + 5_000 }));
    await committed(store, ended(never, 'waiting'), ended(idle, 'waiting'));
    await signalled(store, newSignal('approved', { runId: null, all: true }));
    await signalled(store, newSignal('unknown', { runId: 'idle' }));
    const wakeAt = async (id: string) => (await store.runs.run(id))?.wakeAt;
    expect(await Promise.all(['early', 'late', 'never', 'idle', 'busy'].map(wakeAt))).toEqual([
      AT + 20,
      AT + 50,
      AT + 50,
      null,
      null,
    ]);
    expect((await store.runs.runsDue(AT + 50, 9)).map((run) => run.id)).toEqual(['early', 'late', 'never']);
  });

  verifies('STORE-WAKE-1', 'is due at once where an answer came while the attempt was ending', async () => {
    const { store } = current();
    const fence = await startedRun(store);
    await armed(store, { fence, wait: newWait('approved') });
    const { newest } = await store.runs.answeredSince(fence.runNo, 0);
    await signalled(store, newSignal('approved'));
    const wakeAt = async () => (await store.runs.run('run_1'))?.wakeAt;
    await committed(store, ended(fence, 'waiting', { wakeAt: AT + 5_000, seenSignal: newest }));
    expect(await wakeAt()).toBe(AT + 10);
    const next = { ...fence, attempt: 2 };
    await committed(store, lease('run_1', 2), ended(next, 'waiting', { wakeAt: AT + 5_000, seenSignal: 1 }));
    expect(await wakeAt()).toBe(AT + 5_000);
    const ending = { ...fence, attempt: 3 };
    await committed(store, lease('run_1', 3), ended(ending, 'failed', { seenSignal: 0 }));
    expect(await wakeAt()).toBeNull();
  });

  it('says where waits were answered since a signal, once a place', async () => {
    const { store } = current();
    const fence = await startedRun(store);
    const other = await startedRun(store, 'run_2');
    await committed(store, { kind: 'run', run: newRun('run_3') });
    expect(await store.runs.answeredSince(fence.runNo, 0)).toEqual({ places: [], newest: 0 });
    for (const place of [row(7, 2), row(9), row(4)])
      for (const key of ['a', 'b']) await armed(store, { fence, place, wait: newWait(key) });
    await armed(store, { fence: other, wait: newWait('a') });
    await signalled(store, newSignal('a', { all: true }));
    await signalled(store, newSignal('a', { runId: 'run_2' }));
    await signalled(store, newSignal('b', { all: true }));
    await signalled(store, newSignal('b', { runId: 'run_3' }));
    const places = [row(4), row(9), row(7, 2)];
    expect(await store.runs.answeredSince(fence.runNo, 0)).toEqual({ places, newest: 4 });
    expect(await store.runs.answeredSince(fence.runNo, 2)).toEqual({ places, newest: 4 });
    expect(await store.runs.answeredSince(fence.runNo, 3)).toEqual({ places: [], newest: 4 });
    expect(await store.runs.answeredSince(other.runNo, 1)).toEqual({ places: [row(0, 0)], newest: 4 });
  });
}
