import type { Place } from '../../../scope/index.ts';
import type { BoundaryEntry, BoundaryKind } from '../../records.ts';
import type { Reader } from '../reader.ts';
import { ordinalOf } from '../spaces.ts';

interface BoundaryRow {
  readonly place: number;
  readonly key: string;
  readonly kind: string;
  readonly label: string;
  readonly path: string;
  readonly input_digest: string;
  readonly state: string;
  readonly value: string;
  readonly at: number;
}

const COLUMNS = 'place, key, kind, label, path, input_digest, state, value, at';
const AT_PLACE = `SELECT ${COLUMNS} FROM boundaries WHERE place = ?`;
const IN_SPACE = `SELECT ${COLUMNS} FROM boundaries WHERE place >= ? AND place < ? ORDER BY place, at, key LIMIT ?`;

/** The boundaries of the rows named; rows without any are not in the map. */
export function boundaries(
  reader: Reader,
  of: { readonly runNo: number; readonly datasetNo: number; readonly ordinals: readonly number[] },
): Promise<ReadonlyMap<number, readonly BoundaryEntry[]>> {
  return reader.read(() => {
    const entries = new Map<number, readonly BoundaryEntry[]>();
    const start = reader.spaces.start(of.runNo, of.datasetNo);
    if (start === undefined) return entries;
    for (const ordinal of of.ordinals) {
      const rows = reader.db.all<BoundaryRow>(AT_PLACE, start + ordinal);
      if (rows.length > 0) entries.set(ordinal, rows.map(boundaryEntry));
    }
    return entries;
  });
}

/** By dataset, ordinal and time. */
export function boundariesOfRun(
  reader: Reader,
  runNo: number,
  limit: number,
): Promise<readonly (BoundaryEntry & { readonly place: Place })[]> {
  return reader.read(() => {
    const found: (BoundaryEntry & { readonly place: Place })[] = [];
    for (const { datasetNo, start, end } of reader.spaces.ofRun(runNo)) {
      if (found.length >= limit) break;
      for (const row of reader.db.all<BoundaryRow>(IN_SPACE, start, end, limit - found.length))
        found.push({ ...boundaryEntry(row), place: { datasetNo, ordinal: ordinalOf(row.place) } });
    }
    return found;
  });
}

function boundaryEntry(row: BoundaryRow): BoundaryEntry {
  return {
    key: row.key,
    // A kind of a newer release passes through: the run room refuses what it does not know.
    kind: row.kind as BoundaryKind,
    label: row.label,
    path: row.path,
    inputDigest: row.input_digest,
    state: row.state as BoundaryEntry['state'],
    value: row.value,
    at: row.at,
  };
}
