import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { CallsheetError } from '../sdk/index.ts';
import { readCsv } from './csv-in.ts';
import { utf8Chunks } from './decode.ts';
import { chooseEncoding, type EncodingChoice } from './encoding.ts';
import { formatOf } from './format.ts';
import { extraNames, uniqueHeader } from './header.ts';
import { readJsonArray } from './json-array-in.ts';
import { readJsonl } from './json-in.ts';
import { headed } from './peek.ts';
import { warningsOf } from './report.ts';
import { type Sniffed, sniffDelimiter } from './sniff.ts';
import { emptyFile, openSource, type SourceFile } from './source.ts';
import { exists, META_FILE, Spool } from './spool.ts';
import { readMeta, STAGING_EDITION, type StagedMeta, type StoredShape } from './staged.ts';
import { type Survey, surveyBytes } from './survey.ts';
import type { FileFormat, ImportReport, StagedFile, StageOptions } from './types.ts';

const SNIFF_BYTES = 64 * 1024;

const DELIMITER_NAMES: Readonly<Record<string, string>> = {
  comma: ',',
  semicolon: ';',
  tab: '\t',
  '\\t': '\t',
  pipe: '|',
};

/** A source between its two passes: everything that reading it needs to know. */
interface Surveyed {
  readonly source: SourceFile;
  readonly survey: Survey;
  readonly format: FileFormat;
  readonly encoding: EncodingChoice;
  readonly delimiter: string | undefined;
  readonly limit: number | undefined;
}

/** What reading gave, before it is described. */
interface Reading {
  readonly shape: StoredShape;
  readonly header: readonly string[];
  readonly originalHeader: readonly string[];
  readonly report: Omit<ImportReport, 'warnings'>;
}

/**
 * Reads a CSV, TSV, JSON lines or JSON array file (two passes over the bytes: what it is, then its rows) and leaves a copy
 * as UTF-8 JSON lines below `filesDir`, under a digest of the bytes and of the options. Memory does not grow with the
 * number of rows. Staging the same content again finds the copy and writes nothing.
 *
 * Throws FILE_NOT_FOUND, FILE_UNREADABLE, FILE_EMPTY, FILE_UNDECODABLE, FILE_MALFORMED (with the line), NOT_YET_SUPPORTED,
 * USAGE (an option), STORE_FULL, STORE_READ_ONLY (`filesDir`).
 */
export async function stageFile(path: string, options: StageOptions): Promise<StagedFile> {
  const delimiter = options.delimiter === undefined ? undefined : delimiterOf(options.delimiter);
  const limit = options.limit === undefined ? undefined : limitOf(options.limit);
  const source = await openSource(path);
  try {
    const survey = await surveyBytes(source.passingChunks());
    const format = formatOf(path, survey.head, options.format);
    const encoding = await chooseEncoding(survey, path, options.encoding);
    const digest = digestOf(survey, format, options);
    if (await exists(join(options.filesDir, digest, META_FILE))) {
      const { file } = await readMeta(options.filesDir, digest);
      return { ...file, name: basename(path), sourcePath: path };
    }
    return await stageNew({ source, survey, format, encoding, delimiter, limit }, options.filesDir, digest);
  } finally {
    await source.close();
  }
}

/** The header as an export spells it: the file's own words, then the generated columns. */
export function exportHeader(staged: StagedFile): string[] {
  return [...staged.originalHeader, ...staged.header.slice(staged.originalHeader.length)];
}

async function stageNew(surveyed: Surveyed, filesDir: string, digest: string): Promise<StagedFile> {
  const { source, format } = surveyed;
  const spool = await Spool.create(filesDir);
  try {
    const tabular = format === 'csv' || format === 'tsv';
    const { shape, header, originalHeader, report } = tabular
      ? await stageTable(surveyed, spool)
      : await stageObjects(surveyed, spool);
    await source.assertUnchanged();
    const warnings = [...surveyed.encoding.warnings, ...warningsOf(report)];
    const file: StagedFile = {
      digest,
      name: basename(source.path),
      sourcePath: source.path,
      format,
      header,
      originalHeader,
      rows: spool.rows,
      bytes: source.bytes,
      report: { ...report, warnings },
    };
    const metaOf = (dataBytes: number): StagedMeta => ({ edition: STAGING_EDITION, shape, dataBytes, file });
    await spool.finish(digest, (dataBytes) => JSON.stringify(metaOf(dataBytes)));
    return file;
  } finally {
    await spool.discard();
  }
}

async function stageTable(surveyed: Surveyed, spool: Spool): Promise<Reading> {
  const { source, survey, format, encoding, limit } = surveyed;
  const text = utf8Chunks(source.chunks(), encoding, { path: source.path, survey });
  const { head, rest } = await headed(text, SNIFF_BYTES);
  const sniffed = sniffDelimiter(head.toString('utf8'), format === 'tsv' ? '\t' : ',');
  const delimiter = surveyed.delimiter ?? sniffed.delimiter;
  const utf16 = encoding.finding.name.startsWith('utf-16');
  const lineBreaks = utf16 ? undefined : survey.lineBreaks;
  const firstLine = sniffed.sepLineBytes > 0 ? 2 : 1;
  let original: readonly string[] | undefined;
  const findings = await readCsv(
    rest(sniffed.sepLineBytes),
    { path: source.path, delimiter, lineBreaks, limit, firstLine },
    {
      header: (cells) => {
        original = cells;
      },
      rows: (batch) => spool.add(batch.map((cells) => JSON.stringify(cells))),
    },
  );
  if (original === undefined) throw emptyFile(source.path);
  const { names, renamed } = uniqueHeader(original);
  const header = [...names, ...extraNames(findings.extraCells, names)];
  return {
    shape: 'cells',
    header,
    originalHeader: original,
    report: {
      ...commonReport(surveyed, header.length),
      ...tableFindings(findings),
      delimiter,
      delimiterFrom: delimiterOrigin(surveyed.delimiter, sniffed),
      ...(lineBreaks === undefined ? {} : { lineBreaks }),
      renamedHeaders: renamed,
      sepLine: sniffed.sepLineBytes > 0,
    },
  };
}

function tableFindings({
  rows,
  ragged,
  strayQuotes,
  blankLines,
  emptyRows,
  cutAtLimit,
}: Awaited<ReturnType<typeof readCsv>>) {
  return { rows, ragged, strayQuotes, blankLines, emptyRows, cutAtLimit };
}

function delimiterOrigin(wanted: string | undefined, sniffed: Sniffed): NonNullable<ImportReport['delimiterFrom']> {
  return wanted === undefined ? sniffed.from : 'option';
}

async function stageObjects(surveyed: Surveyed, spool: Spool): Promise<Reading> {
  const { source, survey, encoding, limit, format } = surveyed;
  const text = utf8Chunks(source.chunks(), encoding, { path: source.path, survey });
  const read = format === 'json' ? readJsonArray : readJsonl;
  const found = await read(text, { path: source.path, limit }, (lines) => spool.add(lines));
  const emptyArray = format === 'json' && found.rows === 0;
  if (found.rows === 0 && !emptyArray && !found.cutAtLimit) throw emptyFile(source.path);
  const { rows, blankLines, bigNumbers, cutAtLimit } = found;
  return {
    shape: 'objects',
    header: found.header,
    originalHeader: found.header,
    report: {
      ...commonReport(surveyed, found.header.length),
      rows,
      blankLines,
      bigNumbers,
      cutAtLimit,
    },
  };
}

function commonReport({ survey, format, encoding }: Surveyed, columns: number): Omit<ImportReport, 'warnings'> {
  const utf16 = encoding.finding.name.startsWith('utf-16');
  return {
    format,
    rows: 0,
    columns,
    encoding: encoding.finding,
    renamedHeaders: [],
    ragged: { count: 0, short: 0, long: 0, first: [] },
    strayQuotes: { count: 0, lines: [] },
    // In UTF-16 every other byte of Western text is one.
    nulBytes: utf16 ? 0 : survey.nulsAtEven + survey.nulsAtOdd,
    sepLine: false,
    blankLines: 0,
    emptyRows: 0,
    bigNumbers: { count: 0, lines: [] },
    cutAtLimit: false,
  };
}

function digestOf(survey: Survey, format: FileFormat, options: StageOptions): string {
  const parts = [
    STAGING_EDITION,
    survey.sha256,
    format,
    options.encoding?.trim().toLowerCase() ?? null,
    options.delimiter === undefined ? null : delimiterOf(options.delimiter),
    options.limit ?? null,
  ];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

function delimiterOf(wanted: string): string {
  const delimiter = DELIMITER_NAMES[wanted.toLowerCase()] ?? wanted;
  const single = delimiter.length === 1 && delimiter.charCodeAt(0) < 128;
  if (single && !['"', '\n', '\r', '\0'].includes(delimiter)) return delimiter;
  throw new CallsheetError('USAGE', `A delimiter is one ASCII character, not ${JSON.stringify(wanted)}.`, {
    details: { delimiter: wanted },
    next: ['Use comma, semicolon, tab, pipe or the character itself; without it the delimiter is detected.'],
  });
}

function limitOf(limit: number): number {
  if (Number.isSafeInteger(limit) && limit >= 0) return limit;
  throw new CallsheetError('USAGE', `A row limit is a whole number from 0, not ${limit}.`, {
    details: { limit },
    next: ['Leave the limit out to read all rows.'],
  });
}
