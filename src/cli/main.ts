import { CommanderError } from 'commander';
import type { Clock } from '../scope/index.ts';
import { onEarlyEnd } from './early-end.ts';
import { buildProgram } from './program.ts';
import { Terminal, type TextSink } from './terminal.ts';

/** How long a finished command may be kept alive by something that nobody waits for (ms). */
const LINGER_MS = 3_000;

/** The command line of this process. Sets the exit code and lets the process end by itself, so that pipes are emptied. */
export async function start(): Promise<void> {
  const { argv, stdout, stderr, stdin, env } = process;
  const json = argv.includes('--json');
  const terminal = new Terminal({ stdout: keptStdout(), stderr, stdin, env, cwd: process.cwd(), json });
  const onBrokenPipe = (error: NodeJS.ErrnoException): void => {
    if (error.code !== 'EPIPE') throw error;
    terminal.loseReader();
  };
  stdout.on('error', onBrokenPipe);
  stderr.on('error', onBrokenPipe);
  const ended = onEarlyEnd(terminal);
  const { exit, acted } = await main(argv.slice(2), terminal);
  ended();
  process.exitCode = exit;
  if (!acted) return;
  const { systemClock } = await import('../scope/index.ts');
  endSoon(systemClock);
}

/**
 * Keeps stdout for data. Whatever else writes there, a play while it is loaded or a library of its author's, goes to
 * stderr: with --json one stray line would spoil the document.
 */
function keptStdout(): TextSink {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
  return { write: (text) => write(text), once: (event, listener) => stdout.once(event, listener) };
}

/** Nobody waits for a connection that was left open; but a reader may be slow, and gets everything. */
function endSoon(clock: Clock): void {
  const { stdout, stderr } = process;
  clock.after(
    LINGER_MS,
    () => {
      if (stdout.writableLength + stderr.writableLength > 0) endSoon(clock);
      else process.exit();
    },
    { keepAlive: false },
  );
}

/**
 * Runs one command; resolves to its exit code and never rejects. Help and version load nothing but the declarations:
 * errors, too, are loaded when there is one.
 */
export async function main(
  args: readonly string[],
  terminal: Terminal,
): Promise<{ readonly exit: number; readonly acted: boolean }> {
  let exit: number | undefined;
  try {
    const program = buildProgram(terminal, (code) => {
      exit = code;
    });
    await program.parseAsync(withBareRefresh(args), { from: 'user' });
    return { exit: exit ?? 0, acted: exit !== undefined };
  } catch (error) {
    return { exit: await exitOfThrown(error, args, terminal), acted: true };
  }
}

async function exitOfThrown(error: unknown, args: readonly string[], terminal: Terminal): Promise<number> {
  // Help and version that were asked for end that way.
  if (error instanceof CommanderError && error.exitCode === 0) return 0;
  const { tellFailure } = await import('./failure.ts');
  if (!(error instanceof CommanderError)) return tellFailure(terminal, error);
  const { usageError } = await import('./usage-error.ts');
  return tellFailure(terminal, usageError(error, args));
}

/** `--refresh play.ts` must not take the play for the name of a tool: only `--refresh=…` has a value. */
function withBareRefresh(args: readonly string[]): string[] {
  const takesTools = (args.includes('run') || args.includes('rerun')) && !args.includes('tools');
  return args.map((arg) => (takesTools && arg === '--refresh' ? '--refresh=' : arg));
}
