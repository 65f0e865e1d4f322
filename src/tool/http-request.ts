import { CallsheetError, type HttpRequestSpec, type HttpTool } from '../sdk/index.ts';
import { definitionRefusal } from './definition.ts';
import { type HttpBase, targetOf } from './http-url.ts';
import type { CatalogueTool, Operation } from './port.ts';
import type { SecretReader } from './secret-reader.ts';

/** A request as it goes out. */
export interface HttpRequest {
  readonly method: string;
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  /** Name, value, name, value … */
  readonly headers: readonly string[];
  readonly body: string | Uint8Array | null;
  /** Method and URL without the query: what messages name. Not redacted. */
  readonly label: string;
}

/**
 * Asks the tool for its request and fills in what it left open. Reads secrets, so it belongs into the transport.
 * Throws what `request` throws, and `TOOL_DEFINITION_INVALID` where its result cannot be sent.
 */
export function prepareRequest(operation: Operation, secrets: SecretReader, base: HttpBase | undefined): HttpRequest {
  const { tool, input } = operation;
  const definition = tool.definition as unknown as HttpTool<unknown>;
  const spec: unknown = definition.request({ input, secret: (name) => secrets.read(name), baseUrl: base?.text });
  if (!isSpec(spec)) throw refusal(tool, 'must return an object with a `url`; a promise cannot be used');
  const { origin, path, search } = targetOf(spec, tool, base);
  const method = methodOf(spec, tool);
  const headers = new HeaderList(tool);
  for (const [name, value] of Object.entries(spec.headers ?? {})) headers.add(name, value);
  const body = bodyOf(spec.body, headers, tool);
  if (definition.idempotency !== undefined) headers.set(definition.idempotency.header, operation.operationKey());
  if (!headers.has('user-agent')) headers.set('user-agent', 'callsheet');
  return {
    method,
    origin,
    path: `${path}${search}`,
    headers: headers.flat(),
    body,
    label: `${method} ${origin}${path}`,
  };
}

function isSpec(spec: unknown): spec is HttpRequestSpec {
  return typeof spec === 'object' && spec !== null && !(spec instanceof Promise);
}

function refusal(tool: CatalogueTool, problem: string): CallsheetError {
  return definitionRefusal(`Tool ${tool.id}: \`request\``, problem, tool.id);
}

function methodOf(spec: HttpRequestSpec, tool: CatalogueTool): string {
  const method = spec.method === undefined ? 'GET' : String(spec.method).toUpperCase();
  if (!/^[A-Z]+$/.test(method) || method === 'CONNECT' || method === 'TRACE')
    throw refusal(tool, 'returned a `method` that cannot be sent');
  return method;
}

class HeaderList {
  readonly #tool: CatalogueTool;
  readonly #byName = new Map<string, readonly [name: string, value: string]>();

  constructor(tool: CatalogueTool) {
    this.#tool = tool;
  }

  add(name: string, value: unknown): void {
    if (value === undefined || value === null) return;
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
      throw refusal(this.#tool, `returned the header ${name} as something that is no string`);
    this.set(name, String(value));
  }

  /** Takes the place of a header of this name in any spelling. */
  set(name: string, value: string): void {
    this.#byName.set(name.toLowerCase(), [name, value]);
  }

  has(lowerCaseName: string): boolean {
    return this.#byName.has(lowerCaseName);
  }

  flat(): readonly string[] {
    return [...this.#byName.values()].flat();
  }
}

function bodyOf(body: unknown, headers: HeaderList, tool: CatalogueTool): string | Uint8Array | null {
  if (body === undefined || body === null) return null;
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  if (body instanceof URLSearchParams) {
    if (!headers.has('content-type')) headers.set('content-type', 'application/x-www-form-urlencoded;charset=UTF-8');
    return body.toString();
  }
  if (body instanceof FormData || body instanceof Blob || body instanceof ReadableStream || body instanceof ArrayBuffer)
    throw refusal(
      tool,
      `returned a ${body.constructor.name} as \`body\`; return a string, a Uint8Array or a JSON value`,
    );
  const text = jsonText(body, tool);
  if (!headers.has('content-type')) headers.set('content-type', 'application/json');
  return text;
}

function jsonText(body: unknown, tool: CatalogueTool): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(body);
  } catch (error) {
    if (error instanceof CallsheetError) throw error;
    throw refusal(tool, 'returned a `body` that cannot be written as JSON');
  }
  if (text === undefined) throw refusal(tool, `returned a ${typeof body} as \`body\``);
  return text;
}
