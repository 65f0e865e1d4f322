import type { ServerResponse } from 'node:http';
import type { Fault } from './types.ts';

export interface OutgoingAnswer {
  readonly status: number;
  /** The text of a JSON object. */
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const HUGE_BYTES = 30 * 1024 * 1024;
const RUBBISH = '<html><head><title>Welcome</title></head><body>It works! {"data":</body></html>\n';
const JSON_TYPE = 'application/json; charset=utf-8';

/** Sends an answer, spoiled by those faults that concern its body. */
export function reply(
  response: ServerResponse,
  answer: OutgoingAnswer,
  spoil?: { readonly faults: readonly Fault[]; readonly apiKey: string },
): void {
  if (spoil === undefined || spoil.faults.length === 0) {
    write(response, answer, answer.body);
    return;
  }
  const struck = new Set(spoil.faults.map((fault) => fault.fault));
  if (struck.has('rubbish')) {
    write(response, { status: 200, headers: { 'content-type': 'text/html' } }, RUBBISH);
    return;
  }
  let { body } = answer;
  if (struck.has('echo-secret'))
    body = withField(body, `"debug":{"authorization":${JSON.stringify(`Bearer ${spoil.apiKey}`)}}`);
  if (struck.has('huge')) body = withField(body, `"padding":"${'x'.repeat(HUGE_BYTES)}"`);
  if (struck.has('truncate')) writeHalf(response, answer, body);
  else write(response, answer, body);
}

function write(response: ServerResponse, head: Omit<OutgoingAnswer, 'body'>, body: string): void {
  response.writeHead(head.status, {
    'content-type': JSON_TYPE,
    'content-length': Buffer.byteLength(body),
    ...head.headers,
  });
  response.end(body);
}

/** The head promises the whole body; the connection ends in the middle of it. */
function writeHalf(response: ServerResponse, head: Omit<OutgoingAnswer, 'body'>, body: string): void {
  const bytes = Buffer.from(body);
  response.writeHead(head.status, { 'content-type': JSON_TYPE, 'content-length': bytes.length, ...head.headers });
  response.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => response.destroy());
}

/** One more field at the end of the text of a JSON object that has some. */
function withField(body: string, field: string): string {
  return `${body.slice(0, -1)},${field}}`;
}
