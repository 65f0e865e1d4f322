import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { VirtualClock } from '../scope/index.ts';
import { OperationWatch, type StopReason, type Watched } from './watch.ts';

/** A clock whose process can be stopped: no timer fires, and time goes on. */
class StoppableClock extends VirtualClock {
  #ahead = 0;

  stopFor(ms: number): void {
    this.#ahead += ms;
  }

  override monotonic(): number {
    return super.monotonic() + this.#ahead;
  }
}

function watched(timeoutMs: number): Watched & { readonly stops: StopReason[] } {
  const stops: StopReason[] = [];
  return { timeoutMs, signal: new AbortController().signal, stops, stop: (reason) => stops.push(reason) };
}

verifies(
  'DELIVER-STOPPED-1',
  'what has arrived while the process was stopped ends its operation, not the late timer',
  async () => {
    const clock = new StoppableClock();
    const watch = new OperationWatch(clock);
    const [answered, lost] = [watched(10_000), watched(10_000)];
    watch.add(answered);
    watch.add(lost);
    clock.stopFor(60_000);
    await clock.advance(10_000);
    expect([answered.stops, lost.stops]).toEqual([[], []]);
    // The turn of the event loop that follows finds the answer in its socket.
    watch.release(answered);
    await clock.advance(1_000);
    expect([answered.stops, lost.stops]).toEqual([[], ['timeout']]);
  },
);

verifies('DELIVER-STOPPED-1', 'a time-out that is on time gives nothing a second more', async () => {
  const clock = new StoppableClock();
  const watch = new OperationWatch(clock);
  const one = watched(10_000);
  watch.add(one);
  await clock.advance(10_000);
  expect(one.stops).toEqual(['timeout']);
});
