import { isUtf8 } from 'node:buffer';
import { promisify, TextDecoder } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib';
import type { JsonValue, ToolResponseView } from '../sdk/index.ts';
import { LARGEST_BODY_BYTES } from './http-exchange.ts';
import type { RawAnswer } from './port.ts';

type Decode = (body: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

const DECODERS: Readonly<Record<string, Decode | undefined>> = {
  gzip: promisify(gunzip) as Decode,
  'x-gzip': promisify(gunzip) as Decode,
  br: promisify(brotliDecompress) as Decode,
  deflate: inflateEither,
};

/** RFC 9110 means zlib's format by `deflate`; some servers send the bare stream. */
async function inflateEither(body: Buffer, options: { maxOutputLength: number }): Promise<Buffer> {
  const wrapped = ((body[0] ?? 0) & 0x0f) === 8 && (((body[0] ?? 0) << 8) | (body[1] ?? 0)) % 31 === 0;
  return promisify(wrapped ? inflate : inflateRaw)(body, options);
}

/**
 * The body without its content encoding, which nothing asked for but some servers send all the same.
 * Rejects where the body is damaged, larger than what is kept, or in an encoding that is not known.
 */
export async function decodedBody(body: Buffer, contentEncoding: string): Promise<Buffer> {
  let bytes = body;
  // Listed in the order in which they were applied.
  for (const encoding of contentEncoding.toLowerCase().split(',').reverse()) {
    const name = encoding.trim();
    if (name === '' || name === 'identity') continue;
    const decode = Object.hasOwn(DECODERS, name) ? DECODERS[name] : undefined;
    if (decode === undefined) throw new Error(`its content encoding '${name}' is not known`);
    bytes = await decode(bytes, { maxOutputLength: LARGEST_BODY_BYTES });
  }
  return bytes;
}

/** A body as a raw answer keeps it: text where it is UTF-8, else base64. A byte order mark is dropped. */
export function keptBody(body: Buffer): { readonly body: string; readonly encoding: 'utf8' | 'base64' } {
  if (!isUtf8(body)) return { body: body.toString('base64'), encoding: 'base64' };
  const start = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? 3 : 0;
  return { body: body.toString('utf8', start), encoding: 'utf8' };
}

/**
 * The body of a kept answer as text: a body that is not UTF-8 is read in the charset of its content type, or as
 * windows-1252, which reads any byte.
 */
export function answerText(raw: Extract<RawAnswer, { kind: 'http' }>): string {
  if (raw.encoding === 'utf8') return raw.body;
  const charset = /charset\s*=\s*"?([^\s;"]+)/i.exec(raw.headers['content-type'] ?? '')?.[1];
  return decoderFor(charset).decode(Buffer.from(raw.body, 'base64'));
}

function decoderFor(charset: string | undefined): TextDecoder {
  try {
    // A body that claims UTF-8 and isn't would only be damaged further.
    if (charset !== undefined && !/^utf-?8$/i.test(charset)) return new TextDecoder(charset);
  } catch {
    // An unknown charset is as good as none.
  }
  return new TextDecoder('windows-1252');
}

/** A kept HTTP answer as code of a tool's author sees it. `json` is undefined where the body is none. */
export function answerView(raw: Extract<RawAnswer, { kind: 'http' }>): Omit<ToolResponseView<never>, 'input'> {
  const text = answerText(raw);
  return { status: raw.status, headers: raw.headers, json: parsedJson(text), text };
}

function parsedJson(text: string): JsonValue | undefined {
  if (text === '') return undefined;
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
