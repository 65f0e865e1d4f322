import { createRequire } from 'node:module';
import type { ErrorObject } from 'ajv';
import type { JsonSchema, SchemaLike } from '../sdk/index.ts';

/** Where a value does not fit (`people[0].email`; '' is the value itself) and why, in words. */
export interface SchemaIssue {
  readonly path: string;
  readonly message: string;
}

export type SchemaVerdict<Value = unknown> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly issues: readonly SchemaIssue[] };

/** The schema itself cannot be used; the caller says whose it is. */
export class SchemaUnusableError extends TypeError {
  constructor(problem: string, cause?: unknown) {
    super(problem, cause === undefined ? undefined : { cause });
    this.name = 'SchemaUnusableError';
  }
}

type Check = (value: unknown) => SchemaVerdict | Promise<SchemaVerdict>;

interface StandardProps {
  readonly vendor?: unknown;
  readonly validate?: unknown;
  readonly jsonSchema?: unknown;
}

interface StandardResult {
  readonly value?: unknown;
  readonly issues?: readonly { readonly message: string; readonly path?: readonly unknown[] | undefined }[] | undefined;
}

const checks = new WeakMap<object, Check>();

/**
 * Checks a value against a Standard Schema or a JSON Schema (draft 2020-12, or draft 7 where `$schema` says so).
 * Synchronous unless a Standard Schema validates asynchronously. `value` is what the schema made of the input
 * (a Standard Schema may fill in defaults or transform; a JSON Schema changes nothing, and reads `format` as a
 * remark, as its standard has it). Throws `SchemaUnusableError` where the schema itself is broken.
 */
export function validateWith<Value = unknown>(
  schema: SchemaLike<Value>,
  value: unknown,
): SchemaVerdict<Value> | Promise<SchemaVerdict<Value>> {
  return checkOf(schema)(value) as SchemaVerdict<Value> | Promise<SchemaVerdict<Value>>;
}

/** Loads and compiles ahead what `validateWith` needs. Rejects with `SchemaUnusableError` where the schema is broken. */
export async function prepareSchema(schema: SchemaLike): Promise<void> {
  checkOf(schema);
}

/** The schema as JSON Schema (draft 2020-12) for people and agents to read; undefined where it cannot be told. */
export function schemaAsJson(schema: SchemaLike, side: 'input' | 'output' = 'input'): JsonSchema | undefined {
  const standard = standardProps(schema);
  if (standard === undefined) return schema as JsonSchema;
  const converters = standard.jsonSchema as Partial<Record<string, unknown>> | undefined;
  const convert = converters?.[side];
  if (typeof convert !== 'function') return undefined;
  try {
    return convert.call(converters, { target: 'draft-2020-12' }) as JsonSchema;
  } catch {
    // A schema with parts that JSON Schema has no word for (a Date, a custom check) is simply not shown.
    return undefined;
  }
}

function checkOf(schema: SchemaLike): Check {
  if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null)
    throw new SchemaUnusableError(
      `a schema must be a Standard Schema or a JSON Schema object, not ${typeName(schema)}`,
    );
  const known = checks.get(schema);
  if (known !== undefined) return known;
  const standard = standardProps(schema);
  const check = standard === undefined ? jsonSchemaCheck(schema as JsonSchema) : standardCheck(standard);
  checks.set(schema, check);
  return check;
}

/** Arktype's schemas are functions, so a schema is not always an object. */
function standardProps(schema: SchemaLike): StandardProps | undefined {
  const props = (schema as { readonly '~standard'?: unknown })['~standard'];
  if (typeof props === 'object' && props !== null) return props as StandardProps;
  if (typeof schema === 'function')
    throw new SchemaUnusableError('a schema must be a Standard Schema or a JSON Schema object, not a function');
  return undefined;
}

function standardCheck(standard: StandardProps): Check {
  const validate = standard.validate;
  if (typeof validate !== 'function') throw new SchemaUnusableError('a Standard Schema without a validate function');
  return (value) => {
    try {
      const result = validate.call(standard, value) as StandardResult | Promise<StandardResult>;
      return result instanceof Promise ? result.then(verdictOf, threw) : verdictOf(result);
    } catch (error) {
      return threw(error);
    }
  };
}

/** A check that throws on a value has at least not accepted it. */
function threw(error: unknown): SchemaVerdict {
  const message = error instanceof Error ? error.message : String(error);
  return { ok: false, issues: [{ path: '', message: `the schema threw: ${message}` }] };
}

function verdictOf(result: StandardResult): SchemaVerdict {
  if (result.issues === undefined) return { ok: true, value: result.value };
  const issues = result.issues.map((issue) => ({ path: pathText(issue.path ?? []), message: issue.message }));
  return { ok: false, issues };
}

function pathText(segments: readonly unknown[]): string {
  let text = '';
  for (const segment of segments) {
    const key = typeof segment === 'object' && segment !== null ? (segment as { key: unknown }).key : segment;
    if (typeof key === 'number' || (typeof key === 'string' && /^\d+$/.test(key))) text += `[${key}]`;
    else text += text === '' ? String(key) : `.${String(key)}`;
  }
  return text;
}

interface AjvLike {
  compile(schema: JsonSchema): ((value: unknown) => boolean) & { errors?: readonly ErrorObject[] | null };
  removeSchema(schema: JsonSchema): unknown;
}

const compilers = new Map<'ajv' | 'ajv/dist/2020.js', AjvLike>();

/** Ajv costs 60 ms to load, so only what meets a JSON Schema loads it; by `require`, so that checks stay synchronous. */
function compilerFor(schema: JsonSchema): AjvLike {
  const module = /draft-0[67]/.test(String(schema.$schema ?? '')) ? 'ajv' : 'ajv/dist/2020.js';
  const known = compilers.get(module);
  if (known !== undefined) return known;
  const { default: Ajv } = createRequire(import.meta.url)(module) as { default: new (options: object) => AjvLike };
  const compiler = new Ajv({ allErrors: true, strict: false, validateFormats: false, logger: false });
  compilers.set(module, compiler);
  return compiler;
}

function jsonSchemaCheck(schema: JsonSchema): Check {
  const compiler = compilerFor(schema);
  try {
    const validate = compiler.compile(schema);
    return (value) =>
      validate(value)
        ? { ok: true, value }
        : { ok: false, issues: distinct((validate.errors ?? []).map((error) => issueOf(error))) };
  } catch (error) {
    throw new SchemaUnusableError(`not a JSON Schema: ${error instanceof Error ? error.message : error}`, error);
  } finally {
    // Ajv would keep every schema for ever, and refuse a second one with the same $id.
    compiler.removeSchema(schema);
  }
}

function issueOf(error: ErrorObject): SchemaIssue {
  const segments = error.instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const params = error.params as Readonly<Record<string, unknown>>;
  const at = (name: unknown): string => pathText([...segments, name]);
  switch (error.keyword) {
    case 'required':
      return { path: at(params.missingProperty), message: 'is required' };
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return { path: at(params[error.keyword.replace('Properties', 'Property')]), message: 'is not a known field' };
    case 'enum':
      return { path: pathText(segments), message: `must be one of ${JSON.stringify(params.allowedValues)}` };
    case 'const':
      return { path: pathText(segments), message: `must be ${JSON.stringify(params.allowedValue)}` };
    default:
      return { path: pathText(segments), message: error.message ?? `fails ${error.keyword}` };
  }
}

function distinct(issues: readonly SchemaIssue[]): readonly SchemaIssue[] {
  return [...new Map(issues.map((issue) => [`${issue.path}\n${issue.message}`, issue])).values()];
}

function typeName(value: unknown): string {
  return value === null ? 'null' : `a ${typeof value}`;
}
