/** What may separate cells, the likeliest first. */
const CANDIDATES = [',', ';', '\t', '|'] as const;
const MOST_RECORDS = 50;

export interface Sniffed {
  readonly delimiter: string;
  readonly from: 'sep-line' | 'sniffed' | 'default';
  /** Bytes of Excel's `sep=` line with its line break; 0 if the file does not begin with one. */
  readonly sepLineBytes: number;
}

/**
 * Finds the delimiter of a text's first records. Excel's `sep=;` line decides; otherwise the candidate that gives the most
 * records the header's number of cells, reading quotes as CSV does; otherwise `preferred`.
 */
export function sniffDelimiter(text: string, preferred: ',' | '\t'): Sniffed {
  const sep = /^sep=([^\r\n])(\r\n|\n|\r|$)/i.exec(text);
  const delimiter = sep?.[1];
  if (sep !== null && delimiter !== undefined && delimiter.charCodeAt(0) < 128 && delimiter !== '"') {
    return { delimiter, from: 'sep-line', sepLineBytes: sep[0].length };
  }
  const order = [preferred, ...CANDIDATES.filter((candidate) => candidate !== preferred)];
  let best: { delimiter: string; score: number } | undefined;
  for (const candidate of order) {
    const score = scoreOf(text, candidate);
    if (score > (best?.score ?? 0)) best = { delimiter: candidate, score };
  }
  if (best === undefined) return { delimiter: preferred, from: 'default', sepLineBytes: 0 };
  return { delimiter: best.delimiter, from: 'sniffed', sepLineBytes: 0 };
}

/** 0 if the header has none; else the share of records with the header's count, and, far below it, that count. */
function scoreOf(text: string, delimiter: string): number {
  const counts = delimitersPerRecord(text, delimiter);
  const header = counts[0] ?? 0;
  if (header === 0) return 0;
  const data = counts.slice(1);
  const agreeing = data.filter((count) => count === header).length;
  const share = data.length === 0 ? 1 : agreeing / data.length;
  return 0.01 + share + Math.min(header, 1000) / 100_000;
}

/** Delimiters outside quotes, for each whole record of the sample (the last one too, if it is the only one). */
function delimitersPerRecord(text: string, delimiter: string): number[] {
  const counts: number[] = [];
  let count = 0;
  let quoted = false;
  let cellStart = true;
  let recordStart = true;
  for (let i = 0; i < text.length && counts.length < MOST_RECORDS; i++) {
    const char = text[i];
    if (quoted) {
      if (char === '"') {
        if (text[i + 1] === '"') i++;
        else quoted = false;
      }
    } else if (char === '"' && cellStart) {
      quoted = true;
      cellStart = false;
      recordStart = false;
    } else if (char === delimiter) {
      count++;
      cellStart = true;
      recordStart = false;
    } else if (char === '\n' || char === '\r') {
      if (!recordStart) counts.push(count);
      count = 0;
      cellStart = true;
      recordStart = true;
    } else {
      cellStart = false;
      recordStart = false;
    }
  }
  if (counts.length === 0 && !recordStart) counts.push(count);
  return counts;
}
