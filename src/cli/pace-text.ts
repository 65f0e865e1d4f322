import type { RunProgress } from '../workspace/index.ts';
import { shownNumber, shownSeconds } from './table.ts';

type Pace = Pick<RunProgress['accounts'][number], 'usedRate' | 'allowedRate' | 'limits'>;

const UNITS: readonly (readonly [ms: number, name: string])[] = [
  [86_400_000, 'day'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
];

/**
 * `13.5 calls/s of 15/s, 600/min`: what was used lately, and each limit in its own window. Of a minute's limit more than a
 * sixtieth may go in a second, so that no limit is shown as a rate of another window.
 */
export function paceText({ usedRate, allowedRate, limits }: Pace): string {
  const declared = limits.map(({ calls, perMs }) => `${shownNumber(calls)}/${windowText(perMs)}`);
  const tightest = Math.min(...limits.map(({ calls, perMs }) => (calls * 1000) / perMs));
  const isSlowed = allowedRate !== null && allowedRate < tightest * 0.99;
  const of = declared.length === 0 ? '' : ` of ${declared.join(', ')}`;
  return `${tenth(usedRate)} calls/s${of}${isSlowed ? `, slowed to ${tenth(allowedRate)}/s by refusals` : ''}`;
}

function windowText(perMs: number): string {
  const unit = UNITS.find(([ms]) => perMs % ms === 0);
  if (unit === undefined) return shownSeconds(perMs / 1000);
  const count = perMs / unit[0];
  return count === 1 ? unit[1] : `${shownNumber(count)} ${unit[1]}`;
}

function tenth(value: number): string {
  return shownNumber(Math.round(value * 10) / 10);
}
