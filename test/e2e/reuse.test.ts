import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { cli, cliJson } from './harness/cli.ts';
import { configText, finderFiles, peopleCsv, playText, toolText } from './harness/finder.ts';
import { demoFiles, folder, putFiles } from './harness/folders.ts';
import { creditsOf, watchedSandbox } from './harness/watched-sandbox.ts';

const ROWS = 40;
const TIMEOUT = 120_000;
const RUN = ['run', 'find.play.ts', '--csv', 'people.csv', '-o', 'out.csv'];

function output(dir: string, name = 'out.csv'): string {
  return readFileSync(join(dir, name), 'utf8');
}

function emailsOf(csv: string): string[] {
  const [, ...lines] = csv.trimEnd().split('\n');
  return lines.map((line) => line.split(',').at(-1) ?? '');
}

verifies(
  ['CLI-SECOND-RUN-1', 'RUN-COMPLETED-1', 'CALL-RECEIPT-1', 'KEY-REUSE-1', 'CLI-EXPORT-1'],
  'a second run, and another play that asks the same, buy nothing and write the same bytes; an export of the first does, too',
  async () => {
    const sandbox = await watchedSandbox();
    const { env } = sandbox;
    const dir = folder(demoFiles(60));
    const run = ['run', 'find-work-email.play.ts', '--csv', 'leads.csv', '--yes'];
    const first = await cliJson(dir, [...run, '-o', 'out.csv'], { env });
    const operations = sandbox.ledger().length;
    expect(first.calls.live).toBe(operations);
    expect(first.credits.settled).toBe(creditsOf(sandbox.ledger()));
    const second = await cli(dir, [...run, '-o', 'second.csv', '--json'], { env });
    expect(second.exit).toBe(0);
    expect(second.stderr).toContain('Bought nothing');
    expect(JSON.parse(second.stdout)).toMatchObject({ calls: { live: 0 }, credits: { settled: 0 } });
    putFiles(dir, { 'other.play.ts': playText({ name: 'other', key: `['first_name', 'last_name', 'domain']` }) });
    const other = await cliJson(dir, ['run', 'other.play.ts', '--csv', 'leads.csv', '--yes'], { env });
    expect(other.calls).toMatchObject({ live: 0, receipt: 60 });
    await cliJson(dir, ['runs', 'export', first.run.id, '-o', 'again.csv'], { env });
    expect(sandbox.ledger()).toHaveLength(operations);
    expect(output(dir, 'second.csv')).toBe(output(dir));
    expect(output(dir, 'again.csv')).toBe(output(dir));
  },
  TIMEOUT,
);

verifies(
  ['CALL-RAW-1', 'TOOL-EXTRACT-1'],
  'a tool with a wrong extract is mended and run again: the right cells, and nothing is bought',
  async () => {
    const sandbox = await watchedSandbox();
    const { env } = sandbox;
    const dir = folder(finderFiles(peopleCsv(ROWS)));
    putFiles(dir, { 'tools/finder.ts': toolText('', { extract: `extract: { email: 'data.mail' }` }) });
    await cliJson(dir, RUN, { env });
    const operations = sandbox.ledger().length;
    const found = sandbox.ledger().filter(({ status }) => status === 200).length;
    expect(operations).toBe(ROWS);
    expect(emailsOf(output(dir)).filter((email) => email !== '')).toEqual([]);
    putFiles(dir, { 'tools/finder.ts': toolText() });
    const mended = await cliJson(dir, RUN, { env });
    expect(mended.calls.live).toBe(0);
    expect(emailsOf(output(dir)).filter((email) => email.includes('@'))).toHaveLength(found);
    expect(sandbox.ledger()).toHaveLength(operations);
  },
  TIMEOUT,
);

verifies(
  ['CALL-CONTRACT-1', 'CALL-CONTRACT-2', 'CALL-RAW-1', 'CLI-ERROR-JSON-1'],
  'a tool whose response throws stops the run with its money and answers kept; mended, a resume buys only the rest',
  async () => {
    const sandbox = await watchedSandbox();
    const { env } = sandbox;
    const dir = folder(finderFiles(peopleCsv(ROWS)));
    putFiles(dir, { 'tools/finder.ts': toolText('', { response: 'response: ({ json }) => json.no.such.field' }) });
    const broken = await cliJson(dir, [...RUN, '--concurrency', '4'], { env, exit: 1 });
    expect(broken.error).toMatchObject({ code: 'TOOL_CONTRACT', details: { tool: 'hunter.email_finder' } });
    expect(broken.error.next.join('\n')).toContain(`callsheet runs resume ${broken.run.id}`);
    const bought = sandbox.ledger().length;
    expect(bought).toBeLessThanOrEqual(8);
    putFiles(dir, { 'tools/finder.ts': toolText() });
    const mended = await cliJson(dir, ['runs', 'resume', broken.run.id, '-o', 'out.csv'], { env });
    expect(mended.run.status).toBe('completed');
    expect(sandbox.ledger()).toHaveLength(ROWS);
    expect(mended.credits.settled).toBe(creditsOf(sandbox.ledger()));
    expect(emailsOf(output(dir)).filter((email) => email.includes('@'))).toHaveLength(creditsOf(sandbox.ledger()));
  },
  TIMEOUT,
);

verifies(
  ['KEY-AUTH-1', 'KEY-AUTH-2', 'SECRET-SOURCES-1'],
  'a rotated key buys nothing; another account, fixtures, and live against sandbox share no answer',
  async () => {
    const sandbox = await watchedSandbox();
    const { env } = sandbox;
    const dir = folder(finderFiles(peopleCsv(ROWS)));
    const withKey = (key: string) => ({ env: { ...env, HUNTER_API_KEY: key } });
    const bought = async (args: readonly string[], options: { env: Record<string, string> }): Promise<number> => {
      const before = sandbox.ledger().length;
      await cliJson(dir, args, options);
      return sandbox.ledger().length - before;
    };
    const fixtures = ['--fixtures', 'answers'];
    // Recorded answers of the sandbox, played back before anything is bought under them.
    expect(await bought([...RUN, '--record', 'answers'], withKey('first'))).toBe(ROWS);
    const replayed = await cliJson(dir, [...RUN, ...fixtures], withKey('first'));
    expect(replayed.calls).toMatchObject({ live: ROWS, receipt: 0 });
    // What an earlier replay kept does not stand in for the files of the next one.
    expect((await cliJson(dir, [...RUN, ...fixtures], withKey('first'))).calls).toMatchObject({
      live: ROWS,
      receipt: 0,
    });
    expect(await bought(RUN, withKey('rotated'))).toBe(0);
    putFiles(dir, { 'callsheet.config.ts': configText({ hunter: `mode: 'sandbox', account: 'team-b'` }) });
    expect(await bought(RUN, withKey('rotated'))).toBe(ROWS);
    putFiles(dir, { 'callsheet.config.ts': configText({ hunter: `baseUrl: '${sandbox.url}/hunter'` }) });
    expect(await bought(RUN, withKey('live'))).toBe(ROWS);
    const bytes = output(dir);
    // And nothing passes from fixtures to anybody, either: a folder in which only they were ever used.
    const fresh = folder(finderFiles(peopleCsv(ROWS)));
    await cliJson(fresh, [...RUN, '--fixtures', join(dir, 'answers')], withKey('first'));
    const paid = await cliJson(fresh, RUN, withKey('first'));
    expect(paid.calls).toMatchObject({ live: ROWS, receipt: 0 });
    expect(output(fresh)).toBe(bytes);
  },
  TIMEOUT,
);
