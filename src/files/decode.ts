import { CallsheetError } from '../sdk/index.ts';
import type { EncodingChoice } from './encoding.ts';
import type { Survey } from './survey.ts';

/**
 * Windows-1252 from 0x80 to 0x9F (https://encoding.spec.whatwg.org/index-windows-1252.txt). Own table, because some Node
 * releases decode that label as plain Latin-1, which turns curly quotes and the euro sign into control characters.
 */
const WINDOWS_1252_C1 =
  '\u20ac\u0081\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u008d\u017d\u008f' +
  '\u0090\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u009d\u017e\u0178';

const C1 = /[\u0080-\u009f]/g;

/** The file's text as UTF-8 buffers, without its byte order mark. Throws FILE_UNDECODABLE at bytes that do not fit. */
export async function* utf8Chunks(
  chunks: AsyncIterable<Buffer>,
  choice: EncodingChoice,
  context: { readonly path: string; readonly survey: Survey },
): AsyncGenerator<Buffer> {
  const decode = decoderFor(choice.finding.name, context);
  let skip = choice.bomBytes;
  let bytes = 0;
  for await (const chunk of chunks) {
    const content = skip > 0 ? chunk.subarray(skip) : chunk;
    skip = Math.max(0, skip - chunk.length);
    const text = decodeOrThrow(() => decode(content), choice, { ...context, bytes });
    bytes += chunk.length;
    if (text.length > 0) yield text;
  }
  const rest = decodeOrThrow(() => decode(undefined), choice, { ...context, bytes });
  if (rest.length > 0) yield rest;
}

/** A function from the next bytes (undefined at the end) to UTF-8. */
function decoderFor(name: string, { survey }: { readonly survey: Survey }): (bytes: Buffer | undefined) => Buffer {
  const empty = Buffer.alloc(0);
  if (name === 'utf-8') {
    return (bytes) => {
      if (!survey.utf8) throw new TypeError('invalid UTF-8');
      return bytes ?? empty;
    };
  }
  if (name === 'windows-1252') {
    return (bytes) => (bytes === undefined ? empty : Buffer.from(decodeWindows1252(bytes)));
  }
  const decoder = new TextDecoder(name, { fatal: true, ignoreBOM: true });
  return (bytes) => Buffer.from(bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true }));
}

function decodeWindows1252(bytes: Buffer): string {
  return bytes.toString('latin1').replace(C1, (char) => WINDOWS_1252_C1[char.charCodeAt(0) - 0x80] ?? char);
}

function decodeOrThrow(
  decode: () => Buffer,
  choice: EncodingChoice,
  context: { readonly path: string; readonly survey: Survey; readonly bytes: number },
): Buffer {
  try {
    return decode();
  } catch (cause) {
    const { path, survey, bytes } = context;
    const { name, how } = choice.finding;
    const where = name === 'utf-8' ? `near line ${survey.invalidNearLine}` : `after byte ${bytes}`;
    throw new CallsheetError('FILE_UNDECODABLE', `${path} is not ${name} throughout: it breaks off ${where}.`, {
      details: { file: path, encoding: name, found: how, afterByte: bytes },
      next: ['Save the file as UTF-8, or name its encoding, for example `--encoding windows-1252`.'],
      cause,
    });
  }
}
