import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifies } from '../requirements.ts';
import { callsheet, documentOf, type Ended, newFolder, removeFolder, typed } from './command-line.ts';

let dir = '';
const made: Record<string, Ended> = {};

beforeAll(async () => {
  dir = newFolder();
  made.init = await callsheet(dir, 'init');
  // A real process for each command that init prints, as a new user would type them.
  for (const line of made.init.stdout.trim().split('\n')) {
    const args = line
      .split(' ')
      .slice(1)
      .map((arg) => arg.replace(/^'(.*)'$/, '$1'));
    made[args[0] ?? ''] = await callsheet(dir, ...args);
  }
}, 60_000);

afterAll(() => removeFolder(dir));

describe('a new workspace', () => {
  verifies('CLI-INIT-1', 'runs by the commands that init prints, in a folder without anything', () => {
    expect(made.init?.exit).toBe(0);
    expect(Object.keys(made)).toEqual(['init', 'check', 'run', 'why']);
    for (const [name, ended] of Object.entries(made)) expect({ name, ...ended }).toMatchObject({ name, exit: 0 });
    const out = readFileSync(join(dir, 'out.csv'), 'utf8').trimEnd().split('\n');
    expect(out).toHaveLength(21);
    expect(out[0]).toBe('first_name,last_name,company,domain,email');
    expect(readFileSync(join(dir, 'out.csv'), 'utf8')).toMatch(/@/);
  });

  verifies('CLI-INIT-1', 'is never written over: init names the files and writes none', async () => {
    const before = readFileSync(join(dir, 'leads.csv'), 'utf8');
    const again = await typed(dir, ['init']);
    expect(again.exit).toBe(2);
    expect(again.stderr).toMatch(/WORKSPACE_EXISTS: .*callsheet\.config\.ts.*leads\.csv.*Nothing was written/);
    expect(readFileSync(join(dir, 'leads.csv'), 'utf8')).toBe(before);

    const partly = newFolder({ 'leads.csv': 'mine\n' });
    expect((await typed(partly, ['init'])).exit).toBe(2);
    expect(readdirSync(partly)).toEqual(['leads.csv']);
    removeFolder(partly);
  });

  it('can be made in another folder, and then says to go there', async () => {
    const empty = newFolder();
    const { exit, stdout } = await typed(empty, ['init', 'leads']);
    expect(exit).toBe(0);
    expect(stdout.split('\n')[0]).toBe('cd leads');
    expect(existsSync(join(empty, 'leads/find-email.play.ts'))).toBe(true);
    removeFolder(empty);
  });
});

describe('a second run', () => {
  verifies('CLI-SECOND-RUN-1', 'buys nothing, says so, and writes the same bytes', async () => {
    const again = await typed(dir, ['run', 'find-email.play.ts', '--csv', 'leads.csv', '-o', 'again.csv', '--json']);
    expect(again.exit).toBe(0);
    expect(again.stderr).toContain('Bought nothing: every answer came from receipts.');
    expect(again.stderr).toMatch(/sandbox {2}ledger: 20 → 20 operations/);
    expect(documentOf<{ calls: unknown }>(again).calls).toMatchObject({ live: 0, receipt: 20 });
    expect(readFileSync(join(dir, 'again.csv'))).toEqual(readFileSync(join(dir, 'out.csv')));
  });

  verifies('CLI-IMPORT-1', 'prints its import report first', () => {
    const lines = made.run?.stderr.split('\n') ?? [];
    expect(lines[0]).toMatch(/CSV, 20 rows, 4 columns, UTF-8, comma-separated/);
    expect(lines[1]).toContain("Dataset 'leads': 20 rows");
  });

  verifies('CLI-WHY-1', 'can be asked where a value came from', async () => {
    expect(made.why?.stdout).toMatch(
      /email: (completed|no_result), by hunter\.email_finder, from a live call, rcp_\d+/,
    );
    const why = documentOf<{ columns: { attempts: { source: string; receiptId: string }[] }[] }>(
      await typed(dir, ['why', 'last', '--row', '#2', '--column', 'email', '--json']),
    );
    expect(why.columns[0]?.attempts[0]).toMatchObject({ source: 'receipt', receiptId: expect.stringMatching(/^rcp_/) });
    const missing = await typed(dir, ['why', 'last', '--row', '#99']);
    expect({ exit: missing.exit, code: missing.stderr.split(':')[0] }).toEqual({ exit: 4, code: 'ROW_NOT_FOUND' });
  });
});
