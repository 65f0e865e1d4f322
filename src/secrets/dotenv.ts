import { CallsheetError } from '../sdk/index.ts';

/**
 * The assignments of a `.env` file: `NAME=value`, `export NAME=value`, `#` comments, values in single quotes (as they are)
 * or double quotes (`\n`, `\r`, `\t`, `\"`, `\\`), both over several lines, and without quotes (trimmed, up to ` #`).
 * Nothing is expanded. The last assignment of a name wins; a line that is no assignment is skipped.
 * Throws `FILE_MALFORMED` with the line of a quote that is never closed; no message repeats a value.
 */
export function parseDotenv(text: string, file: string): Map<string, string> {
  const found = new Map<string, string>();
  const source = text.replace(/^\ufeff/, '').replaceAll('\r\n', '\n');
  let at = 0;
  while (at < source.length) {
    const assignment = ASSIGNMENT.exec(lineAt(source, at));
    if (assignment === null) {
      at = nextLine(source, at);
      continue;
    }
    const [whole, name = ''] = assignment;
    const start = at + whole.length;
    const { value, end } = valueAt(source, start, file);
    found.set(name, value);
    at = nextLine(source, end);
  }
  return found;
}

const ASSIGNMENT = /^[ \t]*(?:export[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*=[ \t]*/;

function lineAt(source: string, at: number): string {
  const end = source.indexOf('\n', at);
  return source.slice(at, end === -1 ? undefined : end);
}

function nextLine(source: string, at: number): number {
  const end = source.indexOf('\n', at);
  return end === -1 ? source.length : end + 1;
}

function valueAt(source: string, start: number, file: string): { value: string; end: number } {
  const quote = source.charAt(start);
  if (quote !== '"' && quote !== "'") {
    const line = lineAt(source, start);
    const comment = line.search(/(^|[ \t])#/);
    return { value: (comment === -1 ? line : line.slice(0, comment)).trim(), end: start };
  }
  const end = closingQuote(source, start + 1, quote);
  if (end === -1) throw unclosed(file, source.slice(0, start).split('\n').length);
  const inside = source.slice(start + 1, end);
  return { value: quote === '"' ? unescaped(inside) : inside, end };
}

function closingQuote(source: string, from: number, quote: string): number {
  for (let at = from; at < source.length; at++) {
    if (source[at] === '\\' && quote === '"') at++;
    else if (source[at] === quote) return at;
  }
  return -1;
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\' };

function unescaped(text: string): string {
  return text.replace(/\\([\s\S])/g, (whole, char: string) => ESCAPES[char] ?? whole);
}

function unclosed(file: string, line: number): CallsheetError {
  return new CallsheetError('FILE_MALFORMED', `${file}, line ${line}: a quote is opened and never closed.`, {
    details: { file, line },
    next: [`Close the quote in line ${line} of ${file}.`],
  });
}
