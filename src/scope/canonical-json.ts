import type { JsonValue } from '../sdk/index.ts';

/** A value that is not plain JSON, and where it stands (`$.a[3].b`). */
export class NotJsonError extends TypeError {
  readonly path: string;
  readonly found: string;
  constructor(path: string, found: string) {
    super(`${path} is ${found}, which is not JSON`);
    this.name = 'NotJsonError';
    this.path = path;
    this.found = found;
  }
}

/**
 * The canonical text of a JSON value (RFC 8785): keys in UTF-16 order, ECMAScript numbers, no white space.
 * Properties that are undefined count as absent and `-0` as 0; everything else that is not plain JSON throws
 * `NotJsonError` instead of being guessed at.
 */
export function canonicalJson(value: unknown): string {
  return write(value, '$', 0);
}

const MAX_DEPTH = 512;
/** Up to this many keys are sorted by insertion. */
const MOST_INSERTED = 12;

function write(value: unknown, path: string, depth: number): string {
  switch (typeof value) {
    case 'string':
      return quote(value, path);
    case 'number':
      if (!Number.isFinite(value)) throw new NotJsonError(path, String(value));
      return value === 0 ? '0' : String(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      if (value === null) return 'null';
      // A cycle is only ever met as unbounded depth, so no set of ancestors is kept on the hot path.
      if (depth > MAX_DEPTH) throw new NotJsonError(path, 'a cycle, or nested deeper than 512 levels');
      return Array.isArray(value) ? writeArray(value, path, depth) : writeObject(value, path, depth);
    default:
      throw new NotJsonError(path, typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`);
  }
}

function writeArray(value: readonly unknown[], path: string, depth: number): string {
  let text = '[';
  for (let index = 0; index < value.length; index++) {
    if (index > 0) text += ',';
    const item = value[index];
    text += typeof item === 'string' ? quote(item, path) : write(item, `${path}[${index}]`, depth + 1);
  }
  return `${text}]`;
}

function writeObject(value: object, path: string, depth: number): string {
  refuseNonPlain(value, path);
  const record = value as Record<string, unknown>;
  const keys = inOrder(Object.keys(record));
  let text = '{';
  for (const key of keys) {
    const item = record[key];
    if (item === undefined) continue;
    if (text.length > 1) text += ',';
    text += quotedKey(key, path);
    text += typeof item === 'string' ? quote(item, path) : write(item, `${path}.${key}`, depth + 1);
  }
  return `${text}}`;
}

/** Sorts in place. Objects are small as a rule, and `sort` allocates more than it compares for two keys. */
function inOrder(keys: string[]): readonly string[] {
  if (keys.length > MOST_INSERTED) return keys.sort();
  for (let index = 1; index < keys.length; index++) {
    const key = keys[index] ?? '';
    let at = index;
    for (let before = keys[at - 1] ?? ''; at > 0 && before > key; before = keys[at - 1] ?? '') {
      keys[at] = before;
      at--;
    }
    keys[at] = key;
  }
  return keys;
}

function refuseNonPlain(value: object, path: string): void {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return;
  // Objects of another realm (a play is loaded in this one, a test may not be) have a foreign Object.prototype.
  if (Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, 'hasOwnProperty')) return;
  const name = (prototype as { constructor?: { name?: string } }).constructor?.name;
  throw new NotJsonError(path, name ? `an instance of ${name}` : 'an object that is not plain');
}

function quote(text: string, path: string): string {
  if (!text.isWellFormed()) throw new NotJsonError(path, 'a string with a lone surrogate');
  return JSON.stringify(text);
}

const quotedKeys = new Map<string, string>();
const MOST_QUOTED_KEYS = 1_000;

/** `"key":`. The same few keys come again in every row, so their texts are kept. */
function quotedKey(key: string, path: string): string {
  const known = quotedKeys.get(key);
  if (known !== undefined) return known;
  const quoted = `${quote(key, path)}:`;
  if (quotedKeys.size < MOST_QUOTED_KEYS) quotedKeys.set(key, quoted);
  return quoted;
}

/** A deep copy as plain JSON, by the same rules as `canonicalJson`. */
export function toJson(value: unknown): JsonValue {
  return JSON.parse(canonicalJson(value)) as JsonValue;
}
