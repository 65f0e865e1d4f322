import { CommanderError } from 'commander';
import { systemClock } from '../scope/index.ts';
import { CallsheetError } from '../sdk/index.ts';
import { tellFailure } from './failure.ts';
import { buildProgram } from './program.ts';
import { Terminal } from './terminal.ts';

/** How long a finished command may be kept alive by something that nobody waits for (ms). */
const LINGER_MS = 3_000;

/** The command line of this process. Sets the exit code and lets the process end by itself, so that pipes are emptied. */
export async function start(): Promise<void> {
  const { argv, stdout, stderr, stdin, env } = process;
  const terminal = new Terminal({ stdout, stderr, stdin, env, cwd: process.cwd(), json: argv.includes('--json') });
  const onBrokenPipe = (error: NodeJS.ErrnoException): void => {
    if (error.code !== 'EPIPE') throw error;
    terminal.loseReader();
  };
  stdout.on('error', onBrokenPipe);
  stderr.on('error', onBrokenPipe);
  process.exitCode = await main(argv.slice(2), terminal);
  systemClock.after(LINGER_MS, () => process.exit(), { keepAlive: false });
}

/** Runs one command; resolves to its exit code and never rejects. */
export async function main(args: readonly string[], terminal: Terminal): Promise<number> {
  let exit = 0;
  try {
    const program = buildProgram(terminal, (code) => {
      exit = code;
    });
    await program.parseAsync(withBareRefresh(args), { from: 'user' });
    return exit;
  } catch (error) {
    if (!(error instanceof CommanderError)) return tellFailure(terminal, error);
    if (error.code === 'commander.helpDisplayed' || error.code === 'commander.version') return 0;
    return tellFailure(terminal, usageError(error, args));
  }
}

/** `--refresh play.ts` must not take the play for the name of a tool: only `--refresh=…` has a value. */
function withBareRefresh(args: readonly string[]): string[] {
  const isRun = args.includes('run') && !args.includes('tools');
  return args.map((arg) => (isRun && arg === '--refresh' ? '--refresh=' : arg));
}

function usageError(error: CommanderError, args: readonly string[]): CallsheetError {
  const command = args.filter((arg) => /^[a-z]+$/.test(arg)).slice(0, 2);
  const asked = error.code === 'commander.unknownCommand' ? command.slice(0, -1) : command;
  const message = error.code === 'commander.help' ? 'No command was given.' : sentence(error.message);
  return new CallsheetError('USAGE', message, {
    next: [['callsheet', ...knownWords(asked), '--help'].join(' ')],
  });
}

const FAMILIES: ReadonlySet<string> = new Set(['runs', 'tools', 'receipts', 'secrets']);

/** The words of a command, without what follows them. */
function knownWords(words: readonly string[]): readonly string[] {
  const [first, second] = words;
  if (first === undefined) return [];
  return FAMILIES.has(first) && second !== undefined ? [first, second] : [first];
}

function sentence(message: string): string {
  const text = message
    .replace(/^error: /, '')
    .replace(/\s*\n\s*/g, ' ')
    .trim();
  const ended = /[.)?]$/.test(text) ? text : `${text}.`;
  return ended.charAt(0).toUpperCase() + ended.slice(1);
}
