import { extname } from 'node:path';
import { CallsheetError } from '../sdk/index.ts';
import type { FileFormat } from './types.ts';

const BY_ENDING: Readonly<Record<string, FileFormat>> = {
  '.csv': 'csv',
  '.txt': 'csv',
  '.tsv': 'tsv',
  '.tab': 'tsv',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.json': 'json',
};

/** First bytes of files that people take for tables and that are not read yet. */
const NOT_READ: readonly { readonly magic: readonly number[]; readonly what: string; readonly next: string }[] = [
  { magic: [0x50, 0x4b, 3, 4], what: 'an Excel workbook or a ZIP archive', next: 'Save the sheet as CSV (UTF-8).' },
  { magic: [0xd0, 0xcf, 0x11, 0xe0], what: 'an old Excel workbook', next: 'Save the sheet as CSV (UTF-8).' },
  { magic: [0x50, 0x41, 0x52, 0x31], what: 'a Parquet file', next: 'Convert it to CSV or JSON lines.' },
  { magic: [0x1f, 0x8b], what: 'compressed with gzip', next: 'Unpack it first, with `gunzip`.' },
];

/**
 * What a file is read as: the caller's word, else its ending, else CSV. A `.json` file whose first character is `{` is read
 * as JSON lines. Throws NOT_YET_SUPPORTED for workbooks, Parquet and gzip, which are told by their first bytes.
 */
export function formatOf(path: string, head: Buffer, wanted?: FileFormat): FileFormat {
  const refused = NOT_READ.find(({ magic }) => magic.every((byte, i) => head[i] === byte));
  if (refused !== undefined) {
    throw new CallsheetError('NOT_YET_SUPPORTED', `${path} is ${refused.what}, which cannot be read yet.`, {
      details: { file: path },
      next: [refused.next],
    });
  }
  if (wanted !== undefined) return wanted;
  const byEnding = BY_ENDING[extname(path).toLowerCase()] ?? 'csv';
  return byEnding === 'json' && startsWithObject(head) ? 'jsonl' : byEnding;
}

function startsWithObject(head: Buffer): boolean {
  // Also right for UTF-16 and for byte order marks: none of their extra bytes is a bracket.
  return /^[^[{]*\{/.test(head.toString('latin1'));
}
