import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { VirtualClock } from '../../scope/index.ts';
import {
  armed,
  bought,
  committed,
  lease,
  newReceipt,
  newSignal,
  newWait,
  operationRecord,
  row,
  signalled,
  startedRun,
} from '../conformance/samples.ts';
import type { Store } from '../port.ts';
import { Database } from './driver.ts';
import { migrate } from './migrate.ts';
import { MIGRATIONS, type Migration } from './migrations/index.ts';
import { openSqliteStore, type SqliteStoreOptions } from './open.ts';

const NEXT: Migration = { no: MIGRATIONS.length + 1, name: 'more', sql: 'CREATE TABLE more (no INTEGER PRIMARY KEY)' };

let folder: string;
let path: string;
const opened: Store[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'callsheet-open-'));
  path = join(folder, 'workspace', 'state.db');
});
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
  rmSync(folder, { recursive: true, force: true });
});

async function open(more: Partial<SqliteStoreOptions> = {}): Promise<Store> {
  const store = await openSqliteStore({ path, clock: new VirtualClock(), release: '1.0.0', ...more });
  opened.push(store);
  return store;
}

verifies('STORE-MODE-1', 'the folder and all files of the database are for their user only', async () => {
  const store = await open();
  await startedRun(store);
  expect(statSync(join(folder, 'workspace')).mode & 0o777).toBe(0o700);
  const files = readdirSync(join(folder, 'workspace'));
  expect(files).toEqual(expect.arrayContaining(['state.db', 'state.db-wal', 'state.db-shm']));
  for (const file of files) expect(statSync(join(folder, 'workspace', file)).mode & 0o777, file).toBe(0o600);
});

verifies(
  'STORE-MIGRATE-1',
  'a database of an older release is brought up to this one, once, and keeps its data',
  async () => {
    const old = await open({ release: '1.0.0' });
    await startedRun(old);
    await old.close();
    const migrations = [...MIGRATIONS, NEXT];
    for (let times = 0; times < 2; times++) {
      const store = await open({ release: '2.0.0', migrations });
      expect(await store.runs.run('run_1')).toMatchObject({ attempt: 1 });
      await store.close();
    }
    const db = new Database(path);
    expect(db.all('SELECT no, name, release FROM migrations ORDER BY no')).toMatchObject([
      { no: 1, name: '0001-initial', release: '1.0.0' },
      { no: 2, name: '0002-waits', release: '1.0.0' },
      { no: 3, name: '0003-no-input-digests', release: '1.0.0' },
      { no: 4, name: '0004-batches', release: '1.0.0' },
      { no: 5, name: '0005-reruns', release: '1.0.0' },
      { no: 6, name: '0006-job-ends', release: '1.0.0' },
      { no: 7, name: 'more', release: '2.0.0' },
    ]);
    db.close();
  },
);

verifies('STORE-MIGRATE-1', 'a database from before there were waits gets them, beside what it has', async () => {
  const db = new Database(path);
  const settings = { release: '0.9.0', now: 0 };
  migrate(db, { ...settings, migrations: MIGRATIONS.slice(0, 1) });
  expect(db.all("SELECT name FROM sqlite_schema WHERE name IN ('waits', 'signals', 'operations')")).toEqual([]);
  db.run(
    `INSERT INTO runs (id, play, artifact, input, options, seed, identity_format, created_at, root_run_id,
      first_receipt_id, status, attempt, cancel_requested) VALUES ('run_1', 'p', 'a', '{}', '{}', 's', 1, 0, 'run_1', 1, 0, 0, 0)`,
  );
  db.close();
  const store = await open();
  await committed(store, lease('run_1', 1));
  const fence = { runNo: 1, attempt: 1 };
  expect(await armed(store, { fence, wait: newWait('approved') })).toMatchObject({ no: 1, state: 'open' });
  const operation = operationRecord('send');
  await committed(store, { kind: 'operation', fence, place: row(0), operation });
  expect((await signalled(store, newSignal('approved'))).delivered).toHaveLength(1);
  expect((await store.calls.operations(1, 1, [0])).get(0)).toEqual([operation]);
});

verifies('STORE-MIGRATE-1', 'receipts and calls from when they still had input digests are read', async () => {
  const db = new Database(path);
  migrate(db, { migrations: MIGRATIONS.slice(0, 1), release: '0.9.0', now: 0 });
  db.run("INSERT INTO origins VALUES (1, 1, 'finder', '1', '', 'hunter/default', 1)");
  db.run("INSERT INTO receipts VALUES (1, 7, 1, 5, 6, 'key', 'call', 'digest', '{}', '[1]', NULL)");
  db.run("INSERT INTO sites VALUES (1, 'email', 'find', 'finder', '', 'read')");
  db.run('INSERT INTO spaces VALUES (1, 1, 0)');
  db.run("INSERT INTO calls VALUES (268435456, 'call', 1, 0, 0, 1, 1.5, 6, 5, 'digest', NULL)");
  db.close();
  const store = await open();
  expect(await store.report.receipt(1)).toMatchObject({ key: 'key', callId: 'call', input: '{}', raw: '[1]', at: 5 });
  const entry = { callId: 'call', label: 'find', receiptId: 1, credits: 1.5, durationMs: 6, error: null };
  expect((await store.calls.journal(1, 0, [0])).get(0)).toMatchObject([entry]);
});

it('leaves a database as it was when a migration fails', async () => {
  await (await open()).close();
  const broken: Migration = { no: NEXT.no, name: 'broken', sql: 'CREATE TABLE half (no); CREATE TABLE half (no);' };
  await expect(open({ migrations: [...MIGRATIONS, broken] })).rejects.toMatchObject({ code: 'STORE_FAILED' });
  const store = await open({ migrations: [...MIGRATIONS, NEXT] });
  await startedRun(store);
});

verifies('STORE-NEWER-1', 'a database of a newer release is refused, with both versions named', async () => {
  await (await open({ release: '2.5.0', migrations: [...MIGRATIONS, NEXT] })).close();
  const refused = open({ release: '1.0.0' });
  await expect(refused).rejects.toMatchObject({
    code: 'WORKSPACE_TOO_NEW',
    details: { writtenBy: '2.5.0', thisRelease: '1.0.0', path },
  });
  await expect(refused).rejects.toThrow(/2\.5\.0.*1\.0\.0/);
});

verifies('STORE-MIGRATE-1', 'refuses a migration whose text is not the one that was applied', async () => {
  await (await open()).close();
  const altered = MIGRATIONS.map((migration) => ({ ...migration, sql: `${migration.sql} -- altered` }));
  await expect(open({ migrations: altered })).rejects.toMatchObject({
    code: 'STORE_CORRUPT',
    message: expect.stringContaining('0001-initial'),
  });
});

verifies('STORE-READONLY-1', 'a file that is no database, and a database of another program, are refused', async () => {
  mkdirSync(join(folder, 'workspace'));
  writeFileSync(path, 'id,name\n1,somebody\n'.repeat(500));
  await expect(open()).rejects.toMatchObject({ code: 'STORE_CORRUPT', details: { path }, next: expect.any(Array) });
  rmSync(path);
  const other = new Database(path);
  other.exec('CREATE TABLE notes (text)');
  other.close();
  await expect(open()).rejects.toMatchObject({
    code: 'STORE_CORRUPT',
    message: expect.stringContaining('another program'),
  });
});

verifies('STORE-READONLY-1', 'a database that lost its second half is told to be damaged', async () => {
  const store = await open();
  await startedRun(store);
  await store.commit(Array.from({ length: 500 }, (_, at) => [{ kind: 'receipt', receipt: newReceipt(`key ${at}`) }]));
  await store.close();
  truncateSync(path, Math.floor(statSync(path).size / 2 / 4096) * 4096);
  const damaged = async (): Promise<unknown> => {
    const again = await open();
    return again.report.listReceipts({ limit: 1_000 });
  };
  await expect(damaged()).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
});

it('can be closed twice, and refuses writes afterwards', async () => {
  const store = await open();
  await store.close();
  await store.close();
  await expect(bought(store, newReceipt('a'))).rejects.toMatchObject({ code: 'STORE_FAILED' });
  expect(await store.probe()).toBe(false);
});
