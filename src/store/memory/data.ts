import type { Place } from '../../scope/index.ts';
import type {
  BoundaryEntry,
  CallEntry,
  FrameRecord,
  Instant,
  NewReceipt,
  NewSignal,
  OperationRecord,
  RowRecord,
  RunEvent,
  RunRecord,
  RunStatus,
  WaitRecord,
} from '../records.ts';

export interface MemoryReceipt extends NewReceipt {
  readonly id: number;
  evictedAt: Instant | null;
}

export interface MemoryWait extends WaitRecord {
  readonly runNo: number;
}

export interface MemorySignal extends NewSignal {
  readonly no: number;
  readonly runNo: number | null;
  consumed: boolean;
}

export interface MemoryOperation extends OperationRecord {
  /** The one that wrote it, 0 where it came with a copy of another run. */
  readonly attempt: number;
}

/** Runs whose waits a signal without a run may answer. */
export const WORKED_ON: readonly RunStatus[] = ['queued', 'running', 'waiting'];

export interface MemoryChunk {
  readonly keys: Uint8Array;
  readonly repeats: Int32Array;
}

/** One dataset of one run, or the run itself as its dataset 0. */
export interface Space {
  readonly runNo: number;
  readonly datasetNo: number;
  frame: FrameRecord | undefined;
  readonly chunks: Map<number, MemoryChunk>;
  readonly spool: Map<number, readonly string[]>;
  readonly rows: Map<number, RowRecord>;
  /** By ordinal, then by call id or key. */
  readonly calls: Map<number, Map<string, CallEntry>>;
  readonly boundaries: Map<number, Map<string, BoundaryEntry>>;
  readonly operations: Map<number, Map<string, MemoryOperation>>;
}

/** What several handles of one memory store share, as several connections share a file. */
export class MemoryData {
  readonly runs: RunRecord[] = [];
  readonly receipts: MemoryReceipt[] = [];
  readonly receiptsByKey = new Map<string, MemoryReceipt[]>();
  /** The receipt that has ended a job, by that of its start. */
  readonly jobEnds = new Map<number, number>();
  readonly events = new Map<number, RunEvent[]>();
  /** Scope, then key, to the run that has it. */
  readonly claims = new Map<string, Map<string, number>>();
  readonly waits: MemoryWait[] = [];
  readonly signals: MemorySignal[] = [];
  readonly #spaces = new Map<string, Space>();

  run(no: number): RunRecord | undefined {
    return this.runs[no - 1];
  }

  runById(id: string): RunRecord | undefined {
    return this.runs.find((run) => run.id === id);
  }

  /** Runs that come from this one, and those that come from them, oldest first. */
  runsFrom(origin: 'parentRunId' | 'replayedFrom', runId: string): readonly RunRecord[] {
    const tree = new Set([runId]);
    // A run is made after the one that it comes from.
    for (const { id, [origin]: from } of this.runs) if (from !== null && tree.has(from)) tree.add(id);
    return this.runs.filter(({ id }) => id !== runId && tree.has(id));
  }

  space(runNo: number, datasetNo: number): Space {
    const name = `${runNo}/${datasetNo}`;
    const known = this.#spaces.get(name);
    if (known !== undefined) return known;
    const made: Space = {
      runNo,
      datasetNo,
      frame: undefined,
      chunks: new Map(),
      spool: new Map(),
      rows: new Map(),
      calls: new Map(),
      boundaries: new Map(),
      operations: new Map(),
    };
    this.#spaces.set(name, made);
    return made;
  }

  waitAt(runNo: number, place: Place, key: string): MemoryWait | undefined {
    return this.waits.find(
      (wait) =>
        wait.runNo === runNo &&
        wait.place.datasetNo === place.datasetNo &&
        wait.place.ordinal === place.ordinal &&
        wait.key === key,
    );
  }

  spaces(runNo: number): readonly Space[] {
    return [...this.#spaces.values()]
      .filter((space) => space.runNo === runNo)
      .sort((a, b) => a.datasetNo - b.datasetNo);
  }

  allCalls(): readonly { readonly space: Space; readonly entry: CallEntry }[] {
    return [...this.#spaces.values()].flatMap((space) =>
      [...space.calls.values()].flatMap((calls) => [...calls.values()].map((entry) => ({ space, entry }))),
    );
  }
}

export function listIn<Key, Value>(map: Map<Key, Value[]>, key: Key): Value[] {
  const list = map.get(key) ?? [];
  map.set(key, list);
  return list;
}

export function mapIn<Outer, Key, Value>(map: Map<Outer, Map<Key, Value>>, key: Outer): Map<Key, Value> {
  const inner = map.get(key) ?? new Map<Key, Value>();
  map.set(key, inner);
  return inner;
}
