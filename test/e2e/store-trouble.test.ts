import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { cliJson } from './harness/cli.ts';
import { finderFiles, peopleCsv } from './harness/finder.ts';
import { folder, putFiles } from './harness/folders.ts';
import { countsOf, questionOf, recordedQuestions } from './harness/judge.ts';
import { watchedSandbox } from './harness/watched-sandbox.ts';

const TIMEOUT = 120_000;
const RUN = ['run', 'find.play.ts', '--csv', 'people.csv', '-o', 'out.csv'];

function database(dir: string): string {
  return join(dir, '.callsheet', 'callsheet.db');
}

verifies(
  ['STORE-NEWER-1', 'STORE-HELD-1', 'CLI-ERROR-JSON-1'],
  'a workspace of a newer release, a foreign file and a database that another process holds are refused by name',
  async () => {
    const { env } = await watchedSandbox();
    const dir = folder(finderFiles(peopleCsv(3)));
    await cliJson(dir, RUN, { env });
    const db = new DatabaseSync(database(dir));
    db.exec('BEGIN IMMEDIATE');
    const held = await cliJson(dir, RUN, { env, exit: 1 });
    expect(held.error).toMatchObject({ code: 'STORE_HELD', details: { path: database(dir) } });
    expect(held.error.next.join()).toContain('lsof');
    db.exec(`INSERT INTO migrations VALUES (9999, 'later', 'checksum', '99.1.0', 0)`);
    db.exec('COMMIT');
    db.close();
    const newer = await cliJson(dir, ['runs', 'list'], { env, exit: 3 });
    expect(newer.error).toMatchObject({ code: 'WORKSPACE_TOO_NEW', details: { writtenBy: '99.1.0' } });
    expect(newer.error.message).toMatch(/99\.1\.0.*\d+\.\d+\.\d+/);
    const foreign = folder({
      ...finderFiles(peopleCsv(3)),
      '.callsheet/callsheet.db': 'this is no database at all'.repeat(99),
    });
    const corrupt = await cliJson(foreign, RUN, { env, exit: 1 });
    expect(corrupt.error).toMatchObject({ code: 'STORE_CORRUPT', details: { path: database(foreign) } });
  },
  TIMEOUT,
);

verifies(
  ['STORE-READONLY-1', 'STORE-MODE-1', 'CLI-OUTPUT-1'],
  'a folder that may not be written is named before anything is paid, as workspace and as place of the output',
  async () => {
    const sandbox = await watchedSandbox();
    const { env } = sandbox;
    const dir = folder(finderFiles(peopleCsv(3)));
    chmodSync(dir, 0o555);
    const refused = await cliJson(dir, ['run', 'find.play.ts', '--csv', 'people.csv'], {
      env,
      exit: 1,
      unprivileged: true,
    });
    expect(refused.error.code).toBe('STORE_READ_ONLY');
    expect(refused.error.message).toContain(join(dir, '.callsheet'));
    expect(refused.error.next.join()).toContain('--workspace');
    const open = folder(finderFiles(peopleCsv(3)));
    const shut = folder();
    chmodSync(open, 0o777);
    chmodSync(shut, 0o555);
    const run = ['run', 'find.play.ts', '--csv', 'people.csv', '-o', join(shut, 'out.csv')];
    const output = await cliJson(open, run, { env, exit: 1, unprivileged: true });
    expect(output.error).toMatchObject({ code: 'OUTPUT_NOT_WRITABLE' });
    expect(sandbox.ledger()).toHaveLength(0);
    await cliJson(open, RUN, { env, unprivileged: true });
    for (const name of readdirSync(join(open, '.callsheet'), { recursive: true }) as string[])
      expect(statSync(join(open, '.callsheet', name)).mode & 0o077, name).toBe(0);
    chmodSync(database(open), 0o400);
    const readOnly = await cliJson(open, RUN, { env, exit: 1, unprivileged: true });
    expect(readOnly.error.code).toBe('STORE_READ_ONLY');
    expect(readOnly.error.message).toContain(database(open));
  },
  TIMEOUT,
);

verifies(
  ['STORE-READONLY-1', 'STORE-BREAKER-1', 'RESCUE-1', 'RUN-RESUME-1', 'FILE-OUT-4'],
  'a disk that is full stops the calls; with room again a resume buys nothing that is on disk, and no output is left half',
  async () => {
    const sandbox = await watchedSandbox({ idempotency: false });
    const { env } = sandbox;
    const rows = 600;
    const dir = folder(finderFiles(peopleCsv(rows)));
    const pool = 8;
    const run = [...RUN, '--concurrency', String(pool)];
    const full = await cliJson(dir, run, { env, exit: 1, largestFileKib: 320 });
    expect(full.error.code).toBe('STORE_FULL');
    // The process could not write down that it stopped, unless just that had room; whoever reads its last words must not wait for it.
    expect(['interrupted', 'failed']).toContain(full.run.status);
    expect(full.next.join()).toContain(`callsheet runs resume ${full.run.id}`);
    expect(full.error.next.join()).toContain(`runs resume ${full.run.id}`);
    const bought = sandbox.ledger().length;
    expect(bought).toBeGreaterThan(0);
    expect(bought).toBeLessThan(rows);
    const kept = new Set(recordedQuestions(dir));
    const unkept = sandbox.ledger().filter((entry) => !kept.has(questionOf(entry)));
    // Only what was in flight when the disk filled up; nothing went out after that.
    expect(unkept.length).toBeLessThanOrEqual(pool);
    expect(unkept.length).toBeGreaterThan(0);
    const resumed = await cliJson(dir, ['runs', 'resume', 'last', '-o', 'out.csv'], { env });
    expect(resumed.run.status).toBe('completed');
    const again = sandbox.ledger().slice(bought);
    expect(again.filter((entry) => kept.has(questionOf(entry)))).toEqual([]);
    // What could not be stored was rescued: nobody asks a second time, keys or none.
    expect([...countsOf(sandbox.ledger().map(questionOf)).values()].filter((count) => count !== 1)).toEqual([]);
    expect(readdirSync(join(dir, '.callsheet', 'rescue'))).toEqual([]);
    putFiles(dir, { 'out.csv': 'what was there before\n' });
    const before = readdirSync(dir).sort();
    const exported = await cliJson(dir, ['runs', 'export', 'last', '-o', 'out.csv'], {
      env,
      exit: 1,
      largestFileKib: 8,
    });
    expect(['OUTPUT_NOT_WRITABLE', 'STORE_FULL']).toContain(exported.error.code);
    expect(readFileSync(join(dir, 'out.csv'), 'utf8')).toBe('what was there before\n');
    expect(readdirSync(dir).sort()).toEqual(before);
  },
  TIMEOUT,
);
