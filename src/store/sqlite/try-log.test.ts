import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { VirtualClock } from '../../scope/index.ts';
import { Database } from './driver.ts';
import { openRates, type Rates } from './rates.ts';
import type { RatesOptions } from './rates-file.ts';
import { leftTries } from './try-log.ts';

function setUp() {
  const folder = mkdtempSync(join(tmpdir(), 'callsheet-tries-'));
  const path = join(folder, 'rates.db');
  const clock = new VirtualClock();
  const opened: Rates[] = [];
  onTestFinished(() => {
    for (const rates of opened) rates.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const open = (more: Partial<RatesOptions> = {}): Rates => {
    const boot = { id: 'first', at: 1_000 };
    const rates = openRates({ path, clock, session: 'one', isGone: () => false, boot, ...more });
    opened.push(rates);
    return rates;
  };
  const period = (): string => new Date(clock.now()).toISOString().slice(0, 10);
  const ledgerOf = async (rates: Rates, name: string) => {
    const ledger = rates.ledger(name, { limit: 10e6, period, settled: async () => 0 });
    await ledger.ready();
    return ledger;
  };
  return { folder, path, clock, open, ledgerOf };
}

describe('tries in rates.db', () => {
  const RUN = { id: 'run_1', rootId: 'run_0' };
  const tryOf = (callId: string, more: object = {}) => ({
    ...{ callId, place: { datasetNo: 1, ordinal: 2 }, tool: 'acme.find', credits: 1.5 },
    ...more,
  });

  verifies('BUDGET-LEFT-1', 'are there for whoever looks, until their ends are known', async () => {
    const { folder, path, open } = setUp();
    const rates = open();
    await rates.tries.sent(RUN, [tryOf('a'), tryOf('b')], 'key');
    await rates.tries.sent(RUN, [tryOf('c')], undefined);
    expect(leftTries(path, RUN.id)).toEqual(
      ['a', 'b', 'c'].map((id) => ({
        ...tryOf(id),
        ...{ operationKey: id === 'c' ? undefined : 'key', lost: 0, lostBefore: 0, isOfDay: true },
      })),
    );
    await rates.tries.ended(RUN.id, ['a', 'c'], 'lost');
    await rates.tries.ended(RUN.id, ['b'], 'known');
    expect(leftTries(path, RUN.id)).toMatchObject([
      { callId: 'a', credits: 0, lost: 1.5 },
      { callId: 'c', credits: 0, lost: 1.5 },
    ]);
    rates.tries.again(RUN.id, 'a');
    await rates.tries.sent(RUN, [tryOf('a')], 'key');
    await rates.tries.sent(RUN, [tryOf('c', { credits: 2 })], undefined);
    await rates.tries.ended(RUN.id, ['a', 'c'], 'known');
    // Under a key it was charged once; what was sent twice without one may have been charged twice.
    expect(leftTries(path, RUN.id)).toMatchObject([{ callId: 'c', credits: 0, lost: 1.5 }]);
    expect([leftTries(path, 'run_2'), leftTries(join(folder, 'none.db'), RUN.id)]).toEqual([[], []]);
  });

  verifies(
    'BUDGET-LEFT-4',
    'that were lost under another key are not out again with those under this one',
    async () => {
      const { path, open } = setUp();
      const { tries } = open();
      const lose = async (key: string): Promise<void> => {
        await tries.sent(RUN, [tryOf('a')], key);
        await tries.ended(RUN.id, ['a'], 'lost');
      };
      await lose('first');
      await lose('second');
      expect(leftTries(path, RUN.id)).toMatchObject([{ operationKey: 'second', credits: 0, lost: 3, lostBefore: 1.5 }]);
      await tries.take(RUN.id, new Map([['a', 'out']]));
      await tries.ofRun(RUN.id);
      expect(leftTries(path, RUN.id)).toMatchObject([{ credits: 1.5, lost: 1.5, lostBefore: 1.5 }]);
      await tries.sent(RUN, [tryOf('a')], 'second');
      await tries.ended(RUN.id, ['a'], 'lost');
      tries.found(RUN.id, 'a');
      await tries.ofRun(RUN.id);
      expect(leftTries(path, RUN.id)).toMatchObject([{ credits: 0, lost: 1.5, lostBefore: 1.5 }]);
    },
  );

  verifies('BUDGET-LEFT-4', 'of a file of an earlier build, which has no keys, are lost', async () => {
    const { path, open } = setUp();
    const first = open();
    await first.tries.ofRun(RUN.id);
    first.close();
    const db = new Database(path);
    db.exec(`DROP TABLE open_tries;
      CREATE TABLE open_tries (run TEXT, call TEXT, root TEXT NOT NULL, dataset_no INTEGER NOT NULL, ordinal INTEGER NOT NULL,
        keyed INTEGER NOT NULL, out INTEGER NOT NULL, lost INTEGER NOT NULL, session TEXT, PRIMARY KEY (run, call)) WITHOUT ROWID;
      INSERT INTO open_tries VALUES ('run_1', 'a', 'run_0', 1, 2, 1, 1500000, 0, NULL)`);
    db.close();
    const { tries } = open({ session: 'two' });
    await tries.sent(RUN, [tryOf('b')], 'key');
    expect(await tries.ofRun(RUN.id)).toMatchObject([
      { callId: 'a', operationKey: undefined, credits: 1.5 },
      { callId: 'b', operationKey: 'key' },
    ]);
  });

  verifies('BUDGET-LEFT-1', 'are waited for by whoever looks while another process has the whole file', async () => {
    const { path, open } = setUp();
    const rates = open();
    await rates.tries.sent(RUN, [tryOf('a')], 'key');
    rates.close();
    const script = `import { DatabaseSync } from 'node:sqlite';
      const db = new DatabaseSync(process.argv[1]);
      db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; CREATE TABLE held (a); COMMIT');
      console.log('held');
      setTimeout(() => db.close(), 200);`;
    const holder = spawn(process.execPath, ['--input-type=module', '-e', script, path]);
    await once(holder.stdout, 'data');
    expect(leftTries(path, RUN.id)).toMatchObject([{ callId: 'a', credits: 1.5 }]);
    await once(holder, 'close');
  });

  for (const name of ['day', 'tree run_0'])
    verifies(
      'BUDGET-LEFT-2',
      `of a session that is gone are held by the ledger '${name}' until their run takes them up`,
      async () => {
        const { clock, open, ledgerOf } = setUp();
        const gone = new Set<string>();
        const isGone = (session: string): boolean => gone.has(session);
        const [dead, other] = [open({ session: `dead ${name}`, isGone }), open({ session: `other ${name}`, isGone })];
        const [ofDead, ofOther] = [await ledgerOf(dead, name), await ledgerOf(other, name)];
        expect(ofDead.reserve(3e6)).toBe('reserved');
        await dead.tries.sent(RUN, [tryOf('a'), tryOf('b')], 'key');
        gone.add(`dead ${name}`);
        ofOther.reserve(9e6);
        await ofOther.ready();
        expect([ofOther.reserve(7.1e6), ofOther.state().left, ofOther.reserve(7e6)]).toEqual([
          'never',
          3e6,
          'reserved',
        ]);
        await other.tries.take(RUN.id, new Map([['a', 'out']]));
        ofOther.settle(-1.5e6, 0);
        expect([ofOther.reserve(0), ofOther.state()]).toMatchObject(['reserved', { left: 1.5e6, reserved: 8.5e6 }]);
        other.tries.leave(RUN.id, ['a']);
        ofOther.settle(1.5e6, 0);
        await other.tries.ofRun(RUN.id);
        expect([ofOther.reserve(0), ofOther.state().left]).toEqual(['reserved', 3e6]);
        await clock.advance(86_400_000);
        expect([ofOther.reserve(3e6), ofOther.state().left]).toEqual(['reserved', 0]);
      },
    );

  verifies('BUDGET-LEFT-2', 'are left by a machine that stopped, and by a process that ends in order', async () => {
    const { clock, open, ledgerOf } = setUp();
    const first = open();
    const ledger = await ledgerOf(first, 'day');
    ledger.reserve(3e6);
    await first.tries.sent(RUN, [tryOf('a')], 'key');
    const second = open({ session: 'two', boot: { id: 'second', at: clock.now() } });
    const after = await ledgerOf(second, 'day');
    expect([after.reserve(0), after.state()]).toMatchObject(['reserved', { left: 1.5e6, reserved: 0 }]);
    await second.tries.sent(RUN, [tryOf('b')], 'key');
    second.close();
    const third = await ledgerOf(open({ session: 'three', boot: { id: 'second', at: clock.now() } }), 'day');
    expect([third.reserve(0), third.state()]).toMatchObject(['reserved', { left: 3e6, reserved: 0 }]);
  });

  verifies(
    'BUDGET-LEFT-3',
    'hold nobody up while another process has the lock, and are made in their order',
    async () => {
      const { path, clock, open } = setUp();
      const rates = open();
      await rates.tries.ofRun(RUN.id);
      await rates.tries.sent(RUN, [tryOf('0')], 'key');
      expect(leftTries(path, RUN.id)).toMatchObject([{ callId: '0' }]);
      await rates.tries.ended(RUN.id, ['0'], 'known');
      const other = new Database(path);
      other.begin();
      // Not a turn of the event loop: the slot that it goes out in is counted from now.
      await rates.tries.sent(RUN, [tryOf('a')], 'key');
      void rates.tries.sent(RUN, [tryOf('c')], 'key');
      const ended = rates.tries.ended(RUN.id, ['c'], 'known');
      expect(leftTries(path, RUN.id)).toEqual([]);
      let isEnded = false;
      void ended.then(() => {
        isEnded = true;
      });
      await clock.advance(100);
      other.rollback();
      // The lock is free, and those that wait for it have not seen that yet.
      const lost = rates.tries.ended(RUN.id, ['a'], 'lost');
      await rates.tries.sent(RUN, [tryOf('d')], 'key');
      while (!isEnded) await clock.advance(100);
      await lost;
      expect(leftTries(path, RUN.id)).toMatchObject([
        { callId: 'a', credits: 0, lost: 1.5 },
        { callId: 'd', credits: 1.5 },
      ]);
      other.begin();
      void rates.tries.sent(RUN, [tryOf('b')], 'key');
      other.close();
      rates.close();
      expect(leftTries(path, RUN.id)).toMatchObject([{ callId: 'a' }, { callId: 'b' }, { callId: 'd' }]);
    },
  );
});
