import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { VirtualClock } from '../../scope/index.ts';
import { Database } from './driver.ts';
import type { SlotChange, SlotQuery, SlotView } from './rate-slots.ts';
import { openRates, type Rates } from './rates.ts';
import type { RatesOptions } from './rates-file.ts';

let folder: string;
let path: string;
let clock: VirtualClock;
const opened: Rates[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'callsheet-rates-'));
  path = join(folder, 'rates.db');
  clock = new VirtualClock();
});
afterEach(() => {
  for (const rates of opened.splice(0)) rates.close();
  rmSync(folder, { recursive: true, force: true });
});

const BOOT = { id: 'first', at: 1_000 };

function open(more: Partial<RatesOptions> = {}): Rates {
  const rates = openRates({ path, clock, session: 'one', isGone: () => false, boot: BOOT, ...more });
  opened.push(rates);
  return rates;
}

function query(more: Partial<SlotQuery> = {}): SlotQuery {
  const now = clock.now();
  return {
    name: 'limit',
    asker: 'one',
    since: now - 1_000,
    calls: 3,
    leaving: 3,
    now,
    leavesBy: now - 1_000,
    latest: now + 2_000,
    ...more,
  };
}

/** What the log says, after these slots were granted. */
async function view(rates: Rates, more: Partial<SlotQuery> = {}, change: Partial<SlotChange<SlotView>> = {}) {
  return rates.slots.change(query(more), (result) => ({ slots: [], unserved: null, ...change, result }));
}

describe('slots in rates.db', () => {
  verifies('PACE-SHARED-3', 'say what each asker will still hold, and how much it wanted', async () => {
    const now = clock.now();
    const rates = open();
    await view(rates, {}, { slots: [now + 1, now + 1, now + 50] });
    await view(rates, { asker: 'two' }, { slots: [now, now + 2, now + 3], unserved: { at: now + 4, unmet: 7 } });
    await view(rates, { name: 'other' }, { slots: [now + 3] });
    const two = { asker: 'two', at: now + 4, unmet: 7 };
    expect(await view(rates)).toMatchObject({ stays: 3, unserved: [{ ...two, stays: 3 }] });
    expect(await view(rates, { leavesBy: now + 2 })).toMatchObject({ stays: 1, unserved: [{ ...two, stays: 1 }] });
    expect(await view(rates, { asker: 'three' })).toMatchObject({ stays: 0, unserved: [two] });
  });

  it('are seen by all who open it, kept by a close and by an end without one', async () => {
    const now = clock.now();
    await view(open(), {}, { slots: [now, now, now + 50] });
    const other = await view(open({ session: 'two' }), { asker: 'two', calls: 2 });
    expect(other).toEqual({
      held: 3,
      stays: 0,
      leaving: [now, now + 50],
      newest: now + 50,
      unserved: [],
      lostAt: undefined,
    });
    for (const rates of opened.splice(0)) rates.close();
    expect(await view(open())).toMatchObject({ held: 3, stays: 3 });
  });

  it('go when they count no more, with the shares of those who got them', async () => {
    const rates = open();
    const now = clock.now();
    await view(rates, {}, { slots: [now - 10, now - 10, now] });
    await view(rates, { asker: 'two' }, { slots: [now - 10], unserved: { at: now - 10, unmet: 7 } });
    expect(await view(rates, { since: now - 10 })).toMatchObject({ held: 1, stays: 1, leaving: [now] });
    expect(await view(rates, { since: now + 3_600_000 })).toMatchObject({ held: 0, stays: 0, unserved: [] });
    rates.close();
    const db = new Database(path);
    expect(db.all('SELECT * FROM slots')).toEqual([]);
    db.close();
  });

  it('that were used later count from then on', async () => {
    const rates = open();
    const now = clock.now();
    await view(rates, {}, { slots: [now, now, now + 5] });
    await rates.slots.move([
      { name: 'limit', asker: 'one', from: now, to: now + 9 },
      { name: 'limit', asker: 'two', from: now, to: now + 9 },
      { name: 'limit', asker: 'one', from: now + 1, to: now + 9 },
    ]);
    expect(await view(rates)).toMatchObject({ held: 3, leaving: [now, now + 5, now + 9] });
    await rates.slots.move([{ name: 'limit', asker: 'one', from: now, to: now + 9 }]);
    expect(await view(rates)).toMatchObject({ held: 3, leaving: [now + 5, now + 9, now + 9] });
  });

  verifies('PACE-LONG-1', 'that were not used count no more, nor does the share of who got them', async () => {
    const rates = open();
    const now = clock.now();
    await view(rates, {}, { slots: [now, now, now + 5] });
    await rates.slots.move([
      { name: 'limit', asker: 'one', from: now, to: null },
      { name: 'limit', asker: 'one', from: now + 5, to: null },
      { name: 'limit', asker: 'one', from: now + 6, to: null },
    ]);
    expect(await view(rates)).toMatchObject({ held: 1, stays: 1, leaving: [now] });
  });

  it('does what is last before it is closed, and nothing in a file that was never opened', async () => {
    const [one, two] = [open(), open({ session: 'two' })];
    const now = clock.now();
    await view(one, {}, { slots: [now] });
    one.close(() => void one.slots.move([{ name: 'limit', asker: 'one', from: now, to: null }]));
    expect(await view(two, { asker: 'two' })).toMatchObject({ held: 0 });
    open({ session: 'three' }).close(() => expect.unreachable());
  });

  it('say who got less than it wanted, until it gets all or has ended', async () => {
    const now = clock.now();
    const [one, two] = [open(), open({ session: 'two' })];
    await view(two, { asker: 'two' }, { unserved: { at: now, unmet: 2 } });
    expect((await view(one)).unserved).toEqual([{ asker: 'two', at: now, unmet: 2, stays: 0 }]);
    two.close();
    expect((await view(one)).unserved).toEqual([]);
  });

  it('of a clock that was set back since count as of now', async () => {
    const rates = open();
    const now = clock.now();
    await view(rates, {}, { slots: [now, now + 3_600_000, now + 3_600_000] });
    expect(await view(rates)).toMatchObject({ held: 3, leaving: [now, now, now], newest: now });
  });

  it('wait from the clock for the lock of another process, and say so after ten seconds', async () => {
    const rates = open();
    await view(rates);
    const other = new Database(path);
    other.begin();
    const late = view(rates, {}, { slots: [1] });
    await clock.advance(500);
    other.rollback();
    await clock.advance(100);
    expect(await late).toMatchObject({ held: 0 });
    other.begin();
    const never = view(rates).catch((error) => error);
    await clock.advance(11_000);
    expect(await never).toMatchObject({ code: 'STORE_HELD' });
    other.close();
  });
});

describe('a rates.db', () => {
  verifies('PACE-LOST-1', 'that the machine took with it counts as used until the machine was started', async () => {
    const first = open();
    await view(first, {}, { slots: [clock.now()] });
    const again = { id: 'second', at: clock.now() + 5_000 };
    const after = open({ session: 'two', boot: again, isGone: () => true });
    expect((await view(after)).lostAt).toBe(again.at);
    expect((await view(open({ session: 'three', boot: again }))).lostAt).toBe(again.at);
  });

  verifies(
    'PACE-LOST-1',
    'is whole after a kill, and after a machine that was stopped once all had closed it',
    async () => {
      await view(open(), {}, { slots: [clock.now()] });
      const killed = open({ session: 'two', isGone: (session) => session === 'one' });
      expect(await view(killed)).toMatchObject({ held: 1, lostAt: undefined });
      killed.close();
      const after = open({ session: 'three', boot: { id: 'second', at: clock.now() } });
      expect(await view(after)).toMatchObject({ held: 1, lostAt: undefined });
    },
  );

  it('is not clean while another still has it open', async () => {
    const [one, two] = [open(), open({ session: 'two' })];
    await view(one);
    await view(two, {}, { slots: [clock.now()] });
    one.close();
    const boot = { id: 'second', at: clock.now() };
    expect((await view(open({ session: 'three', boot }))).lostAt).toBe(boot.at);
  });

  verifies(
    'PACE-LOST-1',
    'that is damaged is put aside and stops nobody: all may have been used until now',
    async () => {
      for (const damage of [
        () => writeFileSync(path, 'no database at all, and long enough to be read as one'.repeat(100)),
        () => mkdirSync(path),
        () => {
          const db = new Database(path);
          db.exec("CREATE TABLE meta (name TEXT PRIMARY KEY, value); INSERT INTO meta VALUES ('format', 99)");
          db.close();
        },
      ]) {
        damage();
        const rates = open();
        expect(await view(rates, {}, { slots: [clock.now()] })).toMatchObject({ held: 0, lostAt: clock.now() });
        expect(existsSync(`${path}.damaged`)).toBe(true);
        rates.close();
        const next = open();
        expect(await view(next)).toMatchObject({ held: 1, lostAt: clock.now() });
        next.close();
        for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
      }
    },
  );

  it('that is damaged while it is open is remade once, by whoever sees it first', async () => {
    const [one, two] = [open(), open({ session: 'two' })];
    await view(one, {}, { slots: [clock.now()] });
    await view(two);
    const db = new Database(path);
    db.exec('DROP TABLE slots');
    db.close();
    expect(await view(one, {}, { slots: [clock.now()] })).toMatchObject({ held: 0, lostAt: clock.now() });
    expect(await view(two, { asker: 'two' })).toMatchObject({ held: 1, lostAt: clock.now() });
  });

  it('that cannot be made at all is kept in memory', async () => {
    writeFileSync(join(folder, 'file'), '');
    const rates = open({ path: join(folder, 'file', 'rates.db') });
    await view(rates, {}, { slots: [clock.now()] });
    expect(await view(rates)).toMatchObject({ held: 1, lostAt: clock.now() });
  });

  it('that is closed takes nothing more', async () => {
    const rates = open();
    await view(rates);
    rates.close();
    await expect(view(rates)).rejects.toMatchObject({ code: 'STORE_FAILED' });
  });
});

/** What is due in `rates.db` is made by its end. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('gates in rates.db', () => {
  verifies(['PACE-GATE-2', 'PACE-GATE-3'], 'keep the latest instant of each account, until it is past', async () => {
    const now = clock.now();
    const [one, two] = [open(), open({ session: 'two' })];
    const closing = (after: number, at = now) => ({ at, until: at + after });
    expect(await one.gates.closing('acme')).toBe(undefined);
    expect(await two.gates.closing('acme')).toBe(undefined);
    for (const after of [500, 900, 700]) one.gates.closed('acme', closing(after));
    one.gates.closed('other', closing(2_000));
    await turn();
    two.gates.closed('acme', closing(800));
    await turn();
    for (const { gates } of [one, two]) expect(gates.closing('acme')).toEqual(closing(900));
    await clock.advance(900);
    const next = open({ session: 'three' });
    expect(await next.gates.closing('acme')).toBe(undefined);
    expect(next.gates.closing('other')).toEqual(closing(2_000));
    // The clock was set back.
    next.gates.closed('other', closing(10, now - 5_000));
    await turn();
    expect(next.gates.closing('other')).toEqual(closing(10, now - 5_000));
  });

  it('are read while another process has the lock, and of a file of an earlier build there are none', async () => {
    await view(open());
    for (const rates of opened.splice(0)) rates.close();
    const db = new Database(path);
    db.exec('DROP TABLE gates');
    const rates = open();
    expect(await rates.gates.closing('acme')).toBe(undefined);
    const closing = { at: clock.now(), until: clock.now() + 500 };
    rates.gates.closed('acme', closing);
    await turn();
    db.begin();
    expect(rates.gates.closing('acme')).toEqual(closing);
    db.close();
  });
});

describe('accounts that were reached', () => {
  verifies('BREAKER-PROVIDER-3', 'are known to other processes and to later ones', async () => {
    const one = open();
    expect([await one.reached.wasReached('acme'), one.reached.wasReached('acme')]).toEqual([false, false]);
    one.reached.reached('acme');
    one.reached.reached('acme');
    await turn();
    expect([await open({ session: 'two' }).reached.wasReached('acme'), one.reached.wasReached('other')]).toEqual([
      true,
      false,
    ]);
  });
});

describe('a ledger in rates.db', () => {
  const DAY = 86_400_000;
  const day = (): string => new Date(clock.now()).toISOString().slice(0, 10);
  const ledgerOf = async (rates: Rates, settled = 0, limit = 100) => {
    const ledger = rates.ledger('day', { limit, period: day, settled: async () => settled });
    await ledger.ready();
    return ledger;
  };

  verifies('BUDGET-DAY-1', 'is what all who open it may spend together', async () => {
    const [one, two] = [await ledgerOf(open()), await ledgerOf(open({ session: 'two' }))];
    expect([one.reserve(60), two.reserve(50), two.reserve(40)]).toEqual(['reserved', 'full', 'reserved']);
    one.settle(60, 30);
    await turn();
    expect([two.reserve(31), two.reserve(30)]).toEqual(['full', 'reserved']);
    two.settle(70, 70);
    await turn();
    expect([one.reserve(1), one.state()]).toEqual(['never', { settled: 100, reserved: 0, left: 0 }]);
  });

  verifies('BUDGET-DAY-1', 'begins again at midnight, with what is still on its way', async () => {
    const [one, two] = [await ledgerOf(open()), await ledgerOf(open({ session: 'two' }))];
    one.reserve(40);
    one.settle(40, 40);
    one.reserve(60);
    await clock.advance(DAY);
    expect([two.reserve(41), two.reserve(40), two.state()]).toEqual([
      'full',
      'reserved',
      { settled: 0, reserved: 100, left: 0 },
    ]);
    one.settle(60, 50);
    await turn();
    expect(one.state()).toMatchObject({ settled: 50, reserved: 40 });
    await clock.advance(-DAY);
    two.settle(40, 1);
    await turn();
    expect(two.state()).toMatchObject({ settled: 51, reserved: 0 });
  });

  verifies(
    'BUDGET-DAY-1',
    'takes what the journal says where that is more, and gives up what the dead held',
    async () => {
      const gone = new Set<string>();
      const isGone = (session: string): boolean => gone.has(session);
      let journal = 10;
      const dead = await ledgerOf(open({ isGone }));
      expect(dead.reserve(50)).toBe('reserved');
      const ledger = open({ session: 'two', isGone }).ledger('day', {
        limit: 100,
        period: day,
        settled: async () => journal,
      });
      await ledger.ready();
      expect([ledger.reserve(45), ledger.state()]).toEqual(['full', { settled: 10, reserved: 50, left: 0 }]);
      gone.add('one');
      journal = 30;
      expect(ledger.reserve(45)).toBe('busy');
      await ledger.ready();
      expect([ledger.reserve(71), ledger.reserve(70)]).toEqual(['never', 'reserved']);
    },
  );

  it('is busy while another process has the lock, and settles once that is gone', async () => {
    const [one, two] = [await ledgerOf(open()), await ledgerOf(open({ session: 'two' }))];
    one.reserve(60);
    const other = new Database(path);
    other.begin();
    one.settle(60, 20);
    expect([one.reserve(10), two.reserve(10)]).toEqual(['busy', 'busy']);
    await clock.advance(100);
    other.close();
    expect(two.reserve(50)).toBe('full');
    await clock.advance(100);
    expect([two.reserve(81), two.reserve(80)]).toEqual(['never', 'reserved']);
  });

  it('enters what it knows again in a file that was remade', async () => {
    const rates = open();
    const one = await ledgerOf(rates);
    one.reserve(90);
    one.settle(60, 40);
    const db = new Database(path);
    db.exec('DROP TABLE reservations');
    db.close();
    expect(one.reserve(1)).toBe('busy');
    await one.ready();
    expect(one.state()).toMatchObject({ settled: 40, reserved: 30 });
    expect([one.reserve(31), one.reserve(30)]).toEqual(['full', 'reserved']);
  });
});
