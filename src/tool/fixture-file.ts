import { canonicalJson, hexDigest } from '../scope/index.ts';
import { CallsheetError, type JsonValue } from '../sdk/index.ts';
import type { CatalogueTool, Delivered, Failure, RawAnswer } from './port.ts';

const FORMAT = 1;

/** `hunter.email_finder@1--<24 hex digits>.json`: the digest tells inputs, and ids that differ in odd characters, apart. */
export function fixtureName(tool: CatalogueTool, version: string, input: JsonValue): string {
  const digits = hexDigest(canonicalJson([tool.id, version, input])).slice(0, 24);
  const plain = `${tool.id}@${version}`.replace(/[^\w.@-]/g, '_').slice(0, 120);
  return `${plain}--${digits}.json`;
}

/**
 * The text of a fixture. An HTTP body that is compact JSON stands there as JSON (`json`), so that people can read and edit
 * it; any other body stands there as it was (`body`).
 */
export function fixtureText(tool: CatalogueTool, input: JsonValue, delivered: Delivered): string {
  const { ending } = delivered;
  const head = { format: FORMAT, tool: tool.id, version: tool.version, input, ending };
  if (delivered.ending === 'answered') return write({ ...head, answer: readable(delivered.raw) });
  const { ending: _ending, error: _error, ...failure } = delivered;
  return write({ ...head, failure });
}

function write(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function readable(raw: RawAnswer): unknown {
  if (raw.kind !== 'http' || raw.encoding !== 'utf8') return raw;
  const { body, encoding: _encoding, ...rest } = raw;
  const json = compactJson(body);
  return json === undefined ? { ...raw } : { ...rest, json };
}

function compactJson(body: string): unknown {
  try {
    const json: unknown = JSON.parse(body);
    return JSON.stringify(json) === body ? json : undefined;
  } catch {
    return undefined;
  }
}

/** What a fixture says. Throws `FILE_MALFORMED` that names the file and what is wrong with it. */
export function parseFixture(text: string, file: string): Delivered {
  const refuse = (problem: string): CallsheetError =>
    new CallsheetError('FILE_MALFORMED', `The fixture ${file} ${problem}.`, {
      details: { file },
      next: ['Mend the file, or delete it and record it again with --record.'],
    });
  const fixture = parsedObject(text);
  if (fixture === undefined) throw refuse('is not a JSON object');
  if (fixture.format !== FORMAT)
    throw refuse(`has format ${String(fixture.format)}; this release reads format ${FORMAT}`);
  if (fixture.ending === 'answered') {
    const raw = rawOf(fixture.answer);
    if (raw === undefined) throw refuse('has no `answer` that can be read');
    return { ending: 'answered', raw };
  }
  if (!FAILURES.has(fixture.ending)) throw refuse('has no known `ending`');
  const failure = objectOf(fixture.failure) ?? {};
  return { message: `${file} records a failure`, ...failure, ending: fixture.ending as Failure['ending'] };
}

const FAILURES: ReadonlySet<unknown> = new Set(['rejected', 'deferred', 'notDispatched', 'inProgress', 'ambiguous']);

function rawOf(answer: unknown): RawAnswer | undefined {
  const raw = objectOf(answer);
  if (raw?.kind === 'value' && raw.value !== undefined) return { kind: 'value', value: raw.value as JsonValue };
  if (raw?.kind !== 'http' || !Number.isInteger(raw.status)) return undefined;
  const body = raw.json === undefined ? raw.body : JSON.stringify(raw.json);
  if (typeof body !== 'string') return undefined;
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(objectOf(raw.headers) ?? {})) headers[name.toLowerCase()] = String(value);
  return {
    kind: 'http',
    status: raw.status as number,
    headers,
    body,
    encoding: raw.encoding === 'base64' ? 'base64' : 'utf8',
  };
}

function parsedObject(text: string): Record<string, unknown> | undefined {
  try {
    return objectOf(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function objectOf(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}
