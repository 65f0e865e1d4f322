import { hostname } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
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

/** What this process holds in `rates.db` is that of one which exists no more, as after a kill -9. */
export function diedInRates(path: string): void {
  const db = new DatabaseSync(path, { timeout: 10_000 });
  const dead = `${hostname()}|4194304|0|`;
  for (const [table, column] of [
    ['sessions', 'name'],
    ['reservations', 'session'],
    ['open_tries', 'session'],
    ['places', 'session'],
  ])
    db.prepare(`UPDATE ${table} SET ${column} = ? || ${column} WHERE ${column} <> 'left'`).run(dead);
  db.close();
}
