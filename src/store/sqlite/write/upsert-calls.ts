import type { WriteOf } from '../../write-of.ts';
import { BatchInsert } from '../batch-insert.ts';
import { outcome, source } from '../codes.ts';
import type { Database } from '../driver.ts';
import type { Sites } from '../sites.ts';
import type { Spaces } from '../spaces.ts';

const HEAD = `INSERT OR REPLACE INTO calls
  (place, call_id, site_no, outcome, source, receipt_id, credits, duration_ms, at, input_digest, error)`;

/** Journals how calls ended. The same call again replaces its entry. */
export class CallUpsert {
  readonly #spaces: Spaces;
  readonly #sites: Sites;
  readonly #insert: BatchInsert;

  constructor(db: Database, spaces: Spaces, sites: Sites) {
    this.#spaces = spaces;
    this.#sites = sites;
    this.#insert = new BatchInsert(db, HEAD, 11);
  }

  add(write: WriteOf<'call'>): void {
    const { entry, place, fence, isPaidElsewhere = false } = write;
    this.#insert.waiting.push(
      this.#spaces.place(fence.runNo, place.datasetNo, place.ordinal),
      entry.callId,
      this.#sites.no(entry),
      outcome.number(entry.outcome),
      source.number(entry.source),
      entry.receiptId,
      isPaidElsewhere ? 0 : entry.credits,
      entry.durationMs,
      entry.at,
      entry.inputDigest,
      entry.error,
    );
    this.#insert.added();
  }

  flush(): void {
    this.#insert.flush();
  }

  rolledBack(): void {
    this.#insert.clear();
  }
}
