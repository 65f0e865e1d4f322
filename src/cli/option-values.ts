import { InvalidArgumentError } from 'commander';

/** A whole number from 1 up. */
export function count(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= 1) return value;
  throw new InvalidArgumentError('It must be a whole number from 1 up.');
}

/** A whole number from 0 up. */
export function wholeNumber(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError('It must be a whole number from 0 up.');
}

/** A number of credits from 0 up. */
export function credits(text: string): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && Number.isFinite(value)) return value;
  throw new InvalidArgumentError('It must be a number of credits from 0 up, such as 500.');
}

/** `--refresh`: everything, or the tools that are named. */
export function refreshed(text: string): 'all' | readonly string[] {
  const tools = text.split(',').map((name) => name.trim());
  if (text.trim() === '') return 'all';
  if (tools.every((name) => name !== '')) return tools;
  throw new InvalidArgumentError('It must be names of tools with commas between them.');
}

export function collected(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

/** One of a few words. */
export function oneOf<Word extends string>(words: readonly Word[]): (text: string) => Word {
  return (text) => {
    const word = words.find((one) => one === text);
    if (word !== undefined) return word;
    throw new InvalidArgumentError(`It must be one of ${words.join(', ')}.`);
  };
}

/** A text that says something. */
export function text(given: string): string {
  if (given.trim() !== '') return given;
  throw new InvalidArgumentError('It must not be empty.');
}

/** The id of a wait, such as `wait_12`. */
export function waitNumber(given: string): number {
  const number = Number(/^(?:wait_)?(\d+)$/.exec(given)?.[1]);
  if (Number.isSafeInteger(number)) return number;
  throw new InvalidArgumentError("It must be the id of a wait, such as wait_12, which 'callsheet runs show' lists.");
}
