import { type Gate, Halted, type Scope } from '../scope/index.ts';
import { RunFatalError } from '../sdk/index.ts';
import type { RowState } from '../store/index.ts';
import type { Beginning } from './beginning.ts';
import { type CellPlace, cellText, LEFT_OUT, resolveCell } from './cell.ts';
import type { Column } from './columns.ts';
import type { FrameSlice } from './frame-rows.ts';
import type { DatasetHost } from './host.ts';
import { type KeySpec, rowName } from './keys.ts';
import { isThenable, type LegOutcome, type LegSink } from './program.ts';
import type { ActiveRow, DatasetCounters } from './progress.ts';
import { type LegError, legError, type RowRecords, traceText } from './record.ts';
import { type RowError, rowError } from './row-error.ts';

/** What all rows of a dataset share while they are processed. */
export interface RowJob {
  readonly host: DatasetHost;
  readonly datasetKey: string;
  readonly datasetNo: number;
  readonly columns: readonly Column[];
  readonly legs: readonly string[];
  readonly keySpec: KeySpec;
  /** True where a record says how its legs ended, also where no row failed. */
  readonly traced: boolean;
  readonly records: RowRecords;
  readonly counters: DatasetCounters;
  /** The row is done with its slot. */
  readonly left: (run: RowRun, state: RowState) => void;
  /** The row failed, with what its record says. Called before `left`. */
  readonly failed: (run: RowRun, error: RowError) => void;
  /** A run-fatal error: nothing more may start. */
  readonly fatal: (error: RunFatalError) => void;
  /** A record could not be written. */
  readonly unwritten: (error: unknown) => void;
}

/** An admitted row that is to be run. */
export interface RowItem {
  readonly slice: FrameSlice;
  /** Its place within the slice. */
  readonly index: number;
  readonly ordinal: number;
  readonly identity: string;
  readonly bytes: number;
  /** An earlier attempt had begun it and said so. */
  readonly again: boolean;
  readonly previous: Readonly<Record<string, unknown>> | undefined;
  /** What it has before it runs, in a rerun that begins at a column. */
  readonly beginning?: Beginning | undefined;
}

const NOTHING: Record<string, unknown> = Object.freeze({});

/**
 * One row on its way through the columns.
 *
 * Owns: the row, its cells so far, its scope and gate.
 * Does not own: its slot (pool), the order of rows, or what its calls do.
 *
 * Invariants
 *  1. A row ends once: completed, failed, parked, or without a record where the run ends around it.
 *  2. What is recorded waits for every effect of the row's that is in flight, awaited by the author or not.
 *  3. Plain values are taken without a promise; a row of plain resolvers ends within `begin`.
 */
export class RowRun implements LegSink, ActiveRow, CellPlace {
  readonly ordinal: number;
  /** What it counts for in the pool. */
  readonly bytes: number;
  readonly startedAt: number;
  slot = -1;
  readonly scope: Scope;
  row: Record<string, unknown>;
  previous: Readonly<Record<string, unknown>> | undefined;
  readonly #job: RowJob;
  readonly #gate: Gate;
  #column = 0;
  #cells = '';
  #leg = -1;
  /** The first leg that is this run's own. */
  #firstLeg = 0;
  #outcomes: LegOutcome[];
  #errors: Map<number, LegError> | undefined;
  #ended = false;
  #state: RowState = 'completed';
  #credits = 0;
  #onValue: ((value: unknown) => void) | undefined;
  #onError: ((error: unknown) => void) | undefined;

  constructor(job: RowJob, item: RowItem) {
    const { host } = job;
    this.#job = job;
    this.bytes = item.bytes;
    this.previous = item.previous;
    this.ordinal = item.ordinal;
    this.startedAt = host.clock.monotonic();
    this.row = item.slice.row(item.index);
    this.#gate = host.openRow(() => this.#suspended());
    this.scope = host.scope.row({
      datasetKey: job.datasetKey,
      datasetNo: job.datasetNo,
      ordinal: item.ordinal,
      identity: item.identity,
      gate: this.#gate,
      named: this,
    });
    this.#outcomes = new Array<LegOutcome>(job.legs.length).fill('none');
    if (item.beginning !== undefined) this.#takeBeginning(item.beginning);
  }

  get sink(): LegSink {
    return this;
  }

  get path(): string {
    return this.#job.legs[this.#leg] ?? this.#job.columns[this.#column]?.name ?? '';
  }

  /** The row's key as people write it. */
  rowName(): string {
    return rowName(this.#job.keySpec, this.row, this.ordinal);
  }

  rowCtx(scope: Scope): ReturnType<DatasetHost['rowCtx']> {
    return this.#job.host.rowCtx(scope);
  }

  /** `again`: an earlier attempt had begun it. */
  begin(again: boolean): void {
    this.#job.counters.started(this, again);
    this.#advance();
  }

  #takeBeginning({ cells, legs }: Beginning): void {
    const { columns, legs: paths } = this.#job;
    const texts = cells.map((value, index) => {
      const { name } = columns[index] ?? { name: '' };
      this.row[name] = value;
      return cellText(value, name, this.ordinal);
    });
    this.#cells = texts.join(',');
    this.#column = cells.length;
    this.#firstLeg = columns[cells.length]?.firstLeg ?? paths.length;
    for (const { path, outcome, error } of legs) {
      const leg = paths.indexOf(path);
      if (leg < 0 || leg >= this.#firstLeg) continue;
      this.#outcomes[leg] = outcome;
      if (error === undefined) continue;
      this.#errors ??= new Map();
      this.#errors.set(leg, error);
    }
  }

  enter(leg: number): void {
    this.#leg = leg;
  }

  ended(leg: number, outcome: LegOutcome, error?: unknown): void {
    this.#outcomes[leg] = outcome;
    if (error === undefined) return;
    this.#errors ??= new Map();
    this.#errors.set(leg, legError(this.#describe(error)));
  }

  passedOver(first: number, count: number): void {
    this.#change({ first, count, from: 'failed', to: 'unavailable' });
  }

  rejected(first: number, count: number): void {
    this.#change({ first, count, from: 'hit', to: 'rejected' });
  }

  #change({ first, count, from, to }: { first: number; count: number; from: LegOutcome; to: LegOutcome }): void {
    for (let leg = first; leg < first + count; leg++) if (this.#outcomes[leg] === from) this.#outcomes[leg] = to;
  }

  #describe(error: unknown): RowError {
    const { columns, host } = this.#job;
    const column = columns[this.#column]?.name ?? '';
    return rowError(error, { column, row: this.rowName(), at: host.placeOf?.(error) });
  }

  #advance(): void {
    const { columns } = this.#job;
    for (let column = columns[this.#column]; column !== undefined; column = columns[this.#column]) {
      this.#leg = -1;
      try {
        const value = resolveCell(column, this);
        if (isThenable(value)) {
          this.#await(value);
          return;
        }
        this.#take(column, value);
      } catch (error) {
        this.#fail(error);
        return;
      }
    }
    this.#end('completed', null);
  }

  /** The two reactions are made once a row, not once a cell. */
  #await(value: PromiseLike<unknown>): void {
    this.#onValue ??= (settled) => {
      const column = this.#job.columns[this.#column];
      if (this.#ended || column === undefined) return;
      try {
        this.#take(column, settled);
      } catch (error) {
        this.#fail(error);
        return;
      }
      this.#advance();
    };
    this.#onError ??= (error) => {
      if (!this.#ended) this.#fail(error);
    };
    value.then(this.#onValue, this.#onError);
  }

  #take(column: Column, value: unknown): void {
    const given = value === LEFT_OUT ? null : (value ?? null);
    const text = cellText(given, column.name, this.ordinal);
    this.#cells = this.#column === 0 ? text : `${this.#cells},${text}`;
    if (column.program === undefined)
      this.#outcomes[column.firstLeg] = value === LEFT_OUT ? 'skipped' : given === null ? 'miss' : 'hit';
    this.row[column.name] = given;
    this.#column++;
  }

  #fail(error: unknown): void {
    if (error instanceof RunFatalError) {
      this.#leaveUnrecorded();
      this.#job.fatal(error);
      return;
    }
    if (error instanceof Halted) {
      this.#leaveUnrecorded();
      return;
    }
    const column = this.#job.columns[this.#column];
    if (column !== undefined && column.program === undefined) this.#outcomes[column.firstLeg] = 'failed';
    this.#end('failed', this.#describe(error));
  }

  /** The run ends around the row: it keeps its slot, so that nothing takes its place, and its gate, which the run closes. */
  #leaveUnrecorded(): void {
    this.#ended = true;
  }

  #end(state: 'completed' | 'failed', error: RowError | null): void {
    this.#ended = true;
    if (this.#gate.unfinished === 0) this.#record(state, error);
    else void this.#still().then(() => this.#record(state, error));
  }

  /** Waits for all effects of the row, and for those that their ends set off. */
  #still(): Promise<void> {
    const { host } = this.#job;
    return this.#gate.still(host.clock, host.waiting.stepGraceMs);
  }

  /** The run has suspended this row: once nothing of it is in flight it gives its slot back, if it has not ended by then. */
  #suspended(): void {
    void this.#parkWhenIdle();
  }

  async #parkWhenIdle(): Promise<void> {
    // A turn of the event loop lets author's code that was only waiting for itself come to its end.
    await new Promise<void>((resolve) => setImmediate(resolve));
    await this.#still();
    if (this.#ended || !this.#job.host.admitting()) return;
    this.#ended = true;
    this.#record('parked', null);
  }

  #record(state: RowState, error: RowError | null): void {
    const job = this.#job;
    const { host, datasetNo } = job;
    if (host.fatal === undefined ? !host.admitting() : host.fatal()) {
      this.#leaveUnrecorded();
      return;
    }
    this.#gate.close();
    host.closeRow(this.#gate);
    const settled = host.takeRowCredits(datasetNo, this.ordinal);
    if (state !== 'parked') host.waiting.ended({ datasetNo, ordinal: this.ordinal });
    // What a parked row has paid is in the journal, and is settled again by whoever runs it to its end.
    const credits = state === 'parked' ? 0 : settled;
    const traced = job.traced || error !== null;
    this.#state = state;
    this.#credits = credits;
    job.records.put(
      {
        ordinal: this.ordinal,
        state,
        cells: `[${this.#cells}]`,
        error: error === null ? null : JSON.stringify(error),
        trace: traced ? traceText(this.#outcomes, this.#errors) : null,
        credits,
        at: host.clock.now(),
      },
      this,
    );
    // From here on it counts for nothing in the pool, so it must hold nothing large until its record is durable.
    this.row = NOTHING;
    this.previous = undefined;
    this.#cells = '';
    if (error !== null) job.failed(this, error);
    job.left(this, state);
  }

  /** Its record is durable, or was refused. */
  settled(failure: unknown | undefined): void {
    if (failure !== undefined) {
      this.#job.unwritten(failure);
      return;
    }
    const { counters } = this.#job;
    if (this.#state !== 'parked')
      for (let leg = this.#firstLeg; leg < this.#outcomes.length; leg++)
        counters.leg(leg, this.#outcomes[leg] ?? 'none');
    counters.recorded(this, this.#state, this.#credits);
    // Its journal is on disk: whoever runs the row again finds all of it.
    const place = { datasetNo: this.#job.datasetNo, ordinal: this.ordinal };
    if (this.#state === 'parked') this.#job.host.waiting.parked(place, this.#gate.wantsMore);
  }
}
