import type { RunProgress } from '../run/index.ts';
import type { RunRecord } from '../store/index.ts';
import type { ReportSource } from './reads.ts';

/** The numbers of one provider account with which the governor decides, as the run has last published them. */
export type AccountJson = Omit<RunProgress['accounts'][number], 'gateClosedUntil' | 'runs'> & {
  readonly gateClosedUntil: string | null;
  /** What calls of this run wait for there. */
  readonly waits: readonly {
    readonly calls: number;
    readonly reason: RunProgress['accounts'][number]['runs'][number]['reason'];
    readonly until: string | null;
  }[];
};

/** Accounts that the run used or waits for, by its newest 'progress' event; none where it has published nothing. */
export async function publishedAccounts(
  source: Pick<ReportSource, 'report'>,
  run: Pick<RunRecord, 'no'>,
): Promise<readonly AccountJson[]> {
  const data = await newestOf(source, run.no, 'progress');
  const { accounts = [] } = data === undefined ? {} : (JSON.parse(data) as Partial<RunProgress>);
  const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());
  return accounts.map(({ runs, gateClosedUntil, ...numbers }) => ({
    ...numbers,
    // A process of an older release publishes none.
    limits: (numbers as Partial<typeof numbers>).limits ?? [],
    gateClosedUntil: iso(gateClosedUntil),
    waits: runs.map(({ waiting, reason, until }) => ({ calls: waiting, reason, until: iso(until) })),
  }));
}

/** The data of the newest event of a type: there may be one for every second of a day, so that it is looked for by halves. */
async function newestOf(
  { report }: Pick<ReportSource, 'report'>,
  runNo: number,
  type: string,
): Promise<string | undefined> {
  const after = async (afterSeq: number) => (await report.events(runNo, { afterSeq, limit: 1, type }))[0];
  let newest = await after(0);
  if (newest === undefined) return undefined;
  let [low, step] = [newest.seq, 1];
  for (let next = await after(low + step); next !== undefined; next = await after(low + step)) {
    newest = next;
    [low, step] = [next.seq, step * 2];
  }
  for (let high = low + step; low < high; ) {
    const next = await after(Math.floor((low + high) / 2));
    if (next === undefined) high = Math.floor((low + high) / 2);
    else {
      newest = next;
      low = next.seq;
    }
  }
  return newest.data ?? undefined;
}
