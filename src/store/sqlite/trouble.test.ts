import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { systemClock, VirtualClock } from '../../scope/index.ts';
import { bought, committed, newReceipt, newRun, startedRun } from '../conformance/samples.ts';
import type { Unit } from '../port.ts';
import { Database } from './driver.ts';
import { openSqliteStore } from './open.ts';
import { SqliteStore } from './store.ts';

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'callsheet-trouble-'));
  path = join(folder, 'state.db');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (clock = new VirtualClock()) => openSqliteStore({ path, clock, release: '1.0.0' });

/** A store on a connection that the test can meddle with. */
async function onConnection(): Promise<{ db: Database; store: SqliteStore }> {
  await (await open()).close();
  const db = new Database(path);
  db.exec('PRAGMA busy_timeout = 0');
  return {
    db,
    store: new SqliteStore(db, { clock: new VirtualClock(), path, heldAfterMs: 10_000, largestLot: undefined }),
  };
}

function receipts(count: number, bytes: number): Unit[] {
  return Array.from({ length: count }, (_, at) => [
    { kind: 'receipt', receipt: newReceipt(`key ${at}`, { raw: JSON.stringify('x'.repeat(bytes)) }) },
  ]);
}

describe('a full disk', () => {
  verifies(['STORE-READONLY-1', 'STORE-GROUP-1'], 'rejects what does not fit, and takes what does', async () => {
    const { db, store } = await onConnection();
    const pages = db.get<{ page_count: number }>('PRAGMA page_count')?.page_count ?? 0;
    db.exec(`PRAGMA max_page_count = ${pages + 20}`);
    const outcomes = await store.commit([...receipts(2, 100), ...receipts(1, 200_000), ...receipts(2, 100)]);
    expect(outcomes.map((outcome) => outcome.ok)).toEqual([true, true, false, true, true]);
    expect(outcomes[2]).toMatchObject({
      error: { code: 'STORE_FULL', retryable: true, details: { path }, next: [expect.stringContaining('room')] },
    });
    expect(await store.probe()).toBe(true);
    expect(await store.report.listReceipts({ limit: 9 })).toHaveLength(4);
    await store.close();
  });

  it('is proved to be over by a probe only when there is room again', async () => {
    const { db, store } = await onConnection();
    const pages = db.get<{ page_count: number }>('PRAGMA page_count')?.page_count ?? 0;
    db.exec(`PRAGMA max_page_count = ${pages + 2}`);
    expect(await store.probe()).toBe(false);
    db.exec('PRAGMA max_page_count = 1000000');
    expect(await store.probe()).toBe(true);
    expect(await bought(store, newReceipt('a'))).toBe(1);
    await store.close();
  });

  it('leaves no trace in memory of what was rolled back', async () => {
    const { db, store } = await onConnection();
    const fence = await startedRun(store);
    const pages = db.get<{ page_count: number }>('PRAGMA page_count')?.page_count ?? 0;
    db.exec(`PRAGMA max_page_count = ${pages + 2}`);
    const row = { ordinal: 0, state: 'completed', cells: '"x"', error: null, trace: null, credits: 0, at: 0 } as const;
    // The first writes to a new dataset and of a new tool, together with something that does not fit.
    const unit: Unit = [
      { kind: 'row', fence, datasetNo: 5, row },
      { kind: 'receipt', receipt: newReceipt('a', { tool: 'new.tool', raw: `"${'x'.repeat(100_000)}"` }) },
    ];
    expect(await store.commit([unit])).toMatchObject([{ ok: false }]);
    db.exec('PRAGMA max_page_count = 1000000');
    await committed(store, ...unit);
    expect(await store.datasets.rowCounts(fence.runNo, 5)).toMatchObject({ completed: 1 });
    expect(await store.calls.receiptsByIds([1])).toMatchObject([{ tool: 'new.tool' }]);
    await store.close();
  });

  verifies('STORE-READONLY-1', 'a limit on the size of files (EFBIG) counts as full', async () => {
    const script = `
      import { openSqliteStore, createCommitter } from ${JSON.stringify(new URL('../index.ts', import.meta.url).href)};
      import { systemClock } from ${JSON.stringify(new URL('../../scope/index.ts', import.meta.url).href)};
      process.on('SIGXFSZ', () => {});
      const store = await openSqliteStore({ path: process.argv[1], clock: systemClock, release: '1.0.0' });
      const event = { at: 1, type: 'log', level: 'info', datasetNo: null, ordinal: null, message: 'x'.repeat(4_000_000), data: null };
      const [outcome] = await store.commit([[{ kind: 'event', runNo: 1, event }]]);
      console.log(outcome.ok ? 'stored' : outcome.error.code, await store.probe());
    `;
    expect(await runScript(script, { limitBlocks: 1_024 })).toBe('STORE_FULL true\n');
  });
});

describe('a database that cannot be written', () => {
  verifies('STORE-READONLY-1', 'says STORE_READ_ONLY to each unit, and still reads', async () => {
    const { db, store } = await onConnection();
    await bought(store, newReceipt('a'));
    db.exec('PRAGMA query_only = 1');
    for (const outcome of await store.commit(receipts(2, 10)))
      expect(outcome).toMatchObject({ ok: false, error: { code: 'STORE_READ_ONLY', details: { path } } });
    expect(await store.probe()).toBe(false);
    expect(await store.report.receipt(1)).toMatchObject({ id: 1 });
    db.exec('PRAGMA query_only = 0');
    await store.close();
  });

  it.skipIf(process.getuid?.() !== 0)('says so at open where the folder belongs to somebody else', async () => {
    chmodSync(folder, 0o755);
    mkdirSync(join(folder, 'theirs'));
    path = join(folder, 'theirs', 'state.db');
    const script = `
      import { openSqliteStore } from ${JSON.stringify(new URL('../index.ts', import.meta.url).href)};
      import { systemClock } from ${JSON.stringify(new URL('../../scope/index.ts', import.meta.url).href)};
      await openSqliteStore({ path: process.argv[1], clock: systemClock, release: '1.0.0' }).catch((error) => console.log(error.code));
    `;
    expect(await runScript(script, { uid: 65_534 })).toBe('STORE_READ_ONLY\n');
    // The same where the database is there, but not theirs to write.
    await (await open()).close();
    chmodSync(path, 0o644);
    expect(await runScript(script, { uid: 65_534 })).toBe('STORE_READ_ONLY\n');
  });
});

describe('a database that another process holds', () => {
  verifies('STORE-HELD-1', 'is waited for on the clock, ten seconds, while reads go on', async () => {
    const clock = new VirtualClock();
    const store = await open(clock);
    const holder = new Database(path);
    holder.begin();
    let outcome: unknown;
    void store.commit(receipts(2, 10)).then((outcomes) => {
      outcome = outcomes;
    });
    await clock.advance(9_900);
    expect(outcome).toBeUndefined();
    expect(await store.runs.run('run_1')).toBeUndefined();
    await clock.advance(200);
    expect(outcome).toMatchObject([
      { ok: false, error: { code: 'STORE_HELD', retryable: true, message: expect.stringContaining('10 s') } },
      { ok: false, error: { code: 'STORE_HELD' } },
    ]);
    holder.rollback();
    expect(await store.probe()).toBe(true);
    holder.close();
    await store.close();
  });

  verifies('STORE-HELD-1', 'is waited for once: what is written after that in vain fails soon', async () => {
    const clock = new VirtualClock();
    const store = await open(clock);
    const holder = new Database(path);
    holder.begin();
    const codes: unknown[] = [];
    for (const first of [10, 20, 30, 40])
      void store.commit(receipts(2, first)).then((outcomes) => {
        codes.push(...outcomes.map((outcome) => (outcome.ok ? 'ok' : (outcome.error as { code?: string }).code)));
      });
    await clock.advance(11_500);
    expect(codes).toEqual(Array(8).fill('STORE_HELD'));
    holder.rollback();
    expect(await store.probe()).toBe(true);
    // From then on it is waited for as before.
    holder.begin();
    const patient = store.commit(receipts(1, 50));
    await clock.advance(9_000);
    holder.commit();
    await clock.advance(100);
    expect(await patient).toEqual([{ ok: true }]);
    holder.close();
    await store.close();
  });

  verifies('STORE-HELD-1', 'is written to as soon as it is let go, in the order of the commits', async () => {
    const clock = new VirtualClock();
    const store = await open(clock);
    const holder = new Database(path);
    holder.begin();
    const groups = [newRun('run_1'), newRun('run_2')].map((run) => store.commit([[{ kind: 'run', run }]]));
    await clock.advance(5_000);
    holder.commit();
    await clock.advance(100);
    for (const group of groups) expect(await group).toEqual([{ ok: true }]);
    expect((await store.report.listRuns({ limit: 9 })).map((run) => run.id)).toEqual(['run_2', 'run_1']);
    holder.close();
    await store.close();
  });

  it('gives no id twice where the other process bought something while it was waited for', async () => {
    const clock = new VirtualClock();
    const store = await open(clock);
    const holder = new Database(path);
    holder.begin();
    const commit = store.commit(receipts(1, 10));
    await clock.advance(5);
    holder.run("INSERT INTO receipts VALUES (1, 7, 1, 0, 0, 'theirs', '', '', '1', NULL)");
    holder.commit();
    await clock.advance(100);
    expect(await commit).toEqual([{ ok: true }]);
    expect((await store.report.listReceipts({ limit: 9 })).map(({ id, key }) => [id, key === 'theirs'])).toEqual([
      [1, true],
      [2, false],
    ]);
    holder.close();
    await store.close();
  });

  it('is waited for at open too', async () => {
    const clock = new VirtualClock();
    await (await open(clock)).close();
    const holder = new Database(path);
    holder.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    const opening = open(clock).then(
      () => 'opened',
      (error) => error.code,
    );
    await clock.advance(11_000);
    expect(await opening).toBe('STORE_HELD');
    holder.close();
  });

  verifies(
    'STORE-HELD-1',
    'a process that was stopped inside a transaction makes the others wait, not freeze',
    async () => {
      await (await open()).close();
      const holder = await stoppedInTransaction();
      const store = await openSqliteStore({ path, clock: systemClock, release: '1.0.0', heldAfterMs: 50 });
      let turns = 0;
      const counting = setInterval(() => turns++, 1);
      await expect(bought(store, newReceipt('a'))).rejects.toMatchObject({ code: 'STORE_HELD' });
      clearInterval(counting);
      expect(turns).toBeGreaterThan(2);
      const over = new Promise((resolve) => holder.once('exit', resolve));
      holder.kill('SIGKILL');
      await over;
      expect(await bought(store, newReceipt('a'))).toBe(1);
      await store.close();
    },
  );
});

it('loads the database binding without a warning, and lets other warnings through', async () => {
  const script = `
    import { Database } from ${JSON.stringify(new URL('./driver.ts', import.meta.url).href)};
    new Database(process.argv[1]).close();
    process.emitWarning('SQLite is an experimental feature, says somebody else');
  `;
  const printed = await runScript(script, {});
  expect(printed).not.toContain('ExperimentalWarning: SQLite');
  expect(printed).toContain('says somebody else');
});

async function stoppedInTransaction(): Promise<ChildProcess> {
  const script = `
    import { Database } from ${JSON.stringify(new URL('./driver.ts', import.meta.url).href)};
    const db = new Database(process.argv[1]);
    db.begin();
    console.log('in');
    process.kill(process.pid, 'SIGSTOP');
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, path]);
  await new Promise((resolve) => child.stdout.once('data', resolve));
  return child;
}

/** Runs a module with the path as its argument, under a limit or another user, and returns what it printed. */
async function runScript(script: string, under: { limitBlocks?: number; uid?: number }): Promise<string> {
  const node = [process.execPath, '--input-type=module', '-e', script, path] as const;
  const child =
    under.limitBlocks === undefined
      ? spawn(node[0], node.slice(1), under.uid === undefined ? {} : { uid: under.uid, gid: under.uid })
      : spawn('sh', ['-c', `ulimit -f ${under.limitBlocks} && exec "$@"`, 'sh', ...node]);
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (printed += String(data)));
  await new Promise((resolve) => child.once('close', resolve));
  return printed;
}
