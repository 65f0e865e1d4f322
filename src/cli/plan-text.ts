import type { PlanJson } from '../report/index.ts';
import { counted, shownNumber, shownSeconds, tableLines } from './table.ts';

/** A plan for people. */
export function planLines(plan: PlanJson): string[] {
  const lines: string[] = [`${plan.play}`];
  for (const dataset of plan.datasets) {
    lines.push(`${dataset.key}: ${counted(dataset.rows, 'row')}`);
    const rows = dataset.columns.flatMap((column) =>
      column.legs.map((leg) => [
        `  ${leg.leg}`,
        leg.tool ?? '–',
        ...[leg.calls.new, leg.calls.receipt, leg.calls.skipped, leg.calls.blocked].map(shownNumber),
        creditsText(leg.credits),
      ]),
    );
    lines.push(...tableLines(['  leg', 'tool', 'new', 'receipts', 'skipped', 'blocked', 'credits'], rows));
  }
  // Without an end to follow it to there is no most.
  const more = plan.isWhole ? '' : ' or more';
  lines.push(`credits: ${creditsText(plan.credits)}${more} (least – expected – most)`);
  const { atDeclaredLimits, isDeclared } = plan.seconds;
  lines.push(`time at the declared limits: ${isDeclared ? shownSeconds(atDeclaredLimits) : 'none declared'}`);
  lines.push(...plan.notes.map((note) => `note: ${note}`));
  return lines;
}

function creditsText({ least, expected, most }: PlanJson['credits']): string {
  return [least, expected, most].map(shownNumber).join(' – ');
}
