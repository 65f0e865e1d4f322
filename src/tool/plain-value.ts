import { canonicalJson, NotJsonError } from '../scope/index.ts';
import type { JsonValue } from '../sdk/index.ts';
import type { Redactor } from './redaction.ts';

const MAX_DEPTH = 512;

/**
 * A deep copy of a plain JSON value, in one pass and without making text of it. A copy, because a function may hand out an
 * object that it keeps and changes later. By the rules of `canonicalJson`: undefined properties count as absent, `-0`
 * as 0, anything else that is not JSON throws `NotJsonError` with its path.
 */
export function plainValue(value: unknown, redactor: Redactor | undefined): JsonValue {
  const copy = copyOf(value, redactor, 0);
  if (copy !== NOT_JSON) return copy as JsonValue;
  // The quick pass keeps no paths; the thorough one says where it is.
  canonicalJson(value);
  throw new NotJsonError('$', 'a value that changed while it was read');
}

const NOT_JSON = Symbol('not JSON');

function copyOf(value: unknown, redactor: Redactor | undefined, depth: number): unknown {
  switch (typeof value) {
    case 'string':
      if (!value.isWellFormed()) return NOT_JSON;
      return redactor === undefined ? value : redactor.text(value);
    case 'number':
      if (!Number.isFinite(value)) return NOT_JSON;
      return value === 0 ? 0 : value;
    case 'boolean':
      return value;
    case 'object':
      if (value === null) return null;
      if (depth > MAX_DEPTH) return NOT_JSON;
      return Array.isArray(value) ? copyOfArray(value, redactor, depth) : copyOfObject(value, redactor, depth);
    default:
      return NOT_JSON;
  }
}

function copyOfArray(value: readonly unknown[], redactor: Redactor | undefined, depth: number): unknown {
  const copy: unknown[] = [];
  for (let index = 0; index < value.length; index++) {
    const item = copyOf(value[index], redactor, depth + 1);
    if (item === NOT_JSON) return NOT_JSON;
    copy.push(item);
  }
  return copy;
}

function copyOfObject(value: object, redactor: Redactor | undefined, depth: number): unknown {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null && !isForeignPlain(prototype as object)) return NOT_JSON;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const item = (value as Record<string, unknown>)[key];
    if (item === undefined) continue;
    const copied = copyOf(item, redactor, depth + 1);
    if (copied === NOT_JSON || !key.isWellFormed()) return NOT_JSON;
    const name = redactor === undefined ? key : redactor.text(key);
    if (name === '__proto__')
      Object.defineProperty(copy, name, { value: copied, enumerable: true, writable: true, configurable: true });
    else copy[name] = copied;
  }
  return copy;
}

/** Objects of another realm, such as a test runner's, have an Object.prototype of their own. */
function isForeignPlain(prototype: object): boolean {
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'hasOwnProperty');
}
