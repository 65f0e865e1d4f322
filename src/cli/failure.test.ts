import { describe, expect, it } from 'vitest';
import { CallsheetError, OutOfCreditsError } from '../sdk/index.ts';
import { failureLines, failureOf, tellFailure } from './failure.ts';
import { Terminal, type TextSink } from './terminal.ts';

function captured(options: { json: boolean; env?: Record<string, string> }) {
  const written = { stdout: '', stderr: '' };
  const sink = (name: 'stdout' | 'stderr'): TextSink => ({
    write: (text) => {
      written[name] += text;
      return true;
    },
    once: () => undefined,
  });
  const stdin = { async *[Symbol.asyncIterator]() {} };
  const parts = { stdout: sink('stdout'), stderr: sink('stderr'), stdin, cwd: '/', env: options.env ?? {} };
  return { written, terminal: new Terminal({ ...parts, json: options.json }) };
}

const missing = new CallsheetError('RUN_NOT_FOUND', 'There is no run x.', {
  details: { runId: 'x' },
  next: ['callsheet runs list'],
});

describe('a failed command', () => {
  it('tells code, message and the next step on stderr, and nothing on stdout', async () => {
    const { written, terminal } = captured({ json: false });
    expect(await tellFailure(terminal, missing)).toBe(4);
    expect(written).toEqual({ stdout: '', stderr: 'RUN_NOT_FOUND: There is no run x.\n  → callsheet runs list\n' });
  });

  it('prints no second document behind one that is written, but tells it on stderr', async () => {
    const { written, terminal } = captured({ json: true });
    await terminal.document({ run: {} });
    expect(await tellFailure(terminal, missing)).toBe(4);
    expect([JSON.parse(written.stdout), written.stderr.split('\n')[0]]).toEqual([
      { run: {} },
      'RUN_NOT_FOUND: There is no run x.',
    ]);
  });

  it('prints one JSON document on stdout with --json', async () => {
    const { written, terminal } = captured({ json: true });
    await tellFailure(terminal, missing);
    expect(JSON.parse(written.stdout)).toEqual({
      error: {
        code: 'RUN_NOT_FOUND',
        message: 'There is no run x.',
        details: { runId: 'x' },
        next: ['callsheet runs list'],
      },
    });
    expect(written.stderr).toBe('');
  });

  it('exits by its code', () => {
    expect(failureOf(new OutOfCreditsError('none left')).exit).toBe(1);
    expect(failureOf(new CallsheetError('USAGE', 'wrong')).exit).toBe(2);
    expect(failureOf(new CallsheetError('CONFIG_INVALID', 'wrong')).exit).toBe(3);
    expect(failureOf(new CallsheetError('RUN_INTERRUPTED', 'stopped')).exit).toBe(130);
  });

  it('calls what nobody foresaw a fault of its own, without a stack', async () => {
    const { written, terminal } = captured({ json: false });
    expect(await tellFailure(terminal, new TypeError('x is not a function'))).toBe(1);
    expect(written.stderr).toContain('INTERNAL: A fault of Callsheet itself: TypeError: x is not a function');
    expect(written.stderr).toContain('CALLSHEET_DEBUG=1');
    expect(written.stderr).not.toContain('    at ');
  });

  it('shows the stack when asked to', async () => {
    const { written, terminal } = captured({ json: false, env: { CALLSHEET_DEBUG: '1' } });
    await tellFailure(terminal, new TypeError('x'));
    expect(written.stderr).toContain('    at ');
  });

  it('also tells what was thrown and is no error', () => {
    expect(failureLines(failureOf('text'))[0]).toBe('INTERNAL: A fault of Callsheet itself: text');
  });
});
