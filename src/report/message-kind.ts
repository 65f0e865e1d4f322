/** In messages of ours: a job's handle has whatever form its provider chose, a row's key that of the data. */
const HANDLE = /\b(the job )\S+(?=, which )/g;
const ROW = /\b(of row )'[^'\n]*'/g;

/** A word. One at a dot or a slash, as the names of tools and accounts are, is none: it tells the kind of fault. */
const WORD = /(?<![\w./<-])[\w-]{4,}(?![\w>-]|[./]\w)/g;

/**
 * A message without what varies from row to row: instants, addresses, quoted texts, the row itself, ids, numbers and how long
 * something took. What is left tells the kind of fault. `row` is the row's key as people write it.
 */
export function messageKind(message: string, row: string): string {
  return withoutRow(message, row)
    .replace(HANDLE, '$1<id>')
    .replace(ROW, '$1<row>')
    .replace(/\b\d{4}-\d\d-\d\d[T ][\d:.]+(Z|[+-]\d\d:?\d\d)?/g, '<time>')
    .replace(/\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d+ \w{3} \d{4} [\d:]+ GMT\b/g, '<time>')
    .replace(/"[^"\n]*"/g, '"<text>"')
    .replace(/[\w.+-]+@[\w-]+(\.[\w-]+)+/g, '<e-mail>')
    .replace(/https?:\/\/\S+/g, '<url>')
    .replace(/\b(rcp|run|call|wait)_\w+/g, '<id>')
    .replace(/\b[0-9a-f]{8,}(-[0-9a-f]{4,})*\b/gi, '<id>')
    .replace(WORD, (word) => (isIdentifier(word) ? '<id>' : word))
    .replace(/\b\d+(\.\d+)?(?=(ms|min|s|m|h|d)?\b)/g, '<n>');
}

/** Letters and digits that mix, or a number at an underscore; a name may end in a digit or two. */
function isIdentifier(word: string): boolean {
  return /[A-Za-z]/.test(word) && (/\d[_-]*[A-Za-z]/.test(word) || /_\d/.test(word) || /\d{3}/.test(word));
}

/** Labels, handles and the like often have the key of their row in them. */
function withoutRow(message: string, row: string): string {
  if (row.length < 2) return message;
  const isPart = (at: number): boolean => /\w/.test(message[at] ?? '');
  let rest = '';
  let from = 0;
  for (let at = message.indexOf(row); at >= 0; at = message.indexOf(row, at + row.length)) {
    if (isPart(at - 1) || isPart(at + row.length)) continue;
    rest += `${message.slice(from, at)}<row>`;
    from = at + row.length;
  }
  return rest + message.slice(from);
}
