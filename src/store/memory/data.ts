import type {
  BoundaryEntry,
  CallEntry,
  FrameRecord,
  Instant,
  NewReceipt,
  RowRecord,
  RunEvent,
  RunRecord,
} from '../port.ts';

export interface MemoryReceipt extends NewReceipt {
  readonly id: number;
  evictedAt: Instant | null;
}

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
}

/** What several handles of one memory store share, as several connections share a file. */
export class MemoryData {
  readonly runs: RunRecord[] = [];
  readonly receipts: MemoryReceipt[] = [];
  readonly receiptsByKey = new Map<string, MemoryReceipt[]>();
  readonly events = new Map<number, RunEvent[]>();
  /** Scope, then key, to the run that has it. */
  readonly claims = new Map<string, Map<string, number>>();
  readonly #spaces = new Map<string, Space>();

  run(no: number): RunRecord | undefined {
    return this.runs[no - 1];
  }

  runById(id: string): RunRecord | undefined {
    return this.runs.find((run) => run.id === id);
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
    };
    this.#spaces.set(name, made);
    return made;
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
