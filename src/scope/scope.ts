import { type Digest, digest, IDENTITY_FORMAT } from './digest.ts';
import type { Gate } from './gate.ts';

/** What fences state: the run (by its number in the store) and the attempt that may write for it. */
export interface Fence {
  readonly runNo: number;
  readonly attempt: number;
}

/** Where state of a scope is kept: dataset 0 is the run itself, else the frame's number and the row's ordinal. */
export interface Place {
  readonly datasetNo: number;
  readonly ordinal: number;
}

interface ScopeParts {
  readonly runId: string;
  readonly seed: string;
  readonly fence: Fence;
  readonly gate: Gate;
  /** Names of the child plays from the run's play down to here. */
  readonly playPath: readonly string[];
  readonly datasetKey: string | null;
  /** The digest of the row's key with its occurrence number; null outside rows. */
  readonly rowIdentity: string | null;
  readonly place: Place;
  /** Column and steps from the row down to here: `email.hunter`. */
  readonly path: string;
  readonly counters: Map<string, number>;
}

/**
 * A place in a run: what identity, state and suspension hang on. An argument, never ambient.
 *
 * Invariants
 *  1. Two scopes of one run with the same play path, dataset, row and path are the same place.
 *  2. Occurrence numbers count equal things only, so the order in which different things happen never shows in one.
 */
export class Scope {
  readonly #parts: ScopeParts;
  /** Canonical text of the place: the common prefix of every identity made here. */
  readonly prefix: string;

  constructor(parts: ScopeParts) {
    this.#parts = parts;
    this.prefix = `[${IDENTITY_FORMAT},${JSON.stringify(parts.playPath)},${JSON.stringify(parts.datasetKey)},${JSON.stringify(parts.rowIdentity)},${JSON.stringify(parts.path)}`;
  }

  static ofRun(run: { runId: string; seed: string; fence: Fence; gate: Gate }): Scope {
    return new Scope({
      ...run,
      playPath: [],
      datasetKey: null,
      rowIdentity: null,
      place: { datasetNo: 0, ordinal: 0 },
      path: '',
      counters: new Map(),
    });
  }

  get runId(): string {
    return this.#parts.runId;
  }
  get seed(): string {
    return this.#parts.seed;
  }
  get fence(): Fence {
    return this.#parts.fence;
  }
  get gate(): Gate {
    return this.#parts.gate;
  }
  get place(): Place {
    return this.#parts.place;
  }
  get path(): string {
    return this.#parts.path;
  }
  get playPath(): readonly string[] {
    return this.#parts.playPath;
  }
  get inRow(): boolean {
    return this.#parts.rowIdentity !== null;
  }

  /** The scope of one row of a dataset. A row has its own gate and counters. */
  row(row: { datasetKey: string; datasetNo: number; ordinal: number; identity: string; gate: Gate }): Scope {
    return new Scope({
      ...this.#parts,
      datasetKey: row.datasetKey,
      rowIdentity: row.identity,
      place: { datasetNo: row.datasetNo, ordinal: row.ordinal },
      gate: row.gate,
      path: '',
      counters: new Map(),
    });
  }

  /** The scope of a column, or of a step below where this one stands. */
  at(name: string): Scope {
    const path = this.#parts.path === '' ? name : `${this.#parts.path}.${name}`;
    return new Scope({ ...this.#parts, path });
  }

  /** The scope of a child play that runs inline. */
  child(key: string, playName: string): Scope {
    return new Scope({ ...this.#parts, playPath: [...this.#parts.playPath, `${key}:${playName}`] });
  }

  /** How often exactly this has been asked for here before: 0, 1, 2 … */
  occurrence(of: string): number {
    const key = `${this.prefix},${of}`;
    const count = this.#parts.counters.get(key) ?? 0;
    this.#parts.counters.set(key, count + 1);
    return count;
  }

  /** The identity of something at this place; `content` is canonical JSON text. */
  identity(kind: string, content: string): Digest {
    return digest(`${this.prefix},${JSON.stringify(kind)},${content}]`);
  }
}
