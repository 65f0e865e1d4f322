import { inspect } from 'node:util';
import { CallsheetError, type SecretHandle, SecretLeakError } from '../sdk/index.ts';
import { checkSecretName } from './names.ts';

const BRAND = Symbol.for('callsheet.secret');
const HTTP_TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** How a handle becomes a header; a bare handle counts as a bearer token. */
interface AuthForm {
  readonly header: string;
  readonly prefix: string;
}

const BEARER: AuthForm = { header: 'authorization', prefix: 'Bearer ' };

/** Holds a name and no value: whatever tries to make text or JSON of it throws `SecretLeakError`. */
class Handle {
  readonly name: string;
  readonly #form: AuthForm;

  constructor(name: string, form: AuthForm) {
    this.name = name;
    this.#form = form;
    Object.defineProperty(this, BRAND, { value: true });
    Object.freeze(this);
  }

  static formOf(handle: object): AuthForm {
    return #form in handle ? handle.#form : BEARER;
  }

  toJSON(): never {
    throw leak(this.name, 'was about to be written as JSON');
  }
  toString(): never {
    throw leak(this.name, 'was about to become text');
  }
  valueOf(): never {
    throw leak(this.name, 'was about to become a plain value');
  }
  [Symbol.toPrimitive](): never {
    throw leak(this.name, 'was about to become text');
  }
  [inspect.custom](): string {
    return `[secret ${this.name}]`;
  }
}

function leak(name: string, how: string): SecretLeakError {
  return new SecretLeakError(`The handle of the secret ${name} ${how}.`, {
    details: { secret: name },
    next: ['Pass handles only to `auth` of ctx.fetch; in a tool, read the secret with `secret()`.'],
  });
}

function made(name: string, form: AuthForm): SecretHandle {
  return new Handle(name, form) as unknown as SecretHandle;
}

/** Throws `SECRET_NAME_INVALID`. Whether the secret is declared and set is the caller's to check. */
export function makeSecretHandle(name: string): SecretHandle {
  return made(checkSecretName(name), BEARER);
}

/** Also true for handles of another copy of this module. */
export function isSecretHandle(value: unknown): value is SecretHandle {
  return typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[BRAND] === true;
}

/** A handle that stands for `Authorization: Bearer <value>`. */
export function bearer(secret: SecretHandle | string): SecretHandle {
  return made(nameOf(secret), BEARER);
}

/** A handle that stands for the value alone in the header `name`. Throws `FETCH_INVALID` where that is no header name. */
export function header(name: string, secret: SecretHandle | string): SecretHandle {
  if (typeof name !== 'string' || !HTTP_TOKEN.test(name))
    throw new CallsheetError(
      'FETCH_INVALID',
      'ctx.secrets.header: the first argument is not the name of an HTTP header.',
      {
        next: ["Write ctx.secrets.header('X-Api-Key', secret)."],
      },
    );
  return made(nameOf(secret), { header: name.toLowerCase(), prefix: '' });
}

function nameOf(secret: SecretHandle | string): string {
  return checkSecretName(isSecretHandle(secret) ? secret.name : secret);
}

/** Headers with plain values, and the values by name so that they can be redacted. Must not leave a transport. */
export interface ResolvedAuth {
  readonly headers: Readonly<Record<string, string>>;
  readonly secrets: ReadonlyMap<string, string>;
}

/**
 * What `auth` stands for. Throws `FETCH_INVALID` where something is no handle, or two stand for one header, and
 * `SECRET_MISSING` where one is not set.
 */
export function resolveAuth(
  handles: SecretHandle | readonly SecretHandle[] | undefined,
  read: (name: string) => string | undefined,
): ResolvedAuth {
  const headers: Record<string, string> = {};
  const secrets = new Map<string, string>();
  const list: readonly unknown[] = handles === undefined ? [] : Array.isArray(handles) ? handles : [handles];
  for (const handle of list) {
    if (!isSecretHandle(handle))
      throw authRefusal('takes handles of ctx.secrets only; a plain value would be recorded');
    const { header: name, prefix } = Handle.formOf(handle);
    if (Object.hasOwn(headers, name)) throw authRefusal(`has two handles for the header ${name}`);
    const value = secretValue(handle.name, read);
    headers[name] = `${prefix}${value}`;
    secrets.set(handle.name, value);
  }
  return { headers, secrets };
}

function authRefusal(problem: string): CallsheetError {
  return new CallsheetError('FETCH_INVALID', `\`auth\` of ctx.fetch ${problem}.`, {
    next: ["Write auth: ctx.secrets.bearer('MY_API_KEY')."],
  });
}

function secretValue(name: string, read: (name: string) => string | undefined): string {
  const value = read(name);
  if (value !== undefined && value !== '') return value;
  throw new CallsheetError('SECRET_MISSING', `The secret ${name} is not set.`, {
    details: { secret: name },
    next: [`callsheet secrets set ${name}`, `Or set ${name} in the environment or in .env.`],
  });
}

/**
 * Where a handle stands within a value: '$' for the value itself, else a path such as `$.headers[0].key`; undefined where
 * there is none. Looks into objects, arrays, maps and sets, each once, so that cycles and depth do no harm.
 */
export function findSecretHandle(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (isSecretHandle(value)) return '$';
  if (isFlat(value)) return undefined;
  const seen = new Set<object>([value]);
  const paths = new Map<object, string>([[value, '$']]);
  // A map yields its entries in the order in which they were added, also those added while it is walked.
  for (const [holder, path] of paths) {
    const isList = Array.isArray(holder) || holder instanceof Map || holder instanceof Set;
    for (const [key, item] of isList ? listEntries(holder) : Object.entries(holder)) {
      if (typeof item !== 'object' || item === null || seen.has(item)) continue;
      const itemPath = isList ? `${path}[${key}]` : `${path}${propertyPath(String(key))}`;
      if (isSecretHandle(item)) return itemPath;
      seen.add(item);
      paths.set(item, itemPath);
    }
    paths.delete(holder);
  }
  return undefined;
}

/** Most inputs are flat objects: they cost one look at each value. */
function isFlat(value: object): boolean {
  if (Array.isArray(value) || value instanceof Map || value instanceof Set) return false;
  for (const key of Object.keys(value)) {
    const item = (value as Record<string, unknown>)[key];
    if (typeof item === 'object' && item !== null) return false;
  }
  return true;
}

function* listEntries(list: readonly unknown[] | Map<unknown, unknown> | Set<unknown>): Generator<[number, unknown]> {
  const items = Array.isArray(list) ? list : list instanceof Map ? [...list.keys(), ...list.values()] : [...list];
  for (let index = 0; index < items.length; index++) yield [index, items[index]];
}

function propertyPath(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}
