import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../scope/index.ts';
import { OperationWatch, type StopReason, type Watched } from './watch.ts';

function watched(timeoutMs: number, signal = new AbortController().signal): Watched & { reasons: StopReason[] } {
  const reasons: StopReason[] = [];
  return { timeoutMs, signal, reasons, stop: (reason) => reasons.push(reason) };
}

describe('watching operations', () => {
  it('stops each at its own deadline, with one timer for all of one length', async () => {
    const clock = new VirtualClock();
    const watch = new OperationWatch(clock);
    const [first, second, short] = [watched(100), watched(100), watched(30)];
    watch.add(first);
    await clock.advance(40);
    watch.add(second);
    watch.add(short);
    expect(clock.pending()).toHaveLength(2);
    await clock.advance(59);
    expect([first.reasons, second.reasons, short.reasons]).toEqual([[], [], ['timeout']]);
    await clock.advance(1);
    expect([first.reasons, second.reasons]).toEqual([['timeout'], []]);
    await clock.advance(40);
    expect(second.reasons).toEqual(['timeout']);
    expect(clock.pending()).toEqual([]);
  });

  it('forgets what is released: no timer, no listener, no stop', async () => {
    const clock = new VirtualClock();
    const watch = new OperationWatch(clock);
    const controller = new AbortController();
    const [one, other] = [watched(100, controller.signal), watched(100, controller.signal)];
    watch.add(one);
    watch.add(other);
    watch.release(one);
    controller.abort();
    expect([one.reasons, other.reasons]).toEqual([[], ['cancelled']]);
    watch.release(other);
    expect(clock.pending()).toEqual([]);
    await clock.advance(200);
    expect([one.reasons, other.reasons]).toEqual([[], ['cancelled']]);
  });

  it('an operation that is added while another is stopped gets its whole time', async () => {
    const clock = new VirtualClock();
    const watch = new OperationWatch(clock);
    const next = watched(100);
    const first: Watched = { ...watched(100), stop: () => watch.add(next) };
    watch.add(first);
    await clock.advance(199);
    expect(next.reasons).toEqual([]);
    await clock.advance(1);
    expect(next.reasons).toEqual(['timeout']);
  });
});
