import type { CallEntry, RunRecord } from '../store/index.ts';
import type { ReportSource } from './reads.ts';

const LOOKED_AT = 100_000;

/** What calls of a run may have cost that failed since no answer came (doubts, which wait for somebody's word, are not among them). */
export async function lostCredits(source: ReportSource, run: RunRecord): Promise<number> {
  const failed = await source.report.failedCalls(run.no, LOOKED_AT);
  return failed.filter(isLost).reduce((sum, { tool }) => sum + source.maxCreditsOf(tool), 0);
}

/** Its request went out, and nothing says that it was not done. */
function isLost({ error, receiptId, source }: CallEntry): boolean {
  if (error === null || receiptId !== null || source !== 'live') return false;
  const { type, details } = JSON.parse(error) as {
    readonly type?: string;
    readonly details?: { readonly ending?: string; readonly status?: number };
  };
  return type === 'transient' && details?.ending === 'ambiguous' && !((details.status ?? 0) >= 500);
}
