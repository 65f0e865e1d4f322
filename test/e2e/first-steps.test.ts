import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { cli, cliJson, startCli } from './harness/cli.ts';
import { finderFiles, peopleCsv } from './harness/finder.ts';
import { demoFiles, folder } from './harness/folders.ts';

const TIMEOUT = 120_000;

verifies(
  ['CLI-INIT-1', 'CLI-WHY-1', 'CLI-PLAN-1'],
  'init in an empty folder writes what runs, every command that it prints works, and it never overwrites',
  async () => {
    const dir = folder();
    const made = await cli(dir, ['init']);
    expect(made.exit).toBe(0);
    const commands = `${made.stdout}\n${made.stderr}`.match(/callsheet (?!init)[^\n]+/g) ?? [];
    expect(commands.length).toBeGreaterThan(0);
    for (const command of commands) {
      const ended = await cli(dir, wordsOf(command).slice(1));
      expect(ended.exit, `${command}\n${ended.stderr}`).toBe(0);
    }
    expect(existsSync(join(dir, 'out.csv'))).toBe(true);
    writeFileSync(join(dir, 'find-email.play.ts'), '// mine\n');
    const again = await cliJson(dir, ['init'], { exit: 2 });
    expect(again.error.code).toBe('WORKSPACE_EXISTS');
    expect(readFileSync(join(dir, 'find-email.play.ts'), 'utf8')).toBe('// mine\n');
  },
  TIMEOUT,
);

verifies(
  ['PLAY-FORMS-1', 'STEPS-ORDER-1'],
  "the play of the README runs as it stands, over the demo's leads and tools",
  async () => {
    const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');
    const play = /```ts\n(import \{ definePlay[\s\S]*?)```/.exec(readme)?.[1] ?? '';
    const dir = folder({ ...demoFiles(10), 'readme.play.ts': play });
    const { datasets, calls } = await cliJson(dir, ['run', 'readme.play.ts', '--csv', 'leads.csv', '--yes']);
    expect(datasets).toMatchObject([{ key: 'leads', completed: 10, failed: 0 }]);
    expect(calls.byTool['hunter.email_finder'].live).toBe(10);
  },
  TIMEOUT,
);

verifies(
  ['SUSPEND-ROW-1', 'EVENT-DELIVERY-1'],
  'the play of docs/waiting.md waits, is answered by the command that stands there, and waits on for its sleep',
  async () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/waiting.md'), 'utf8');
    const play = /```ts\n(import \{ definePlay[\s\S]*?)```/.exec(page)?.[1] ?? '';
    const dir = folder({
      'waiting.play.ts': play,
      'leads.csv': 'email,text\nada@example.com,hello\nbob@example.com,hello\n',
      'tools/mail.mjs': `import { defineTool } from 'callsheet';
        export const send = defineTool({ id: 'mail.send', effect: 'write', input: { type: 'object' }, run: (input) => input });`,
    });
    const first = await cliJson(dir, ['run', 'waiting.play.ts', '--csv', 'leads.csv', '--yes'], { exit: 5 });
    expect(first).toMatchObject({ run: { status: 'waiting' }, waiting: { events: [{ event: 'approved', count: 2 }] } });
    const command = /`callsheet (signal [^`]*)`/.exec(page)?.[1]?.replace('<run>', first.run.id) ?? '';
    await cliJson(dir, wordsOf(command));
    const then = await cliJson(dir, ['runs', 'resume', first.run.id], { exit: 5 });
    expect(then.waiting).toMatchObject({ wakeAt: expect.any(String), events: [{ event: 'approved', count: 1 }] });
  },
  TIMEOUT,
);

/** A command line as a shell takes it apart, as far as ours go. */
function wordsOf(command: string): string[] {
  return [...command.trim().matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
}

verifies(
  ['SANDBOX-LEDGER-1', 'CLI-STDOUT-1', 'CLI-SECOND-RUN-1'],
  'callsheet sandbox says where it is, keeps its ledger when it is killed, and a second run against it buys nothing',
  async () => {
    const dir = folder(finderFiles(peopleCsv(10)));
    const run = ['run', 'find.play.ts', '--csv', 'people.csv'];
    const args = ['sandbox', '--port', '0', '--json', '--ledger', 'ledger.jsonl'];
    const first = startCli(dir, args);
    const { url } = JSON.parse(await first.firstLine);
    await cliJson(dir, run, { env: { CALLSHEET_SANDBOX_URL: url } });
    first.kill('SIGKILL');
    await first.ended;
    const second = startCli(dir, args);
    const restarted = JSON.parse(await second.firstLine);
    const env = { CALLSHEET_SANDBOX_URL: restarted.url };
    expect((await cliJson(dir, run, { env })).calls).toMatchObject({ live: 0, receipt: 10 });
    await cliJson(dir, [...run, '--refresh'], { env });
    second.kill('SIGTERM');
    const ended = await second.ended;
    expect(ended).toMatchObject({ exit: 0, signal: null });
    expect(ended.stderr).toContain('Ledger: 20 operations');
    expect(ended.stdout.trim().split('\n')).toHaveLength(1);
  },
  TIMEOUT,
);
