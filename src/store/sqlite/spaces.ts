import { CallsheetError } from '../../sdk/index.ts';
import type { Database } from './driver.ts';

/** Ordinals of one space; the numbers of 2^25 spaces fit beside them in an exact double. */
const ORDINALS = 2 ** 28;
const DATASETS = 2 ** 20;

/** The integer that a place is kept under. */
export type PlaceId = number;

interface SpaceRow {
  readonly no: number;
  readonly dataset_no: number;
}

/** A space and the places that it covers: from `start` up to, not including, `end`. */
export interface Space {
  readonly datasetNo: number;
  readonly start: PlaceId;
  readonly end: PlaceId;
}

/** Numbers of spaces: a space is one dataset of one run, or the run itself as its dataset 0. */
export class Spaces {
  readonly #db: Database;
  readonly #known = new Map<number, number>();
  #uncommitted: number[] = [];

  constructor(db: Database) {
    this.#db = db;
  }

  /** The place of a row, for writing: makes the space where it is new. Only within a transaction. */
  place(runNo: number, datasetNo: number, ordinal: number): PlaceId {
    if (ordinal >= ORDINALS || datasetNo >= DATASETS)
      throw new CallsheetError(
        'STORE_FAILED',
        `Row ${ordinal} of dataset ${datasetNo} is beyond what a database can hold (${ORDINALS} rows, ${DATASETS} datasets).`,
        { next: ['split the input over several runs'] },
      );
    return (this.#known.get(runNo * DATASETS + datasetNo) ?? this.#make(runNo, datasetNo)) * ORDINALS + ordinal;
  }

  /** The place of the first row of a space, for reading; undefined where nothing was ever written there. */
  start(runNo: number, datasetNo: number): PlaceId | undefined {
    const key = runNo * DATASETS + datasetNo;
    const no = this.#known.get(key) ?? this.#load(runNo, datasetNo);
    if (no === undefined) return undefined;
    this.#known.set(key, no);
    return no * ORDINALS;
  }

  /** All spaces of a run, by dataset. */
  ofRun(runNo: number): readonly Space[] {
    return this.#db
      .all<SpaceRow>('SELECT no, dataset_no FROM spaces WHERE run_no = ? ORDER BY dataset_no', runNo)
      .map(space);
  }

  newestFirst(): readonly Space[] {
    return this.#db.all<SpaceRow>('SELECT no, dataset_no FROM spaces ORDER BY no DESC').map(space);
  }

  committed(): void {
    this.#uncommitted = [];
  }

  rolledBack(): void {
    for (const key of this.#uncommitted) this.#known.delete(key);
    this.#uncommitted = [];
  }

  #load(runNo: number, datasetNo: number): number | undefined {
    return this.#db.get<{ no: number }>('SELECT no FROM spaces WHERE run_no = ? AND dataset_no = ?', runNo, datasetNo)
      ?.no;
  }

  #make(runNo: number, datasetNo: number): number {
    this.#db.run('INSERT OR IGNORE INTO spaces (run_no, dataset_no) VALUES (?, ?)', runNo, datasetNo);
    const no = this.#load(runNo, datasetNo) ?? 0;
    const key = runNo * DATASETS + datasetNo;
    this.#known.set(key, no);
    this.#uncommitted.push(key);
    return no;
  }
}

export function ordinalOf(place: PlaceId): number {
  return place % ORDINALS;
}

/** SQL for the number of the space that a column of places lies in. */
export function spaceNoSql(place: string): string {
  return `${place} / ${ORDINALS}`;
}

function space(row: SpaceRow): Space {
  return { datasetNo: row.dataset_no, start: row.no * ORDINALS, end: (row.no + 1) * ORDINALS };
}
