import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { LedgerEntry } from '../../../src/sandbox/index.ts';

/** A question as provider and store both know it, whatever the fields are called on either side. */
export function questionOf(entry: LedgerEntry): string {
  return named(entry.provider, entry.question);
}

function named(provider: string, input: string): string {
  const values = Object.values(JSON.parse(input) as Record<string, unknown>).map(String);
  return `${provider}: ${values.sort().join(' | ')}`;
}

/** Questions whose answers the workspace has on disk, each as often as it has receipts. Read from outside, changing nothing. */
export function recordedQuestions(dir: string): string[] {
  return rowsOf(
    dir,
    'SELECT origins.tool AS tool, receipts.input AS input FROM receipts JOIN origins ON origins.no = receipts.origin_no ORDER BY receipts.id',
  ).map(({ tool, input }) => named(String(tool).split('.')[0] ?? '', String(input)));
}

/** Reads the workspace's database as another process would: without a lock, without a checkpoint. */
export function rowsOf(dir: string, sql: string): Record<string, unknown>[] {
  for (let tries = 1; ; tries++) {
    try {
      return readRows(dir, sql);
    } catch (error) {
      // A process that closes it takes its log away, and for a moment a reader finds half of it.
      if (tries === 50 || !String(error).includes('unable to open')) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    }
  }
}

function readRows(dir: string, sql: string): Record<string, unknown>[] {
  // Whoever opens it first after a kill holds it for a moment.
  const db = new DatabaseSync(join(dir, '.callsheet', 'callsheet.db'), { readOnly: true, timeout: 5_000 });
  try {
    return db.prepare(sql).all() as Record<string, unknown>[];
  } finally {
    db.close();
  }
}

/** How often each question is in a list. */
export function countsOf(questions: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const question of questions) counts.set(question, (counts.get(question) ?? 0) + 1);
  return counts;
}
