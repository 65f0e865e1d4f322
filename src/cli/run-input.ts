import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { CallsheetError, type JsonObject, type JsonValue } from '../sdk/index.ts';
import type { Terminal } from './terminal.ts';

export interface InputFlags {
  readonly input?: string | undefined;
  readonly csv?: string | undefined;
  readonly set?: readonly string[] | undefined;
}

/**
 * The input that `--input`, `--csv` and `--set` make together, the later over the earlier. The path of `--csv` stays as
 * it was typed: a run remembers the folder it was started from.
 */
export async function inputOf(terminal: Terminal, flags: InputFlags): Promise<JsonValue> {
  const { input, csv, set = [] } = flags;
  const base = input === undefined ? {} : await jsonOption(terminal, '--input', input);
  if (csv === undefined && set.length === 0) return base;
  if (!isObject(base))
    throw usage(`--csv and --set fill fields, and so need an object as input; --input is ${kindOf(base)}.`, input);
  const filled: Record<string, JsonValue> = { ...base, ...(csv !== undefined && { csv }) };
  for (const assignment of set) assign(filled, assignment);
  return filled;
}

/** The value of an option that takes JSON, `@file`, or `-` for stdin. Throws USAGE, FILE_NOT_FOUND, FILE_UNREADABLE. */
export async function jsonOption(terminal: Terminal, option: string, given: string): Promise<JsonValue> {
  const text = await givenText(terminal, option, given);
  try {
    return JSON.parse(text.replace(/^\uFEFF/, '')) as JsonValue;
  } catch (error) {
    const from = given === '-' ? 'stdin' : given.startsWith('@') ? given.slice(1) : option;
    const near = text.length <= 80 ? `: ${text}` : '';
    const problem = `The text from ${from} is not JSON (${(error as Error).message})${near}.`;
    throw option === '--input'
      ? usage(problem, given)
      : new CallsheetError('USAGE', problem, {
          details: { given },
          next: [`${option} '{"ok":true}'`, `${option} '"some text"'`, `${option} @file.json`],
        });
  }
}

async function givenText(terminal: Terminal, option: string, given: string): Promise<string> {
  if (given === '-') return textOf(terminal.stdin);
  if (!given.startsWith('@')) return given;
  const path = resolve(terminal.cwd, given.slice(1));
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CallsheetError(
      code === 'ENOENT' ? 'FILE_NOT_FOUND' : 'FILE_UNREADABLE',
      `The input file ${path} cannot be read (${code ?? String(error)}).`,
      { details: { file: path }, next: [`Name a JSON file: ${option} @file.json`] },
    );
  }
}

/** All of a stream as text. */
export async function textOf(source: Terminal['stdin']): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of source) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces).toString('utf8');
}

/** `a.b=1`: JSON where the value is JSON, else the text itself. */
function assign(target: Record<string, JsonValue>, assignment: string): void {
  const at = assignment.indexOf('=');
  const path = at === -1 ? [] : assignment.slice(0, at).split('.');
  if (path.length === 0 || path.some((name) => name === '' || name === '__proto__'))
    throw usage(`--set ${assignment} is not name=value.`, assignment);
  let place = target;
  for (const name of path.slice(0, -1)) {
    const inner = place[name] ?? {};
    if (!isObject(inner))
      throw usage(`--set ${assignment}: '${name}' is ${kindOf(inner)} already and has no fields.`, assignment);
    const copy = { ...inner };
    place[name] = copy;
    place = copy;
  }
  place[path.at(-1) ?? ''] = jsonOrText(assignment.slice(at + 1));
}

function jsonOrText(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function kindOf(value: JsonValue): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`;
}

function usage(message: string, given: string | undefined): CallsheetError {
  return new CallsheetError('USAGE', message, {
    details: { given: given ?? null },
    next: [`--input '{"csv":"leads.csv"}'`, '--input @input.json', '--set name=value'],
  });
}

const LONGEST_PATH = 4096;

/** Files that the input names, as absolute paths: what an output must not be written over. */
export function filesNamedIn(input: JsonValue, cwd: string): string[] {
  if (typeof input === 'string') {
    if (input === '' || input.length > LONGEST_PATH || /[\0\n]/.test(input)) return [];
    const path = resolve(cwd, input);
    return existsSync(path) ? [path] : [];
  }
  if (typeof input !== 'object' || input === null) return [];
  return Object.values(input).flatMap((value) => filesNamedIn(value, cwd));
}
