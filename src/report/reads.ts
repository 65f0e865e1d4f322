import type { CallReads, DatasetReads, LeftTry, ReportReads, RunReads, StoredReceipt } from '../store/index.ts';

/** What reports read of a workspace. Nothing here writes to the store. */
export interface ReportSource {
  readonly report: ReportReads;
  readonly runs: RunReads;
  readonly calls: Pick<CallReads, 'journal' | 'receiptRaw' | 'unsettledReceipts'>;
  readonly datasets: DatasetReads;
  readonly filesDir: string;
  /** Milliseconds since the epoch: tells an interrupted run from one that is worked on. */
  now(): number;
  /** True where the owner of a lease was a process of this machine that certainly no longer exists. */
  readonly isGone: (owner: string) => boolean;
  /** What a run's attempts had, or have, out at providers, and what they have lost sight of. */
  openTries(runId: string): readonly LeftTry[];
  /** The highest cost of one call of a tool. */
  readonly maxCreditsOf: (tool: string) => number;
  /** What a kept answer costs by its tool's own word, where that is more than the declared max; else undefined. */
  readonly priceAboveMax: (receipt: StoredReceipt) => Promise<number | undefined>;
}
