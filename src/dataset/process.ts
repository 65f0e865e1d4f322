import { RunFatalError } from '../sdk/index.ts';
import { Beginnings } from './beginning.ts';
import type { Column } from './columns.ts';
import { asFatal } from './fatal.ts';
import { RowFeed } from './feed.ts';
import type { Frame, Range } from './frame-rows.ts';
import type { DatasetHost } from './host.ts';
import type { KeySpec } from './keys.ts';
import { Pool, type PoolEnd } from './pool.ts';
import { PreviousCells } from './previous.ts';
import type { DatasetCounters } from './progress.ts';
import { RowRecords } from './record.ts';
import { type RowItem, type RowJob, RowRun } from './row.ts';
import type { RowError } from './row-error.ts';

export interface ProcessWhat {
  readonly frame: Frame;
  readonly columns: readonly Column[];
  readonly keySpec: KeySpec;
  readonly counters: DatasetCounters;
  readonly onRowError: 'isolate' | 'fail';
  readonly concurrency: number;
  readonly maxParked: number;
  /** True where rows of the frame may be finished already. */
  readonly resumed: boolean;
}

const SHOWN_FAILURES = 20;

/**
 * Brings the rows of a range of a frame to completed, failed or parked. What is finished is on disk when it resolves or
 * rejects. Rejects with the run-fatal error that ended it, of which the run has been told.
 */
export async function processRange(host: DatasetHost, what: ProcessWhat, range: Range): Promise<PoolEnd> {
  const { frame, counters } = what;
  const [{ datasetNo }, { previous }] = [frame.record, frame.plan];
  const records = new RowRecords(host.committer, host.fence, datasetNo);
  const feed = new RowFeed(host, frame, {
    range,
    resumed: what.resumed,
    previous: previous === null ? undefined : await PreviousCells.load(host.reads, previous),
    beginnings: what.resumed ? await Beginnings.load(host, frame, what.columns) : undefined,
    leftParked: () => {
      counters.leftParked();
      pool.leftParked();
    },
  });
  const pool: Pool<RowItem> = new Pool<RowItem>({
    limit: what.concurrency,
    maxBytes: host.maxBytesInFlight,
    maxParked: what.maxParked,
    clock: host.clock,
    take: () => feed.take(),
    fill: () => feed.fill(),
    bytes: (item) => item.bytes,
    mayStart: () => host.admitting(),
    room: () => records.room(),
    stuck: (rows) => crowd?.stuck(rows),
    start: (item) => new RowRun(job, item).begin(item.again),
    // A plan waits for nothing: it gives what there is.
    rest: host.planning === true ? undefined : (resting) => rest(host, frame, { resting, parked: pool.parked }),
  });
  const crowd = host.crowd?.(datasetNo, (rows) => pool.grow(rows));
  host.waiting.onWake(datasetNo, (ordinal) => {
    counters.woke();
    feed.wake(ordinal);
    pool.woke();
  });
  const stir = (): void => pool.stir();
  host.waiting.halt.addEventListener('abort', stir, { once: true });
  let ended: RunFatalError | undefined;
  const stop = (error: RunFatalError): void => {
    if (ended !== undefined) return;
    ended = error;
    host.raiseFatal(error);
    pool.stop(error);
  };
  const job = jobOf(host, what, { pool, records, stop });
  counters.watch();
  let end: PoolEnd;
  try {
    end = await pool.run();
  } finally {
    host.waiting.halt.removeEventListener('abort', stir);
    crowd?.close();
    await records.drained();
    counters.unwatch();
    await feed.close();
  }
  // A record may be refused after the last row has left the pool.
  if (ended !== undefined) throw ended;
  return end;
}

/**
 * All that is left is parked: the attempt may end, or somebody's answer brings rows back. Counters take a parked row once it
 * is durable, so it is the pool that knows how many there are.
 */
function rest(host: DatasetHost, { record }: Frame, { resting, parked }: { resting: boolean; parked: number }): void {
  host.waiting.busy(!resting);
  if (!resting) return;
  const { key, datasetNo } = record;
  host.event({
    type: 'dataset.parked',
    level: 'info',
    message: `Dataset '${key}': all ${parked} unfinished rows are waiting.`,
    datasetNo,
    data: JSON.stringify({ parked }),
  });
  host.waiting.rests();
}

/** What rows share, and where they report to. */
function jobOf(
  host: DatasetHost,
  what: ProcessWhat,
  to: {
    readonly pool: Pool<RowItem>;
    readonly records: RowRecords;
    readonly stop: (error: RunFatalError) => void;
  },
): RowJob {
  const { frame, columns, keySpec, counters } = what;
  const failures = new Failures(host, frame);
  return {
    host,
    datasetKey: frame.record.key,
    datasetNo: frame.record.datasetNo,
    columns,
    legs: columns.flatMap((column) => column.legs),
    keySpec,
    traced: columns.some(({ program, spec }) => program !== undefined || spec?.runIf !== undefined),
    records: to.records,
    counters,
    left: (run, state) => (state === 'parked' ? to.pool.park(run.bytes) : to.pool.release(run.bytes)),
    failed: (run, error) => {
      failures.say(run.ordinal, error);
      // The run is told once what is finished is on disk.
      if (what.onRowError === 'fail') to.pool.stop(rowFailed(frame, run.ordinal, error));
    },
    fatal: to.stop,
    unwritten: (error) => to.stop(asFatal(error)),
  };
}

/** What a dataset whose `onRowError` is `fail` ends the run with. */
export function rowFailed(
  frame: Frame,
  ordinal: number,
  error: Pick<RowError, 'code' | 'message' | 'column' | 'row'>,
): RunFatalError {
  const { key } = frame.record;
  return new RunFatalError(
    'ROW_FAILED',
    `Dataset '${key}': row ${ordinal + 1} (${error.row}) failed in column '${error.column}': ${error.message}`,
    {
      details: { dataset: key, rowNumber: ordinal + 1, row: error.row, column: error.column, code: error.code },
      next: [
        'Mend the cause, then: callsheet runs resume <run> --retry-failed',
        "Or let other rows go on past a failed one: .run({ onRowError: 'isolate' }).",
      ],
    },
  );
}

/** Says the first failures as they happen; all of them are in the records. */
class Failures {
  readonly #host: DatasetHost;
  readonly #frame: Frame;
  #said = 0;

  constructor(host: DatasetHost, frame: Frame) {
    this.#host = host;
    this.#frame = frame;
  }

  say(ordinal: number, error: RowError): void {
    if (this.#said === SHOWN_FAILURES) return;
    this.#said++;
    const last = this.#said === SHOWN_FAILURES ? ' Further failures of this dataset are only counted.' : '';
    this.#host.event({
      type: 'row.failed',
      level: 'warn',
      message: `Row ${ordinal + 1} (${error.row}) of '${this.#frame.record.key}' failed in '${error.column}': ${error.message}${last}`,
      datasetNo: this.#frame.record.datasetNo,
      ordinal,
      data: JSON.stringify({ code: error.code, column: error.column, row: error.row }),
    });
  }
}
