import type { CommanderError } from 'commander';
import { durationMs } from '../scope/index.ts';
import { CallsheetError } from '../sdk/index.ts';

/** What commander found wrong, as an error of ours with the help that fits. */
export function usageError(error: CommanderError, args: readonly string[]): CallsheetError {
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

/** Milliseconds of a duration that was typed, such as `30d`. Throws USAGE. */
export function typedDuration(option: string, text: string): number {
  const ms = durationMs(text);
  if (ms !== undefined) return ms;
  throw new CallsheetError('USAGE', `${option} must be a duration such as '30d', '12h' or '90s', not '${text}'.`, {
    next: [`${option} 30d`],
  });
}
