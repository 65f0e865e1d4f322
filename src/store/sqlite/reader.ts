import type { Database } from './driver.ts';
import type { KeyIndex } from './key-index.ts';
import type { Origins } from './origins.ts';
import type { Sites } from './sites.ts';
import type { Spaces } from './spaces.ts';
import { breathe, type WaitOptions, whenFree } from './waiting.ts';

/** What the reading operations share. */
export interface Reader {
  readonly db: Database;
  readonly spaces: Spaces;
  readonly sites: Sites;
  readonly origins: Origins;
  readonly index: KeyIndex;
  /** Runs a synchronous piece of reading; errors of SQLite come out as ours, a held lock is waited for. */
  read<T>(work: () => T): Promise<T>;
}

export function createReader(parts: Omit<Reader, 'read'>, wait: WaitOptions): Reader {
  return { ...parts, read: (work) => whenFree(work, wait) };
}

/** Ordinals looked at between two turns of the event loop; a row may have several calls. */
const ORDINALS_A_PIECE = 4_000;

/** Does `piece` for successive ranges [from, to) of places, letting the event loop turn in between. */
export async function inPieces(
  reader: Reader,
  range: { readonly from: number; readonly to: number },
  piece: (from: number, to: number) => void,
): Promise<void> {
  for (let from = range.from; from < range.to; from += ORDINALS_A_PIECE) {
    if (from !== range.from) await breathe();
    await reader.read(() => piece(from, Math.min(range.to, from + ORDINALS_A_PIECE)));
  }
}

/** The end of what a table holds in a range of places: one past the last place, or `from` where it holds nothing. */
export function endOf(
  reader: Reader,
  table: 'calls' | 'rows' | 'boundaries',
  range: { readonly from: number; readonly to: number },
): number {
  const last = reader.db.get<{ place: number | null }>(
    `SELECT max(place) AS place FROM ${table} WHERE place >= ? AND place < ?`,
    range.from,
    range.to,
  )?.place;
  return last === null || last === undefined ? range.from : last + 1;
}
