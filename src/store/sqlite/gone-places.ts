import type { Database } from './driver.ts';

/** A provider may need so long to see that a connection was closed, counted from when somebody sees that the process is gone. */
const UNSEEN_MS = 1_000;
/** No claim counts for longer. */
const LONGEST_KEPT_MS = 30_000;

/**
 * True while what the claim of a session that is gone held counts: a provider may be at work on its calls. Clocks may be set: an
 * instant that lies ahead by more than that says nothing.
 */
export function isCounted(
  claim: { readonly seenAt: number; readonly keepMs: number; readonly goneAt: number | null },
  now: number,
): boolean {
  const { seenAt, keepMs, goneAt } = claim;
  return Math.abs(now - (goneAt ?? now)) < UNSEEN_MS || Math.abs(now - seenAt) < Math.min(keepMs, LONGEST_KEPT_MS);
}

/** Somebody sees that the session's process is gone. */
export function noteGone(db: Database, session: string, now: number): void {
  db.run('UPDATE places SET gone_at = ? WHERE session = ? AND gone_at IS NULL', now, session);
}

/** Claims of accounts that nobody asked for since. */
export function forgetGonePlaces(db: Database, now: number): void {
  db.run('DELETE FROM places WHERE abs(? - gone_at) >= ?', now, LONGEST_KEPT_MS);
}

export function forgetPlaces(db: Database, session: string): void {
  db.run('DELETE FROM places WHERE session = ?', session);
}
