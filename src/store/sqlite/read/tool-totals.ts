import type { ToolTotals } from '../../port.ts';
import { addTotals, inOrder } from '../../tool-totals.ts';
import { outcome, source } from '../codes.ts';
import { endOf, inPieces, type Reader } from '../reader.ts';

interface TotalsRow {
  readonly site_no: number;
  readonly source: number;
  readonly outcome: number;
  readonly calls: number;
  readonly credits: number;
}

const TOTALS = `SELECT site_no, source, outcome, count(*) AS calls, total(credits) AS credits
  FROM calls WHERE place >= ? AND place < ? GROUP BY site_no, source, outcome`;

/** Calls and credits of a run by dataset, path, tool, source and outcome, in that order. */
export async function toolTotals(reader: Reader, runNo: number): Promise<readonly ToolTotals[]> {
  const totals = new Map<string, ToolTotals>();
  for (const { datasetNo, start, end } of await reader.read(() => reader.spaces.ofRun(runNo))) {
    const to = await reader.read(() => endOf(reader, 'calls', { from: start, to: end }));
    await inPieces(reader, { from: start, to }, (from, until) => {
      for (const row of reader.db.all<TotalsRow>(TOTALS, from, until)) {
        const site = reader.sites.site(row.site_no);
        addTotals(totals, {
          tool: site?.tool ?? '',
          path: site?.path ?? '',
          datasetNo,
          source: source.name(row.source),
          outcome: outcome.name(row.outcome),
          calls: row.calls,
          credits: row.credits,
        });
      }
    });
  }
  return inOrder(totals);
}
