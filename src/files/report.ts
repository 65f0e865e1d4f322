import type { EncodingFinding, ImportReport, LineBreakCounts, LinesFinding } from './types.ts';

const FORMAT_NAMES = { csv: 'CSV', tsv: 'TSV', jsonl: 'JSON lines', json: 'JSON array' } as const;
const DELIMITER_NAMES: Readonly<Record<string, string>> = { ',': 'comma', ';': 'semicolon', '\t': 'tab', '|': 'pipe' };

/** What deserves a look before money is spent, as sentences. */
export function warningsOf(report: Omit<ImportReport, 'warnings'>): string[] {
  const { ragged, strayQuotes, nulBytes, rows, columns, delimiterFrom, emptyRows, bigNumbers } = report;
  const tabular = report.format === 'csv' || report.format === 'tsv';
  return [
    ...(rows === 0 ? [tabular ? 'The file has a header and no rows.' : 'The file has no rows.'] : []),
    ...(tabular && columns === 1 && delimiterFrom === 'default' ? ['No delimiter was found: one column.'] : []),
    ...(ragged.short > 0 ? [`${counted(ragged.short, 'row')} with too few cells: the missing ones are empty.`] : []),
    ...(ragged.long > 0
      ? [`${counted(ragged.long, 'row')} with too many cells: the extra ones are in the columns _extra_1 and on.`]
      : []),
    ...(strayQuotes.count > 0 ? [`${counted(strayQuotes.count, 'row')} with stray quotes, kept as they stand.`] : []),
    ...(nulBytes > 0 ? [`${counted(nulBytes, 'NUL byte')}, kept in the values.`] : []),
    ...(emptyRows > 0 ? [`${counted(emptyRows, 'row')} with no value at all, kept.`] : []),
    ...(bigNumbers.count > 0
      ? [`${counted(bigNumbers.count, 'number')} too large for JavaScript, kept as text (${places(bigNumbers)}).`]
      : []),
  ];
}

/** The import report for people: one finding a line, the plain facts first. */
export function describeReport(report: ImportReport): string[] {
  const { ragged, strayQuotes } = report;
  const facts = [
    FORMAT_NAMES[report.format],
    `${counted(report.rows, 'row')}${report.cutAtLimit ? ' (the limit; there are more)' : ''}`,
    counted(report.columns, 'column'),
    encodingText(report.encoding),
    ...(report.delimiter === undefined ? [] : [delimiterText(report.delimiter, report.delimiterFrom)]),
    ...lineBreakText(report.lineBreaks),
  ];
  return [
    facts.join(', '),
    ...report.renamedHeaders.map(({ column, from, to, why }) =>
      why === 'empty'
        ? `Column ${column} has no name: read as ${to}.`
        : `Column ${column} ${JSON.stringify(from)} ${why === 'duplicate' ? 'repeats a name' : 'is a reserved name'}: read as ${to}.`,
    ),
    ...report.warnings,
    ...(ragged.count > 0
      ? [`Ragged rows: ${places({ count: ragged.count, lines: ragged.first.map((row) => row.line) })}.`]
      : []),
    ...(strayQuotes.count > 0 ? [`Stray quotes: ${places(strayQuotes)}.`] : []),
    ...(report.blankLines > 0 ? [`${counted(report.blankLines, 'blank line')} skipped.`] : []),
  ];
}

function encodingText({ name, how, confidence }: EncodingFinding): string {
  if (how === 'ascii') return 'ASCII';
  const by = {
    option: 'as told',
    bom: 'by its byte order mark',
    'utf-8': '',
    'nul-pattern': 'by its pattern of NULs',
    detected: `detected, confidence ${confidence} of 100`,
  }[how];
  return by === '' ? name.toUpperCase() : `${name} (${by})`;
}

function delimiterText(delimiter: string, from: ImportReport['delimiterFrom']): string {
  const name = DELIMITER_NAMES[delimiter] ?? JSON.stringify(delimiter);
  return `${name}-separated${from === 'sep-line' ? ' (by its sep= line)' : ''}`;
}

function lineBreakText(breaks: LineBreakCounts | undefined): string[] {
  if (breaks === undefined) return [];
  const kinds = [
    ...(breaks.lf > 0 ? ['LF'] : []),
    ...(breaks.crlf > 0 ? ['CRLF'] : []),
    ...(breaks.cr > 0 ? ['CR'] : []),
  ];
  if (kinds.length === 0) return [];
  return [kinds.length === 1 ? `${kinds[0]} line breaks` : `mixed line breaks (${kinds.join(', ')})`];
}

function places({ count, lines }: LinesFinding): string {
  const more = count - lines.length;
  return `${lines.length === 1 ? 'line' : 'lines'} ${lines.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;
}
