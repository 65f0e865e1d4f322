import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { digest } from '../../scope/index.ts';
import { StaleAttemptError } from '../../sdk/index.ts';
import type { Write } from '../writes.ts';
import {
  AT,
  armed,
  committed,
  ended,
  expired,
  lease,
  newSignal,
  newWait,
  RUN_PLACE,
  row,
  type StoreUnderTest,
  signalled,
  startedRun,
} from './samples.ts';

const OPEN = { state: 'open', payload: null, signalNo: null, settledAt: null };

export function waits(current: () => StoreUnderTest): void {
  verifies('STORE-WAITS-1', 'arms a wait once: what an earlier release saved stands', async () => {
    const { store, reopen } = current();
    const fence = await startedRun(store);
    const wait = newWait('approved', { rowKey: 'ada', deadline: AT + 900, policy: 'park' });
    const first = await armed(store, { fence, place: row(3), wait });
    expect(first).toEqual({ ...wait, ...OPEN, no: 1, place: row(3) });
    const changed = newWait('approved', { rowKey: 'ada', deadline: AT + 5, policy: 'fail', armedAt: AT + 1 });
    expect(await armed(store, { fence, place: row(3), wait: changed })).toEqual(first);
    const elsewhere = await armed(store, { fence, place: row(4), wait: changed });
    expect(elsewhere).toEqual({ ...changed, ...OPEN, no: 2, place: row(4) });
    const again = await reopen();
    expect(await again.runs.waits(fence.runNo, 1, [3, 4, 5])).toEqual(
      new Map([
        [3, [first]],
        [4, [elsewhere]],
      ]),
    );
  });

  it('returns the waits of the rows asked for in the order they were armed, settled ones too', async () => {
    const { store } = current();
    const fence = await startedRun(store);
    const sleep = newWait('sleep', { kind: 'sleep', event: null, deadline: AT + 9 });
    await armed(store, { fence, wait: newWait('z') });
    await armed(store, { fence, wait: sleep });
    await armed(store, { fence, wait: newWait('a') });
    await expired(store, { fence, key: 'sleep', at: AT + 9 });
    const found = (await store.runs.waits(fence.runNo, 0, [0])).get(0);
    expect(found?.map(({ no, label, state }) => [no, label, state])).toEqual([
      [1, 'z', 'open'],
      [2, 'sleep', 'timedOut'],
      [3, 'a', 'open'],
    ]);
    expect((await store.runs.waits(99, 0, [0])).size).toBe(0);
  });

  verifies('STORE-WAITS-2', 'ends a wait by its saved policy when its time is over', async () => {
    const { store } = current();
    const fence = await startedRun(store);
    const sleep = newWait('sleep', { kind: 'sleep', event: null, deadline: AT + 9, policy: 'park' });
    const [asNull, asFail, asPark] = (['null', 'fail', 'park'] as const).map((policy) =>
      newWait(policy, { policy, deadline: AT + 9 }),
    );
    for (const wait of [sleep, asNull, asFail, asPark]) if (wait !== undefined) await armed(store, { fence, wait });
    const over = { ...OPEN, state: 'timedOut', settledAt: AT + 20 };
    for (const key of ['sleep', 'null', 'fail'])
      expect(await expired(store, { fence, key, at: AT + 20 }), key).toMatchObject(over);
    const parked = await expired(store, { fence, key: 'park', at: AT + 20 });
    expect(parked).toEqual({ ...asPark, ...OPEN, deadline: null, no: 4, place: RUN_PLACE });
    const stored = (await store.runs.waits(fence.runNo, 0, [0])).get(0);
    expect(stored?.slice(0, 3)).toMatchObject([over, over, over]);
    expect(stored?.[3]).toEqual(parked);
    // A second time changes nothing.
    expect(await expired(store, { fence, key: 'null', at: AT + 99 })).toMatchObject(over);
    expect((await signalled(store, newSignal('park'))).delivered).toHaveLength(1);
    // One that nobody can answer any more is over whatever its policy.
    const dropped = newWait('dropped', { policy: 'park', deadline: null });
    await armed(store, { fence, wait: dropped });
    expect(await expired(store, { fence, key: 'dropped', at: AT + 20, dropped: true })).toMatchObject(over);
    const missing = expired(store, { fence, key: 'other', at: AT });
    await expect(missing).rejects.toMatchObject({ name: 'StoreConflict', what: 'wait-settled' });
  });

  verifies('STORE-WAITS-2', 'lets the first of answer and time-out win, also within one group', async () => {
    const { store } = current();
    const fence = await startedRun(store);
    const place = RUN_PLACE;
    for (const key of ['a', 'b']) await armed(store, { fence, wait: newWait(key, { deadline: AT + 9 }) });
    const expire = (key: string): Write => ({ kind: 'expire', fence, place, key: digest(key), at: AT + 9 });
    const signal = (event: string): Write => ({ kind: 'signal', signal: newSignal(event) });
    const late = signal('b');
    const lost = expire('a');
    const outcomes = await store.commit([[signal('a')], [lost], [expire('b')], [late]]);
    expect(outcomes.map((outcome) => outcome.ok)).toEqual([true, true, true, false]);
    expect(lost).toMatchObject({ stored: { state: 'answered', payload: '{"é":1}', signalNo: 1, settledAt: AT + 50 } });
    expect(outcomes[3]).toMatchObject({
      error: { what: 'wait-settled', message: expect.stringContaining('its time was up') },
    });
    expect(late).not.toHaveProperty('outcome');
    const settled = (await store.runs.waits(fence.runNo, 0, [0])).get(0);
    expect(settled?.map((wait) => [wait.state, wait.payload])).toEqual([
      ['answered', '{"é":1}'],
      ['timedOut', null],
    ]);
  });

  verifies('STORE-WAITS-1', 'takes a wait, its number and a kept signal back with the unit that armed it', async () => {
    const { store } = current();
    const fence = await startedRun(store);
    await signalled(store, newSignal('approved'));
    const place = RUN_PLACE;
    const arm: Write = { kind: 'arm', fence, place, wait: newWait('approved') };
    const expire: Write = { kind: 'expire', fence, place, key: digest('approved'), at: AT };
    const signal: Write = { kind: 'signal', signal: newSignal('other') };
    await expect(committed(store, arm, expire, signal, lease('run_1', 7))).rejects.toMatchObject({ what: 'lease' });
    expect(arm).not.toHaveProperty('stored');
    expect(expire).not.toHaveProperty('stored');
    expect(signal).not.toHaveProperty('outcome');
    expect((await store.runs.waits(fence.runNo, 0, [0])).size).toBe(0);
    expect(await store.runs.answeredSince(fence.runNo, 0)).toEqual({ places: [], newest: 1 });
    await committed(store, arm);
    expect(arm).toMatchObject({ stored: { no: 1, state: 'answered', signalNo: 1 } });
    await expect(committed(store, signal, lease('run_1', 7))).rejects.toMatchObject({ what: 'lease' });
    await armed(store, { fence, wait: newWait('other') });
    const wait = (await store.runs.waits(fence.runNo, 0, [0])).get(0)?.[1];
    expect(wait).toMatchObject({ state: 'open', no: 2 });
    await expect(committed(store, { ...expire, key: digest('other') }, lease('run_1', 7))).rejects.toThrow();
    await expect(committed(store, signal, lease('run_1', 7))).rejects.toThrow();
    expect((await store.runs.waits(fence.runNo, 0, [0])).get(0)?.[1]).toEqual(wait);
  });

  verifies('STORE-FENCE-1', 'fences waits and operations, but not signals', async () => {
    const { store } = current();
    const stale = await startedRun(store);
    await armed(store, { fence: stale, wait: newWait('approved') });
    await committed(store, lease('run_1', 2, { takeOver: true }));
    for (const write of [
      { kind: 'arm', fence: stale, place: RUN_PLACE, wait: newWait('late') },
      { kind: 'expire', fence: stale, place: RUN_PLACE, key: digest('approved'), at: AT },
    ] as const)
      await expect(committed(store, write), write.kind).rejects.toBeInstanceOf(StaleAttemptError);
    expect((await signalled(store, newSignal('approved'))).delivered).toHaveLength(1);
    expect((await store.runs.waits(stale.runNo, 0, [0])).get(0)).toMatchObject([{ state: 'answered' }]);
  });

  it('says what a run waits for: the earliest deadline, and how many wait for each event', async () => {
    const { store } = current();
    const fence = await startedRun(store);
    const other = await startedRun(store, 'run_2');
    expect(await store.runs.openWaits(fence.runNo)).toEqual({ wakeAt: null, events: [] });
    await armed(store, { fence: other, wait: newWait('approved', { deadline: AT + 1 }) });
    await armed(store, { fence, place: row(1), wait: newWait('signed', { deadline: AT + 70 }) });
    await armed(store, { fence, place: row(2), wait: newWait('approved', { deadline: AT + 60 }) });
    await armed(store, { fence, place: row(3), wait: newWait('approved') });
    await armed(store, { fence, place: row(3), wait: newWait('over', { deadline: AT + 2 }) });
    await expired(store, { fence, place: row(3), key: 'over', at: AT + 2 });
    expect(await store.runs.openWaits(fence.runNo)).toEqual({
      wakeAt: AT + 60,
      events: [
        { event: 'approved', count: 2 },
        { event: 'signed', count: 1 },
      ],
    });
    await armed(store, { fence, wait: newWait('s', { kind: 'sleep', event: null, deadline: AT + 40 }) });
    expect(await store.runs.openWaits(fence.runNo)).toMatchObject({ wakeAt: AT + 40, events: [{}, {}] });
  });

  it('lists open waits of one run, or of all that are not finished, in order of arming', async () => {
    const { store } = current();
    const one = await startedRun(store);
    const two = await startedRun(store, 'run_2');
    const gone = await startedRun(store, 'run_3');
    const last = await armed(store, { fence: two, place: row(7, 2), wait: newWait('b', { rowKey: 'x' }) });
    await armed(store, { fence: one, place: row(1), wait: newWait('a') });
    await armed(store, { fence: gone, wait: newWait('a') });
    await armed(store, { fence: one, wait: newWait('c', { kind: 'sleep', event: null, deadline: AT + 1 }) });
    await expired(store, { fence: one, key: 'c', at: AT + 1 });
    await committed(store, ended(gone, 'failed'));
    const numbers = async (filter: { runNo?: number; limit: number }): Promise<number[]> =>
      (await store.report.waitsOfRuns(filter)).map((wait) => wait.no);
    expect(await numbers({ limit: 10 })).toEqual([1, 2]);
    expect(await numbers({ limit: 1 })).toEqual([1]);
    expect(await numbers({ runNo: one.runNo, limit: 10 })).toEqual([2]);
    expect(await numbers({ runNo: gone.runNo, limit: 10 })).toEqual([3]);
    expect(await store.report.waitsOfRuns({ runNo: two.runNo, limit: 1 })).toEqual([{ ...last, runId: 'run_2' }]);
  });
}
