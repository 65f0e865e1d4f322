import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { VirtualClock } from '../scope/index.ts';
import { Pool, type PoolOptions } from './pool.ts';
import { turns } from './test-host.test-support.ts';

interface Bench {
  readonly pool: Pool<number>;
  readonly started: number[];
  most: number;
  mostBytes: number;
}

function poolOf(count: number, options: Partial<PoolOptions<number>> = {}): Bench {
  let next = 0;
  const started: number[] = [];
  const bench: Bench = {
    started,
    most: 0,
    mostBytes: 0,
    pool: new Pool<number>({
      limit: 4,
      maxBytes: 1e9,
      maxParked: 1000,
      clock: new VirtualClock(),
      take: () => (next < count ? next++ : undefined),
      fill: async () => false,
      bytes: () => 1,
      mayStart: () => true,
      room: () => undefined,
      start: (item) => {
        started.push(item);
        bench.most = Math.max(bench.most, bench.pool.inFlight);
      },
      ...options,
    }),
  };
  return bench;
}

describe('the pool of rows in flight', () => {
  verifies(
    ['DATA-POOL-1', 'DATA-ORDER-1'],
    'whatever ends first, items start in order and never too many',
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 0, max: 40 }),
          fc.integer({ min: 1, max: 8 }),
          fc.array(fc.nat(), { minLength: 40, maxLength: 40 }),
          async (count, limit, choices) => {
            const bench = poolOf(count, { limit });
            const end = bench.pool.run();
            const open = new Set<number>();
            let seen = 0;
            for (const choice of choices) {
              await turns(1);
              for (; seen < bench.started.length; seen++) open.add(bench.started[seen] ?? -1);
              const one = [...open][choice % Math.max(1, open.size)];
              if (one === undefined) break;
              open.delete(one);
              bench.pool.release(1);
            }
            await turns(1);
            expect(await end).toBe('drained');
            expect(bench.started).toEqual(Array.from({ length: count }, (_, item) => item));
            expect(bench.most).toBeLessThanOrEqual(limit);
          },
        ),
        { numRuns: 40 },
      );
    },
  );

  verifies('DATA-POOL-1', 'an item that never ends does not keep the others from starting', async () => {
    const bench = poolOf(20, { limit: 2 });
    void bench.pool.run();
    for (let turn = 0; turn < 18; turn++) {
      await turns(1);
      bench.pool.release(1);
    }
    await turns(1);
    expect(bench.started).toHaveLength(20);
    expect(bench.pool.inFlight).toBe(2);
  });

  verifies(
    'DATA-MEMORY-1',
    'large items shrink it to what the byte budget allows, and one is always let in',
    async () => {
      const bench = poolOf(6, { limit: 6, maxBytes: 100, bytes: (item) => (item === 3 ? 500 : 40) });
      void bench.pool.run();
      await turns(1);
      expect(bench.started).toEqual([0, 1]);
      bench.pool.release(40);
      await turns(1);
      expect(bench.started).toEqual([0, 1, 2]);
      bench.pool.release(40);
      await turns(1);
      expect(bench.started).toEqual([0, 1, 2]);
      bench.pool.release(40);
      await turns(1);
      expect(bench.started).toEqual([0, 1, 2, 3]);
      bench.pool.release(500);
      await turns(1);
      expect(bench.started).toEqual([0, 1, 2, 3, 4, 5]);
    },
  );

  it('holds starts back while there is no room for records', async () => {
    let open: () => void = () => {};
    let full = true;
    const room = (): Promise<void> | undefined =>
      full
        ? new Promise<void>((resolve) => {
            open = resolve;
          })
        : undefined;
    const bench = poolOf(3, { room });
    void bench.pool.run();
    await turns(2);
    expect(bench.started).toEqual([]);
    full = false;
    open();
    await turns(1);
    expect(bench.started).toEqual([0, 1, 2]);
  });

  verifies(
    'SUSPEND-READMIT-1',
    'a parked item that was woken starts before any other, past the limit of parked ones',
    async () => {
      const woken: number[] = [];
      const rests: boolean[] = [];
      let next = 0;
      const bench = poolOf(0, {
        limit: 2,
        maxParked: 2,
        take: () => woken.shift() ?? (next < 6 ? next++ : undefined),
        rest: (resting) => void rests.push(resting),
      });
      const end = bench.pool.run();
      for (let parked = 0; parked < 2; parked++) {
        await turns(1);
        bench.pool.park(1);
      }
      await turns(1);
      expect([bench.started, rests]).toEqual([[0, 1, 2], []]);
      bench.pool.park(1);
      await turns(1);
      expect([bench.started, rests]).toEqual([[0, 1, 2], [true]]);
      woken.push(1);
      bench.pool.woke();
      await turns(1);
      expect([bench.started, rests]).toEqual([
        [0, 1, 2, 1],
        [true, false],
      ]);
      woken.push(0, 2);
      bench.pool.woke();
      bench.pool.woke();
      await turns(1);
      expect(bench.started).toEqual([0, 1, 2, 1, 0, 2]);
      for (let left = 0; left < 6; left++) {
        bench.pool.release(1);
        await turns(1);
      }
      expect(await end).toBe('drained');
      expect(bench.started.toSorted()).toEqual([0, 0, 1, 1, 2, 2, 3, 4, 5]);
    },
  );

  it('rejects with the error that stops it while the end of its source is awaited', async () => {
    let end: (more: boolean) => void = () => {};
    const bench = poolOf(0, {
      fill: () =>
        new Promise<boolean>((resolve) => {
          end = resolve;
        }),
    });
    const run = bench.pool.run();
    await turns(1);
    bench.pool.stop(new Error('a row failed'));
    end(false);
    await expect(run).rejects.toThrow('a row failed');
  });

  verifies('SUSPEND-ROW-1', 'a parked item frees its slot, and too many of them stop further starts', async () => {
    const bench = poolOf(10, { limit: 2, maxParked: 3 });
    const end = bench.pool.run();
    for (let parked = 0; parked < 3; parked++) {
      await turns(1);
      bench.pool.park(1);
    }
    await turns(1);
    expect(bench.started).toEqual([0, 1, 2, 3]);
    bench.pool.release(1);
    expect(await end).toBe('parked');
    expect(bench.started).toHaveLength(4);
  });

  it('ends stopped once nothing may start, and rejects with the first error that stops it', async () => {
    let may = true;
    const bench = poolOf(10, { limit: 2, mayStart: () => may });
    const end = bench.pool.run();
    await turns(1);
    may = false;
    bench.pool.release(1);
    expect(await end).toBe('stopped');
    expect(bench.started).toEqual([0, 1]);
    const failing = poolOf(10, { limit: 2 });
    const failed = failing.pool.run();
    await turns(1);
    failing.pool.stop(new Error('first'));
    failing.pool.stop(new Error('second'));
    await expect(failed).rejects.toThrow('first');
    const emptied = poolOf(1);
    const last = emptied.pool.run();
    await turns(1);
    emptied.pool.stop(new Error('while the last is in flight'));
    await expect(last).rejects.toThrow('while the last');
  });

  it('gives the event loop its turns though every item ends at once', async () => {
    let ticks = 0;
    const bench: Bench = poolOf(2000, {
      start: () => bench.pool.release(1),
    });
    let running = true;
    const tick = (): void => {
      ticks++;
      if (running) setImmediate(tick);
    };
    setImmediate(tick);
    await bench.pool.run();
    running = false;
    expect(ticks).toBeGreaterThanOrEqual(7);
  });

  verifies('BATCH-POOL-1', 'grows while it runs, never beyond its bytes, and never shrinks', async () => {
    const bench = poolOf(20, { limit: 2, maxBytes: 6 });
    void bench.pool.run();
    await turns(3);
    expect(bench.started).toHaveLength(2);
    bench.pool.grow(4);
    await turns(3);
    expect(bench.started).toHaveLength(4);
    bench.pool.grow(3);
    bench.pool.grow(100);
    await turns(3);
    expect(bench.started).toHaveLength(6);
  });

  verifies(
    'BATCH-GATHER-1',
    'tells when nothing can start before a row ends, and when something may again',
    async () => {
      const told: number[] = [];
      const bench = poolOf(5, { limit: 2, stuck: (inFlight) => told.push(inFlight) });
      const end = bench.pool.run();
      await turns(3);
      expect(told).toEqual([2]);
      bench.pool.grow(3);
      // At once: what is asked in this very turn must not take the pool for full.
      expect(told).toEqual([2, 0]);
      await turns(3);
      expect(told).toEqual([2, 0, 3]);
      for (let row = 0; row < 4; row++) {
        bench.pool.release(1);
        await turns(3);
      }
      // At the end of its rows it is stuck with those that are left.
      expect(told.slice(3)).toEqual([0, 3, 0, 3, 0, 2, 0, 1]);
      bench.pool.release(1);
      expect(await end).toBe('drained');
    },
  );
});
