import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PlaceState } from '../../src/governor/index.ts';
import { accountWith, governorOn, requestTo } from '../../src/governor/simulation.test-support.ts';
import { VirtualClock } from '../../src/scope/index.ts';
import { startCli } from '../e2e/harness/cli.ts';
import { folder } from '../e2e/harness/folders.ts';
import { Provider, processOn, work } from '../harness/places.ts';
import { ratesIn } from '../harness/rates.ts';
import { testFolder } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

describe('a declared concurrency of processes on one workspace', () => {
  verifies(
    ['PACE-SHARED-2', 'PACE-CONCURRENCY-1'],
    'is kept together, shared equally, and used',
    async () => {
      const dir = testFolder();
      const clock = new VirtualClock();
      const provider = new Provider(clock);
      for (const process of ['a', 'b', 'c']) {
        const governor = processOn(dir, clock, process);
        void work(provider, process, governor, { concurrency: 10, calls: 1e6, pool: 64, latencyMs: 20 });
        await clock.advance(500);
      }
      const before = ['a', 'b', 'c'].map((process) => provider.done(process));
      await clock.advance(5_000);
      const done = ['a', 'b', 'c'].map((process, index) => provider.done(process) - (before[index] ?? 0));
      expect(provider.most).toBeLessThanOrEqual(10);
      const all = done.reduce((sum, count) => sum + count, 0);
      expect(all).toBeGreaterThanOrEqual(0.95 * 10 * 250);
      for (const count of done) expect(Math.abs(count / all - 1 / 3)).toBeLessThan(0.05);
    },
    30_000,
  );

  verifies(
    'PACE-SHARED-2',
    'gives a small run its share within tens of milliseconds beside a huge one of another process',
    async () => {
      const dir = testFolder();
      const clock = new VirtualClock();
      const provider = new Provider(clock);
      const huge = { concurrency: 10, calls: 1e6, pool: 256, latencyMs: 10 };
      void work(provider, 'huge', processOn(dir, clock, 'huge'), huge);
      await clock.advance(1_000);
      const began = clock.monotonic();
      const small = work(provider, 'small', processOn(dir, clock, 'small'), { ...huge, calls: 50 });
      await clock.advance(60);
      expect(provider.of('small')).toBe(5);
      await clock.advance(1_000);
      // 50 calls of 10 ms, 5 at once.
      expect((await small) - began).toBeLessThan(180);
      await clock.advance(600);
      expect(provider.of('huge')).toBe(10);
      expect(provider.most).toBe(10);
    },
    30_000,
  );

  verifies(
    'PACE-SHARED-2',
    'is used in turns where there are fewer places than processes',
    async () => {
      const dir = testFolder();
      const clock = new VirtualClock();
      const provider = new Provider(clock);
      const names = ['a', 'b', 'c'];
      for (const process of names)
        void work(provider, process, processOn(dir, clock, process), { concurrency: 2, calls: 1e6, pool: 8 });
      await clock.advance(6_000);
      expect(provider.most).toBe(2);
      const done = names.map((process) => provider.done(process));
      const all = done.reduce((sum, count) => sum + count, 0);
      expect(all).toBeGreaterThan(0.88 * 2 * 1_200);
      for (const count of done) expect(Math.abs(count / all - 1 / 3)).toBeLessThan(0.1);
    },
    30_000,
  );

  verifies(
    'PACE-SHARED-2',
    'is kept whatever processes do and whenever they come, and none starves',
    async () => {
      const part = fc.record({
        after: fc.integer({ min: 0, max: 150 }),
        calls: fc.integer({ min: 1, max: 40 }),
        pool: fc.integer({ min: 1, max: 12 }),
        latencyMs: fc.integer({ min: 1, max: 130 }),
        dies: fc.boolean(),
      });
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 7 }),
          fc.array(part, { minLength: 2, maxLength: 5 }),
          async (concurrency, parts) => {
            const dir = testFolder();
            const clock = new VirtualClock();
            const gone = new Set<string>();
            const provider = new Provider(clock, gone);
            const ends: Promise<unknown>[] = [];
            for (const [index, { after, dies, ...one }] of parts.entries()) {
              const process = `p${index}`;
              const end = work(provider, process, processOn(dir, clock, process, gone), { ...one, concurrency });
              if (!dies) ends.push(end);
              await clock.advance(after);
              if (dies) gone.add(process);
            }
            await clock.advance(60_000);
            await Promise.all(ends);
            expect(provider.most).toBeLessThanOrEqual(concurrency);
            if (gone.size === 0) expect(clock.pending()).toEqual([]);
          },
        ),
        { numRuns: 25 },
      );
    },
    60_000,
  );
});

describe('a shared concurrency whose state is lost', () => {
  verifies('PACE-SHARED-2', 'is kept: all enter again what they hold before anybody takes more', async () => {
    const dir = testFolder();
    const clock = new VirtualClock();
    const provider = new Provider(clock);
    for (const process of ['a', 'b'])
      void work(provider, process, processOn(dir, clock, process), { concurrency: 10, calls: 1e6, pool: 64 });
    await clock.advance(500);
    const db = new DatabaseSync(join(dir, 'rates.db'));
    db.exec('DROP TABLE places');
    db.close();
    await clock.advance(30);
    void work(provider, 'c', processOn(dir, clock, 'c'), { concurrency: 10, calls: 1e6, pool: 64 });
    await clock.advance(2_000);
    expect(provider.most).toBe(10);
    expect(provider.done('c')).toBeGreaterThan(300);
  });

  it('that says nothing makes calls fail with its error, and works again once it does', async () => {
    const dir = testFolder();
    const clock = new VirtualClock();
    const { places } = ratesIn(dir, clock, 'one');
    let full: Error | undefined = new Error('the disk is full');
    const change: PlaceState['change'] = (account, decide) => {
      if (full !== undefined) throw full;
      return places.change(account, decide);
    };
    const governor = governorOn(clock, { placeState: { change } });
    const account = accountWith({ concurrency: 2 });
    const first = Promise.resolve(governor.permit(requestTo(account))).catch((error: unknown) => error);
    await clock.advance(1_100);
    expect(await first).toBe(full);
    full = undefined;
    const next = Promise.resolve(governor.permit(requestTo(account)));
    await clock.advance(1_100);
    (await next).dispatched();
    // What cannot be given back is given up, and no timer goes on with it.
    full = new Error('closed');
    (await next).release();
    await clock.advance(1_100);
    expect(clock.pending()).toEqual([]);
  });
});

describe('what sharing costs', () => {
  verifies(
    'PACE-SHARED-2',
    'is a look now and then where a process is alone, not a transaction for each call',
    async () => {
      const dir = testFolder();
      const clock = new VirtualClock();
      const { places } = ratesIn(dir, clock, 'one');
      let changes = 0;
      const change: PlaceState['change'] = (account, decide) => {
        changes++;
        return places.change(account, decide);
      };
      const provider = new Provider(clock);
      const governor = governorOn(clock, { placeState: { change } });
      void work(provider, 'one', governor, { concurrency: 64, calls: 1e6, pool: 64, latencyMs: 2 });
      await clock.advance(1_000);
      expect(provider.inFlight).toBe(64);
      expect(provider.done('one')).toBeGreaterThan(25_000);
      expect(changes).toBeLessThan(65);
    },
  );

  it('is no waiting where places are free: calls that come one by one go out at once', async () => {
    const clock = new VirtualClock();
    const governor = processOn(testFolder(), clock, 'one');
    const account = accountWith({ concurrency: 10 });
    void governor.permit(requestTo(account));
    await clock.advance(1);
    for (let call = 1; call < 10; call++) expect(governor.permit(requestTo(account))).not.toBeInstanceOf(Promise);
    expect(governor.permit(requestTo(account))).toBeInstanceOf(Promise);
  });

  it('is no timer once nothing waits and all is given back', async () => {
    const dir = testFolder();
    const clock = new VirtualClock();
    const provider = new Provider(clock);
    const governor = processOn(dir, clock, 'one');
    void work(provider, 'one', governor, { concurrency: 4, calls: 8, pool: 8 });
    await clock.advance(200);
    expect(provider.done('one')).toBe(8);
    expect(clock.pending()).toEqual([]);
    const other = processOn(dir, clock, 'other');
    void work(provider, 'other', other, { concurrency: 4, calls: 100, pool: 8, latencyMs: 50 });
    await clock.advance(10);
    expect(provider.of('other')).toBe(4);
  });
});

const PLAY = `import { definePlay } from 'callsheet';
export default definePlay('few', async (ctx, input) => {
  const rows = Array.from({ length: 40 }, (_, n) => ({ n: input.from + n }));
  return ctx.dataset('rows', rows, { key: 'n' })
    .withColumn('v', async (row, ctx) => (await ctx.tools.execute({ id: 'x', tool: 'acme.slow', input: { n: row.n } })).data)
    .run();
});`;
const TOOL = `import { appendFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { defineTool } from 'callsheet';
export const slow = defineTool({
  id: 'acme.slow', effect: 'read', input: { type: 'object' }, limits: { concurrency: 4 },
  run: async ({ n }) => {
    const from = performance.timeOrigin + performance.now();
    await setTimeout(100);
    appendFileSync('calls.txt', n + ' ' + from + ' ' + (performance.timeOrigin + performance.now()) + '\\n');
    return n;
  },
});`;

/** The most of these spans of time that hold one instant together. */
function mostAtOnce(spans: readonly (readonly [number, number])[]): number {
  return Math.max(...spans.map(([at]) => spans.filter(([from, to]) => from <= at && at < to).length));
}

describe('two command lines on one workspace', () => {
  verifies(
    'PACE-SHARED-2',
    'have no more in flight together than is declared, and both go on',
    async () => {
      const dir = folder({ 'callsheet.config.json': '{}', 'few.play.ts': PLAY, 'tools/slow.ts': TOOL });
      const run = (from: number) =>
        startCli(dir, ['run', 'few.play.ts', '--input', JSON.stringify({ from }), '--yes', '--json']).ended;
      const ended = await Promise.all([run(0), run(1_000)]);
      expect(ended.map(({ exit }) => exit)).toEqual([0, 0]);
      const lines = readFileSync(join(dir, 'calls.txt'), 'utf8').trim().split('\n');
      const calls = lines.map((line) => line.split(' ').map(Number));
      expect(new Set(calls.map(([n]) => n)).size).toBe(80);
      expect(mostAtOnce(calls.map(([, from = 0, to = 0]) => [from, to]))).toBe(4);
    },
    60_000,
  );
});
