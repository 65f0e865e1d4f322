import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Clock } from '../../src/scope/index.ts';
import { openRates, type Rates } from '../../src/store/index.ts';

/** `rates.db` of a folder, as one more process opens it; those whose names are in `gone` exist no more. */
export function ratesIn(dir: string, clock: Clock, session: string, gone: ReadonlySet<string> = new Set()): Rates {
  const isGone = (name: string): boolean => gone.has(name);
  const rates = openRates({ path: join(dir, 'rates.db'), clock, session, isGone });
  onTestFinished(() => rates.close());
  return rates;
}
