import { readPlan } from '../dataset/index.ts';
import { roundedCredits } from '../scope/index.ts';
import type { FrameRecord, ToolTotals } from '../store/index.ts';

/** Where a run's credits went. The three together are what it has settled. */
export interface CreditPlaces {
  /** By calls of rows, from columns that their datasets have. */
  readonly cells: number;
  /** By calls of the play itself: in its body, its steps, its programs and its inline children. */
  readonly outsideRows: number;
  /** By calls of rows, from columns that the run's code had before and has no more. */
  readonly outsideColumns: number;
}

/** The names of a dataset's derived columns; none of one that the run has not. */
export type ColumnNames = (datasetNo: number) => readonly string[];

export function columnNamesOf(frames: readonly FrameRecord[]): ColumnNames {
  const names = new Map(frames.map((frame) => [frame.datasetNo, readPlan(frame).columns.map(({ name }) => name)]));
  return (datasetNo) => names.get(datasetNo) ?? [];
}

/**
 * The column that a call was made from, by its path; undefined where none of these is. A column may be named like another
 * one's step: the longer name has the call, so that it counts once.
 */
export function columnAt(path: string, names: readonly string[]): string | undefined {
  let longest: string | undefined;
  for (const name of names)
    if ((path === name || path.startsWith(`${name}.`)) && name.length > (longest?.length ?? -1)) longest = name;
  return longest;
}

/** True for calls that no cell shows. */
export function isInNoCell({ datasetNo, path }: Pick<ToolTotals, 'datasetNo' | 'path'>, columns: ColumnNames): boolean {
  return datasetNo === 0 || columnAt(path, columns(datasetNo)) === undefined;
}

export function creditPlaces(totals: readonly ToolTotals[], columns: ColumnNames): CreditPlaces {
  const sum = { cells: 0, outsideRows: 0, outsideColumns: 0 };
  for (const one of totals) {
    const place = one.datasetNo === 0 ? 'outsideRows' : isInNoCell(one, columns) ? 'outsideColumns' : 'cells';
    sum[place] += one.credits;
  }
  return {
    cells: roundedCredits(sum.cells),
    outsideRows: roundedCredits(sum.outsideRows),
    outsideColumns: roundedCredits(sum.outsideColumns),
  };
}
