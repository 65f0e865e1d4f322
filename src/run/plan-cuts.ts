import type { PlannedCut } from '../call/index.ts';
import type { CallReads } from '../store/index.ts';

/** Rows of a plan that came no further than the same place. */
export interface RowsCut {
  readonly datasetNo: number;
  readonly path: string;
  /** The tool whose call nothing answers, or what else a plan does not do: `step`, `fetch` … */
  readonly at: string;
  /** Another row's call buys the answer. */
  readonly isShared: boolean;
  readonly rows: number;
  /** Calls that these rows have made already: with an answer, or under way without one. */
  readonly known: readonly { readonly path: string; readonly tool: string; readonly calls: number }[];
}

interface Counted extends Omit<RowsCut, 'rows' | 'known'> {
  rows: number;
  readonly known: Map<string, { path: string; tool: string; calls: number }>;
}

const PAGE = 1_000;

/** The rows that a plan could not finish, by where they stand. */
export async function rowsCut(
  cuts: readonly PlannedCut[],
  reads: Pick<CallReads, 'journal'>,
  runNo: number,
): Promise<readonly RowsCut[]> {
  const counted = new Map<string, Counted>();
  for (let from = 0; from < cuts.length; from += PAGE) {
    for (const [datasetNo, page] of Map.groupBy(cuts.slice(from, from + PAGE), (cut) => cut.datasetNo)) {
      const ordinals = page.map(({ ordinal }) => ordinal);
      const journal = await reads.journal(runNo, datasetNo, ordinals);
      for (const cut of page) {
        const of = countOf(counted, cut);
        of.rows++;
        for (const call of [...cut.pending, ...(journal.get(cut.ordinal) ?? [])]) addKnown(of, call);
      }
    }
  }
  return [...counted.values()].map((one) => ({ ...one, known: [...one.known.values()] }));
}

function countOf(counted: Map<string, Counted>, { datasetNo, path, at, isShared }: PlannedCut): Counted {
  const id = JSON.stringify([datasetNo, path, at, isShared]);
  const before = counted.get(id);
  if (before !== undefined) return before;
  const fresh: Counted = { datasetNo, path, at, isShared, rows: 0, known: new Map() };
  counted.set(id, fresh);
  return fresh;
}

function addKnown({ known }: Counted, { path, tool }: { readonly path: string; readonly tool: string }): void {
  const id = JSON.stringify([path, tool]);
  const before = known.get(id) ?? { path, tool, calls: 0 };
  known.set(id, { ...before, calls: before.calls + 1 });
}
