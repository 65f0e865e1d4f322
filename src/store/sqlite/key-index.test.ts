import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { digest, systemClock } from '../../scope/index.ts';
import { bought, newReceipt } from '../conformance/samples.ts';
import type { Store, Unit } from '../port.ts';
import { Database } from './driver.ts';
import { openSqliteStore } from './open.ts';

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'callsheet-keys-'));
  path = join(folder, 'state.db');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (largestLot: number): Promise<Store> =>
  openSqliteStore({ path, clock: systemClock, release: '1.0.0', largestLot });

const units = (names: readonly string[]): Unit[] =>
  names.map((name) => [{ kind: 'receipt', receipt: newReceipt(name) }]);

const names = (first: number, count: number): string[] => Array.from({ length: count }, (_, at) => `key ${first + at}`);

async function found(store: Store, of: readonly string[]): Promise<number> {
  const receipts = await store.calls.receiptsByKeys(of.map((name) => ({ key: digest(name), notBefore: undefined })));
  return receipts.filter((receipt) => receipt !== undefined).length;
}

function inDatabase(): { merged: number; watermark: number } {
  const db = new Database(path);
  const merged = db.get<{ count: number }>('SELECT count(*) AS count FROM receipt_keys')?.count ?? 0;
  const watermark = db.get<{ value: number }>("SELECT value FROM meta WHERE name = 'keys_merged_to'")?.value ?? 0;
  db.close();
  return { merged, watermark };
}

it('merges keys in slices with the commits that follow, and finds them all the while', async () => {
  const store = await open(300);
  const all = names(0, 1_500);
  for (let first = 0; first < all.length; first += 50) {
    await store.commit(units(all.slice(first, first + 50)));
    expect(await found(store, all.slice(0, first + 50))).toBe(first + 50);
  }
  const { merged, watermark } = inDatabase();
  expect(merged).toBeGreaterThan(900);
  expect(watermark).toBeGreaterThanOrEqual(900);
  expect(watermark).toBeLessThan(1_500);
  await store.close();
});

it('finds the keys of a lot that was half merged when the process ended', async () => {
  const store = await open(300);
  await store.commit(units(names(0, 300)));
  await store.commit(units(names(300, 30)));
  expect(inDatabase()).toMatchObject({ watermark: 0 });
  expect(inDatabase().merged).toBeGreaterThan(0);
  await store.close();
  const again = await open(300);
  expect(await found(again, names(0, 330))).toBe(330);
  for (let turn = 0; turn < 10; turn++) await again.commit(units(names(330 + turn * 50, 50)));
  expect(await found(again, names(0, 830))).toBe(830);
  expect(inDatabase().watermark).toBeGreaterThanOrEqual(300);
  await again.close();
});

it('takes in thousands of receipts of another process in pieces', async () => {
  const [store, other] = [await open(1e6), await open(1e6)];
  await store.commit(units(names(0, 5_000)));
  await store.commit(units(names(5_000, 7_001)));
  expect(await found(other, names(0, 12_001))).toBe(12_001);
  expect(await bought(other, newReceipt('next'))).toBe(12_002);
  await Promise.all([store.close(), other.close()]);
});

it('finds every receipt whatever handles write, merge, fail and reopen', async () => {
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ do: fc.constant('write' as const), by: fc.nat(2), count: fc.integer({ min: 1, max: 9 }) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('fail' as const), by: fc.nat(2) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('reopen' as const), by: fc.nat(2) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('look' as const), by: fc.nat(2) }) },
  );
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      path = join(folder, `${run++}.db`);
      const handles = [await open(5), await open(8), await open(1_000)];
      let written = 0;
      for (const { by, ...what } of steps) {
        const handle = handles[by];
        if (handle === undefined) continue;
        if (what.do === 'write') {
          const outcomes = await handle.commit(units(names(written, what.count)));
          expect(outcomes.every((outcome) => outcome.ok)).toBe(true);
          written += what.count;
        } else if (what.do === 'fail')
          await handle.commit([[...units(['lost']).flat(), { kind: 'cancel', runId: 'nobody' }], ...units(['kept'])]);
        else if (what.do === 'look') expect(await found(handle, names(0, written + 3))).toBe(written);
        else {
          await handle.close();
          handles[by] = await open(3 + by);
        }
      }
      for (const handle of handles) {
        expect(await found(handle, names(0, written + 3))).toBe(written);
        expect(await found(handle, ['lost'])).toBe(0);
        await handle.close();
      }
    }),
    { numRuns: 25 },
  );
}, 60_000);

it('finds every key that was merged before it was opened, also after many look-ups in vain', async () => {
  const before = await open(300);
  for (let first = 0; first < 1_500; first += 50) await before.commit(units(names(first, 50)));
  await before.close();
  const store = await open(300);
  expect(await found(store, names(2_000, 1_200))).toBe(0);
  expect(await found(store, names(0, 1_500))).toBe(1_500);
  expect(await found(store, names(2_000, 1_200))).toBe(0);
  await store.commit(units(names(2_000, 50)));
  expect(await found(store, names(0, 2_050))).toBe(1_550);
  await store.close();
});

it('finds what another process merges while this one believes to know the whole table', async () => {
  const [one, other] = [await open(300), await open(300)];
  await one.commit(units(names(0, 50)));
  expect(await found(one, names(0, 100))).toBe(50);
  for (let first = 100; first < 1_600; first += 50) await other.commit(units(names(first, 50)));
  expect(inDatabase().watermark).toBeGreaterThan(300);
  expect(await found(one, names(0, 1_600))).toBe(1_550);
  await one.close();
  await other.close();
});
