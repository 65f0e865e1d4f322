import { canonicalJson, hexDigest, type NotJsonError } from '../scope/index.ts';
import { CallsheetError, type JsonValue } from '../sdk/index.ts';
import type { KeyPlan } from './plan.ts';

/** An input row as the code sees it. */
export type InputRow = Readonly<Record<string, unknown>>;

/** Makes the keys of a dataset's rows. */
export interface KeySpec {
  readonly plan: KeyPlan;
  /** Only where the author gave a function. */
  readonly fn: ((row: InputRow, index: number) => unknown) | undefined;
}

/** Why a row has no key. */
export class KeyProblem {
  readonly code: 'ROW_KEY_INVALID' | 'ROW_KEY_UNSTABLE';
  readonly why: string;
  constructor(code: KeyProblem['code'], why: string) {
    this.code = code;
    this.why = why;
  }
}

/** What `.run({ key })` was given, checked. Throws `DATASET_DEFINITION_INVALID`. */
export function keySpecOf(key: unknown, dataset: string): KeySpec {
  const refuse = (problem: string): never => {
    throw new CallsheetError('DATASET_DEFINITION_INVALID', `Dataset '${dataset}': ${problem}.`, {
      details: { dataset },
      next: ["Give `key` as a field name, a list of field names, or a function: .run({ key: 'email' })."],
    });
  };
  const field = (name: unknown): string =>
    typeof name === 'string' && name !== '' ? name : refuse('a key field is a name that is not empty');
  if (key === undefined || key === null) return { plan: { kind: 'content' }, fn: undefined };
  if (typeof key === 'function') return { plan: { kind: 'function' }, fn: key as NonNullable<KeySpec['fn']> };
  if (typeof key === 'string') return { plan: { kind: 'field', field: field(key) }, fn: undefined };
  if (!Array.isArray(key)) return refuse(`\`key\` is ${typeof key}`);
  if (key.length === 0) return refuse('`key` is an empty list');
  const fields = key.map(field);
  if (new Set(fields).size < fields.length) return refuse('`key` names a field twice');
  return { plan: { kind: 'fields', fields }, fn: undefined };
}

/** Field names that the key reads. */
export function keyFields(plan: KeyPlan): readonly string[] {
  if (plan.kind === 'field') return [plan.field];
  return plan.kind === 'fields' ? plan.fields : [];
}

/**
 * The canonical text of a row's key, or why it has none. A key function is called twice on the same row, since one that
 * answers differently would make another row of it on every attempt.
 */
export function keyText(spec: KeySpec, row: InputRow, index: number): string | KeyProblem {
  const { plan, fn } = spec;
  if (plan.kind === 'content') return canonicalJson(row);
  if (plan.kind === 'field') return scalarText(row[plan.field], `field '${plan.field}'`);
  if (plan.kind === 'fields') return fieldsText(plan.fields, row);
  try {
    const first = fn?.(row, index);
    const text = scalarText(first, 'the key function’s value');
    if (text instanceof KeyProblem) return text;
    const again = fn?.(row, index);
    if (Object.is(first, again)) return text;
    return new KeyProblem('ROW_KEY_UNSTABLE', `gave ${shown(first)} first and ${shown(again)} on a second call`);
  } catch (error) {
    return new KeyProblem(
      'ROW_KEY_INVALID',
      `the key function threw: ${error instanceof Error ? error.message : error}`,
    );
  }
}

function fieldsText(fields: readonly string[], row: InputRow): string | KeyProblem {
  let text = '';
  for (const field of fields) {
    const part = scalarText(row[field], `field '${field}'`);
    if (part instanceof KeyProblem) return part;
    text += text === '' ? part : `,${part}`;
  }
  return `[${text}]`;
}

function scalarText(value: unknown, what: string): string | KeyProblem {
  if (typeof value === 'string' && value.trim() !== '' && value.isWellFormed()) return JSON.stringify(value);
  if (typeof value === 'number' && Number.isFinite(value)) return value === 0 ? '0' : String(value);
  if (typeof value === 'boolean') return String(value);
  return new KeyProblem('ROW_KEY_INVALID', `${what} is ${shown(value)}`);
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === 'string') return value.trim() === '' ? 'empty' : JSON.stringify(value.slice(0, 80));
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'then' in value ? 'a promise' : 'an object';
  return typeof value === 'function' ? 'a function' : String(value);
}

/** The digest of a key's text, as 64 hexadecimal digits; frames keep the first 32. */
export function keyDigest(text: string): string {
  return hexDigest(text);
}

/** The digest of a row that repeats an earlier one's content, as its occurrence number 1, 2, 3 … */
export function occurrenceDigest(contentDigest: string, occurrence: number): string {
  return hexDigest(`${contentDigest.slice(0, 32)}#${occurrence}`);
}

/** What people call a row: its key's values, or its number where the key is no text. */
export function rowName(spec: KeySpec, row: InputRow, ordinal: number): string {
  const { plan, fn } = spec;
  const fields = keyFields(plan);
  if (fields.length > 0) return fields.map((field) => String(row[field])).join(',');
  if (plan.kind === 'function' && fn !== undefined) {
    try {
      return String(fn(row, ordinal));
    } catch {
      // Its number says as well which row it is.
    }
  }
  return `#${ordinal + 1}`;
}

/**
 * The keys (32 hexadecimal digits) that a person may mean by a text: a value, values joined with commas, or a JSON list.
 * Values of files are strings and those of other sources may be numbers, so both are tried.
 */
export function keyCandidates(plan: KeyPlan, text: string): ReadonlySet<string> {
  const digests = new Set<string>();
  const add = (values: readonly JsonValue[], list: boolean): void => {
    for (const one of spellings(values))
      digests.add(keyDigest(list ? `[${one.join(',')}]` : one.join(',')).slice(0, 32));
  };
  if (plan.kind === 'field' || plan.kind === 'function') add([text], false);
  if (plan.kind === 'fields') {
    const listed = jsonList(text);
    if (listed !== undefined && listed.length === plan.fields.length) add(listed, true);
    for (const split of splits(text.split(','), plan.fields.length)) add(split, true);
  }
  return digests;
}

const MOST_CANDIDATES = 4096;

/** Canonical texts of the values, with every value that reads as a number or boolean also as that. */
function spellings(values: readonly JsonValue[]): string[][] {
  let all: string[][] = [[]];
  for (const value of values) {
    const texts = [canonicalJson(value)];
    if (typeof value === 'string' && /^(-?\d|true$|false$)/.test(value)) {
      const read = parsed(value);
      if (typeof read === 'number' || typeof read === 'boolean') texts.push(canonicalJson(read));
    }
    all = all.flatMap((before) => texts.map((text) => [...before, text])).slice(0, MOST_CANDIDATES);
  }
  return all;
}

/** The ways to put neighbouring pieces together again so that `count` values result: a value may hold commas itself. */
function splits(pieces: readonly string[], count: number): string[][] {
  if (pieces.length < count) return [];
  if (count === 1) return [[pieces.join(',')]];
  const all: string[][] = [];
  for (let head = 1; head <= pieces.length - count + 1 && all.length < MOST_CANDIDATES; head++)
    for (const rest of splits(pieces.slice(head), count - 1)) all.push([pieces.slice(0, head).join(','), ...rest]);
  return all;
}

function jsonList(text: string): readonly JsonValue[] | undefined {
  const value = parsed(text);
  return Array.isArray(value) ? value : undefined;
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** The path of a `NotJsonError` below a place that has a name of its own. */
export function placedPath(error: NotJsonError, place: string): string {
  return `${place}${error.path.slice(1)}`;
}
