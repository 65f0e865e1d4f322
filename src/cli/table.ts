/** Rows of cells as aligned lines; a cell's line breaks are shown as spaces. The last column is never padded. */
export function tableLines(header: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [header, ...rows].map((row) => row.map((cell) => cell.replace(/\s*[\r\n]+\s*/g, ' ')));
  const widths = header.map((_, index) => Math.max(...all.map((row) => (row[index] ?? '').length)));
  return all.map((row) =>
    row
      .map((cell, index) => (index === header.length - 1 ? cell : cell.padEnd(widths[index] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

const NUMBERS = new Intl.NumberFormat('en-US', { maximumFractionDigits: 2 });

export function shownNumber(value: number): string {
  return NUMBERS.format(value);
}

/** A value in a table: text as it is, anything else as JSON, cut where it is long. */
export function shownValue(value: unknown, longest = 60): string {
  const text = value === null || value === undefined ? '–' : typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= longest ? text : `${text.slice(0, longest - 1)}…`;
}

/** `1 row`, `2 rows`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${shownNumber(count)} ${count === 1 ? one : many}`;
}

/** Seconds as people say them: `45 s`, `3 min 20 s`, `2 h 5 min`. */
export function shownSeconds(seconds: number): string {
  if (seconds < 10) return `${Math.max(0, Math.round(seconds * 10) / 10)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** Events by name with how many wait for each: `'approved' (3), 'paid'`. */
export function eventsText(events: readonly { readonly event: string; readonly count: number }[]): string {
  return events.map(({ event, count }) => `'${event}'${count === 1 ? '' : ` (${shownNumber(count)})`}`).join(', ');
}
