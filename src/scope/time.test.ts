import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { durationMs, sleep, timeId, VirtualClock } from './index.ts';

describe('durationMs', () => {
  it.each([
    [90, 90],
    [0, 0],
    ['250ms', 250],
    ['90s', 90_000],
    ['1.5h', 5_400_000],
    [' 30 m ', 1_800_000],
    ['3d', 259_200_000],
    ['0s', 0],
  ])('of %j is %d', (text, expected) => {
    expect(durationMs(text)).toBe(expected);
  });

  it.each(['', '5', 's', '-1s', '1w', '1h30m', '1e3s', '.5s', '1 .5s', Number.NaN, -1, Number.POSITIVE_INFINITY])(
    'of %j is none',
    (text) => {
      expect(durationMs(text)).toBeUndefined();
    },
  );

  it('never throws, and is never negative', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.double()), (text) => {
        const ms = durationMs(text);
        if (ms !== undefined) expect(ms).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});

describe('the virtual clock', () => {
  it('stands still until it is told to move', async () => {
    const clock = new VirtualClock(1000);
    let fired = false;
    clock.after(1, () => {
      fired = true;
    });
    await clock.advance(0);
    expect([clock.now(), clock.monotonic(), fired]).toEqual([1000, 1000, false]);
  });

  it('fires in order of time, then of asking, each at its own instant', async () => {
    const clock = new VirtualClock(0);
    const fired: string[] = [];
    for (const [name, ms] of [
      ['c', 30],
      ['a', 10],
      ['b1', 20],
      ['b2', 20],
      ['late', 31],
    ] as const)
      clock.after(ms, () => fired.push(`${name}@${clock.now()}`));
    await clock.advance(30);
    expect(fired).toEqual(['a@10', 'b1@20', 'b2@20', 'c@30']);
    expect(clock.now()).toBe(30);
    expect(clock.pending()).toEqual([31]);
  });

  it('fires what timers themselves ask for, if it falls within the same move', async () => {
    const clock = new VirtualClock(0);
    const fired: number[] = [];
    const again = (): void => {
      fired.push(clock.now());
      if (fired.length < 5) clock.after(10, again);
    };
    clock.after(10, again);
    await clock.advance(35);
    expect(fired).toEqual([10, 20, 30]);
  });

  it('fires what promises ask for after a timer', async () => {
    const clock = new VirtualClock(0);
    const log: number[] = [];
    const twice = (async () => {
      await sleep(clock, 10);
      log.push(clock.now());
      await sleep(clock, 10);
      log.push(clock.now());
    })();
    await clock.advance(20);
    await twice;
    expect(log).toEqual([10, 20]);
  });

  it('forgets what was cancelled, also from within another timer', async () => {
    const clock = new VirtualClock(0);
    let fired = 0;
    const cancel = clock.after(10, () => fired++);
    clock.after(5, cancel);
    await clock.advance(100);
    expect(fired).toBe(0);
    expect(clock.pending()).toEqual([]);
  });
});

describe('sleep', () => {
  it('rejects with the reason of its signal as soon as that is aborted, and leaves no timer', async () => {
    const clock = new VirtualClock(0);
    const stop = new AbortController();
    const asleep = sleep(clock, 1000, stop.signal);
    stop.abort(new Error('stop'));
    await expect(asleep).rejects.toThrow('stop');
    expect(clock.pending()).toEqual([]);
  });

  it('does not begin where the signal is aborted already', async () => {
    const clock = new VirtualClock(0);
    await expect(sleep(clock, 1000, AbortSignal.abort(new Error('before')))).rejects.toThrow('before');
    expect(clock.pending()).toEqual([]);
  });

  it('leaves no listener behind when it has slept', async () => {
    const clock = new VirtualClock(0);
    const stop = new AbortController();
    const asleep = sleep(clock, 10, stop.signal);
    await clock.advance(10);
    await asleep;
    stop.abort();
    expect(clock.pending()).toEqual([]);
  });
});

describe('time ids', () => {
  const chance = { bytes: (count: number) => new Uint8Array(count).fill(0xff) };

  it('are UUIDs of version 7 behind a prefix, with the instant in front', () => {
    const id = timeId('run', new VirtualClock(0x0189_0a5d_ac96), chance);
    expect(id).toBe('run_01890a5d-ac96-7fff-bfff-ffffffffffff');
  });

  it('sort by time', () => {
    const idAt = (at: number): string => timeId('run', new VirtualClock(at), chance);
    const instant = fc.integer({ min: 0, max: 2 ** 47 });
    fc.assert(
      fc.property(instant, instant, (a, b) => {
        expect(idAt(a) < idAt(b)).toBe(a < b);
      }),
    );
  });
});
