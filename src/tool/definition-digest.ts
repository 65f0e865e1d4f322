import { canonicalJson, digest, schemaAsJson } from '../scope/index.ts';
import type { SchemaLike, Tool } from '../sdk/index.ts';

/**
 * A digest of everything that a definition says, functions by their source text. What functions close over and checks
 * that JSON Schema has no word for are not seen, so it warns of a change and never proves that there was none.
 */
export function definitionDigest(tool: Tool): string {
  const { input, output, ...rest } = tool;
  return digest(canonicalJson({ ...asPlain(rest, 0), input: schemaPlain(input), output: schemaPlain(output) }));
}

const MAX_DEPTH = 12;

function asPlain(value: object, depth: number): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item, depth + 1)]));
}

function plain(value: unknown, depth: number): unknown {
  if (typeof value === 'function') return { source: value.toString().toWellFormed() };
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value === 'boolean' || value === null || value === undefined) return value;
  if (typeof value !== 'object' || depth > MAX_DEPTH) return String(value);
  return Array.isArray(value) ? value.map((item) => plain(item, depth + 1) ?? null) : asPlain(value, depth);
}

function schemaPlain(schema: SchemaLike | undefined): unknown {
  if (schema === undefined) return undefined;
  const standard = (schema as { '~standard'?: { vendor?: unknown } })['~standard'];
  const json = schemaAsJson(schema);
  return json === undefined ? { vendor: String(standard?.vendor) } : plain(json, 0);
}
