import { perform, type WriteOf, type WriteTable } from '../write-of.ts';
import type { Write } from '../writes.ts';
import type { Database } from './driver.ts';
import { Fences } from './fences.ts';
import type { KeyIndex } from './key-index.ts';
import type { LargeRaws } from './large-raws.ts';
import { Origins } from './origins.ts';
import { Sites } from './sites.ts';
import { Spaces } from './spaces.ts';
import { appendEvent } from './write/append-event.ts';
import { armWait } from './write/arm-wait.ts';
import { claimKeys } from './write/claim-keys.ts';
import { copyRun } from './write/copy-run.ts';
import { deliverSignal } from './write/deliver-signal.ts';
import { endJob } from './write/end-job.ts';
import { evictReceipts } from './write/evict-receipts.ts';
import { expireWait } from './write/expire-wait.ts';
import { isPaidInFamily } from './write/family.ts';
import { forgetRows } from './write/forget-rows.ts';
import { heartbeat } from './write/heartbeat.ts';
import { insertFrameChunk } from './write/insert-frame-chunk.ts';
import { ReceiptInsert } from './write/insert-receipts.ts';
import { insertRun } from './write/insert-run.ts';
import { insertSpool } from './write/insert-spool.ts';
import { releaseClaims } from './write/release-claims.ts';
import { requestCancel } from './write/request-cancel.ts';
import { resolveOperation } from './write/resolve-operation.ts';
import { setRunArtifact } from './write/set-run-artifact.ts';
import { setRunOptions } from './write/set-run-options.ts';
import { setRunState } from './write/set-run-state.ts';
import { takeLease } from './write/take-lease.ts';
import { upsertBoundary } from './write/upsert-boundary.ts';
import { CallUpsert } from './write/upsert-calls.ts';
import { upsertFrame } from './write/upsert-frame.ts';
import { upsertOperation } from './write/upsert-operation.ts';
import { RowUpsert } from './write/upsert-rows.ts';

/**
 * Performs writes inside a transaction that its caller opens and ends.
 *
 * Owns: what waits for a batched insert, and what is remembered from the open transaction.
 * Does not own: the transaction, or what happens when a write fails.
 *
 * Invariants
 *  1. State is written only after its fence was checked in the same transaction.
 *  2. After `rolledBack` nothing in memory says that the transaction happened, and no write carries an assigned number.
 */
export class Writer {
  readonly spaces: Spaces;
  readonly sites: Sites;
  readonly origins: Origins;
  readonly #db: Database;
  readonly #index: KeyIndex;
  readonly #fences: Fences;
  readonly #receipts: ReceiptInsert;
  readonly #calls: CallUpsert;
  readonly #rows: RowUpsert;
  readonly #table: WriteTable;

  constructor(db: Database, index: KeyIndex, large: LargeRaws) {
    this.#db = db;
    this.#index = index;
    this.spaces = new Spaces(db);
    this.sites = new Sites(db);
    this.origins = new Origins(db);
    this.#fences = new Fences(db);
    this.#receipts = new ReceiptInsert(db, { origins: this.origins, index, large });
    this.#calls = new CallUpsert(db, this.spaces, this.sites);
    this.#rows = new RowUpsert(db, this.spaces);
    this.#table = this.#makeTable();
  }

  /** Throws StaleAttemptError, StoreConflict, or an error of SQLite; the caller then rolls back. */
  write(write: Write): void {
    if ('fence' in write) this.#fences.check(write.fence);
    perform(this.#table, write);
  }

  /** The last thing before COMMIT. `mergeKeys` also moves the key index on. */
  finish(mergeKeys: boolean): void {
    this.#flush();
    if (mergeKeys && this.#receipts.added > 0) this.#index.merge(this.#receipts.added);
  }

  committed(): void {
    this.#fences.forget();
    this.spaces.committed();
    this.sites.committed();
    this.origins.committed();
    this.#index.committed();
    this.#receipts.committed();
  }

  rolledBack(): void {
    this.#fences.forget();
    this.spaces.rolledBack();
    this.sites.rolledBack();
    this.origins.rolledBack();
    this.#index.rolledBack();
    this.#receipts.rolledBack();
    this.#calls.rolledBack();
    this.#rows.rolledBack();
  }

  #makeTable(): WriteTable {
    const { spaces } = this;
    const db = this.#db;
    // Some look at receipts, calls or rows, which may still wait for their batch.
    return {
      receipt: (write) => this.#receipts.add(write),
      call: (write) => this.#addCall(write),
      row: (write) => this.#rows.add(write),
      boundary: (write) => upsertBoundary(db, spaces, write),
      event: (write) => appendEvent(db, write),
      frame: (write) => upsertFrame(db, write),
      frameChunk: (write) => insertFrameChunk(db, spaces, write),
      spool: (write) => insertSpool(db, spaces, write),
      claim: (write) => claimKeys(db, write),
      releaseClaims: (write) => releaseClaims(db, write),
      heartbeat: (write) => heartbeat(db, write),
      runState: (write) => setRunState(db, write),
      runOptions: (write) => setRunOptions(db, write),
      runArtifact: (write) => setRunArtifact(db, write),
      cancel: (write) => requestCancel(db, write),
      arm: (write) => armWait(db, spaces, write),
      expire: (write) => expireWait(db, spaces, write),
      signal: (write) => deliverSignal(db, write),
      operation: (write) => upsertOperation({ db, spaces }, write, () => this.#flush()),
      resolve: (write) => {
        this.#flush();
        resolveOperation(db, write);
      },
      copyRun: (write) => {
        this.#flush();
        copyRun(db, spaces, write);
      },
      forgetRows: (write) => {
        this.#flush();
        forgetRows(db, spaces, write);
      },
      run: (write) => {
        this.#flush();
        insertRun(db, write);
      },
      evict: (write) => {
        this.#flush();
        evictReceipts(db, write);
      },
      endJob: (write) => {
        this.#flush();
        endJob(db, write);
      },
      lease: (write) => {
        takeLease(db, write);
        this.#fences.forget();
      },
    };
  }

  #addCall(write: WriteOf<'call'>): void {
    const { family, fence, place, entry } = write;
    if (family !== undefined) {
      this.#flush();
      const asked = { family, runNo: fence.runNo, place, callId: entry.callId };
      write.isPaidElsewhere = isPaidInFamily({ db: this.#db, spaces: this.spaces }, asked);
    }
    this.#calls.add(write);
  }

  #flush(): void {
    this.#receipts.flush();
    this.#calls.flush();
    this.#rows.flush();
  }
}
