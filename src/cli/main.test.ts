import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { main } from './main.ts';
import { buildProgram } from './program.ts';
import { Terminal, type TextSink } from './terminal.ts';

async function typed(...args: string[]) {
  const written = { stdout: '', stderr: '' };
  const sink = (name: 'stdout' | 'stderr'): TextSink => ({
    write: (text) => {
      written[name] += text;
      return true;
    },
    once: () => undefined,
  });
  const stdin = { async *[Symbol.asyncIterator]() {} };
  const parts = { stdout: sink('stdout'), stderr: sink('stderr'), stdin, cwd: '/', env: {} };
  const { exit } = await main(args, new Terminal({ ...parts, json: args.includes('--json') }));
  return { exit, ...written };
}

const inert = new Terminal({
  stdout: { write: () => true, once: () => undefined },
  stderr: { write: () => true, once: () => undefined },
  stdin: { async *[Symbol.asyncIterator]() {} },
  env: {},
  cwd: '/',
  json: false,
});

function leaves(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leaves);
}

function wordsOf(command: Command): string[] {
  return command.parent === null ? [] : [...wordsOf(command.parent), command.name()];
}

describe('help', () => {
  const commands = leaves(buildProgram(inert, () => {}))
    .map(wordsOf)
    .filter(([first]) => first !== 'help');

  verifies('CLI-HELP-1', 'every command shows what it does, its options and an example', async () => {
    expect(commands.length).toBeGreaterThan(20);
    for (const words of commands) {
      const { exit, stdout, stderr } = await typed(...words, '--help');
      expect({ words, exit, stderr }).toEqual({ words, exit: 0, stderr: '' });
      expect(stdout).toContain(`Usage: callsheet ${words.join(' ')}`);
      expect(stdout).toMatch(/Examples:\n {2}\$ callsheet /);
      expect(stdout).toContain('--json');
    }
  });

  it('is also what the command help prints', async () => {
    const { exit, stdout } = await typed('help', 'run');
    expect(exit).toBe(0);
    expect(stdout).toContain('Usage: callsheet run');
  });
});

describe('wrong usage', () => {
  it.each([
    [['rnu', 'x.play.ts'], /Unknown command 'rnu' \(Did you mean run\?\)/, 'callsheet --help'],
    [['runs', 'shwo'], /Did you mean show\?/, 'callsheet runs --help'],
    [['run', 'x.play.ts', '--lmit', '3'], /--lmit' \(Did you mean --limit\?\)/, 'callsheet run --help'],
    [['run'], /Missing required argument 'play'/, 'callsheet run --help'],
    [['run', 'x.play.ts', '--limit', '0'], /--limit <n>.*whole number from 1 up/, 'callsheet run --help'],
    [['run', 'x.play.ts', '--max-credits', 'many'], /number of credits/, 'callsheet run --help'],
    [['run', 'x.play.ts', '--fixtures', 'a', '--record', 'b'], /cannot be used with/, 'callsheet run --help'],
    [['run', 'x.play.ts', '--detach', '--record', 'b'], /cannot be used with/, 'callsheet run --help'],
    [
      ['run', 'x.play.ts', '--idempotency-key', ''],
      /--idempotency-key <key>.*must not be empty/,
      'callsheet run --help',
    ],
    [['signal', '--event', 'e'], /--data <json>.* not specified/, 'callsheet signal --help'],
    [['signal', '--data', '1'], /--event <name>.* not specified/, 'callsheet signal --help'],
    [['worker', '--concurrency', '0'], /whole number from 1 up/, 'callsheet worker --help'],
    [['why', 'last', '--column', 'a'], /--column is about the cells of a row/, "callsheet why last --row '#1'"],
    [['why', 'last', '--row', '#1', '--limit', '2'], /--limit is for calls that are in no cell/, 'callsheet why last'],
    [['runs', 'export', 'last', '--rows', 'some'], /one of all, completed, failed/, 'callsheet runs export --help'],
    [[], /No command was given/, 'callsheet --help'],
  ])('%j exits 2 and says what to type', async (args, message, next) => {
    const { exit, stdout, stderr } = await typed(...args);
    expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr).toContain(`→ ${next}`);
  });

  it('is JSON with --json', async () => {
    const { exit, stdout, stderr } = await typed('rnu', '--json');
    expect({ exit, stderr }).toEqual({ exit: 2, stderr: '' });
    expect(JSON.parse(stdout).error).toMatchObject({ code: 'USAGE', next: ['callsheet --help'] });
  });

  it('does not take the play for a tool that --refresh names', async () => {
    const { stderr } = await typed('run', '--refresh', '--limit', '0', 'x.play.ts');
    expect(stderr).toContain('--limit');
    expect((await typed('run', '--refresh', 'x.play.ts')).stderr).toContain('There is no play file /x.play.ts');
  });
});
