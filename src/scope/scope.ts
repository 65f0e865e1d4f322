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

/** One text for each place of a run: what state is kept by in memory. */
export function placeName({ datasetNo, ordinal }: Place): string {
  return `${datasetNo}:${ordinal}`;
}

/** Says what people call a row. */
export interface Named {
  rowName(): string;
}

/** What the scopes of one row, or of the run outside rows, have in common. */
interface Ground {
  readonly runId: string;
  readonly seed: string;
  readonly fence: Fence;
  readonly gate: Gate;
  /** Names of the child plays from the run's play down to here. */
  readonly playPath: readonly string[];
  readonly datasetKey: string | null;
  /** The digest of the row's key with its occurrence number; null outside rows. */
  readonly rowIdentity: string | null;
  readonly named: Named | null;
  readonly place: Place;
  readonly counters: Counters;
  /** Canonical text of play path, dataset and row: made once a row, since everything in it begins with it. */
  readonly head: string;
}

/** Counts equal things. Most rows ask for one thing once, so there is no map before the second. */
class Counters {
  #only: string | undefined;
  #counts: Map<string, number> | undefined;

  /** How often `of` was counted before. */
  count(of: string): number {
    if (this.#counts === undefined) {
      if (this.#only === undefined) {
        this.#only = of;
        return 0;
      }
      this.#counts = new Map([[this.#only, 1]]);
    }
    const before = this.#counts.get(of) ?? 0;
    this.#counts.set(of, before + 1);
    return before;
  }
}

/**
 * A place in a run: what identity, state and suspension hang on. An argument, never ambient.
 *
 * Invariants
 *  1. Two scopes of one run with the same play path, dataset, row and path are the same place.
 *  2. Occurrence numbers count equal things only, so the order in which different things happen never shows in one.
 */
export class Scope {
  readonly #ground: Ground;
  /** Column and steps from the row down to here: `email.hunter`. */
  readonly path: string;
  /** True where an error that says `unavailable` of a provider ends nothing: another provider is asked instead. */
  readonly passesOver: boolean;
  #prefix: string | undefined;
  /** How the heads of this scope's rows begin, for the dataset whose row came last. */
  #rowHead: { readonly datasetKey: string; readonly text: string } | undefined;

  private constructor(ground: Ground, path: string, passesOver = false) {
    this.#ground = ground;
    this.path = path;
    this.passesOver = passesOver;
  }

  static ofRun(run: { runId: string; seed: string; fence: Fence; gate: Gate }): Scope {
    const outside = { playPath: [], datasetKey: null, rowIdentity: null };
    const place = { datasetNo: 0, ordinal: 0 };
    return new Scope({ ...run, ...outside, named: null, place, counters: new Counters(), head: headOf(outside) }, '');
  }

  /** Canonical text of the place: the common prefix of every identity made here. */
  get prefix(): string {
    this.#prefix ??= `${this.#ground.head},${JSON.stringify(this.path)}`;
    return this.#prefix;
  }

  get runId(): string {
    return this.#ground.runId;
  }
  get seed(): string {
    return this.#ground.seed;
  }
  get fence(): Fence {
    return this.#ground.fence;
  }
  get gate(): Gate {
    return this.#ground.gate;
  }
  get place(): Place {
    return this.#ground.place;
  }
  get playPath(): readonly string[] {
    return this.#ground.playPath;
  }
  /** The row's key as people write it; null outside rows. */
  get rowName(): string | null {
    return this.#ground.named?.rowName() ?? null;
  }
  get inRow(): boolean {
    return this.#ground.rowIdentity !== null;
  }

  /** The scope of one row of a dataset. A row has its own gate and counters. */
  row(row: {
    datasetKey: string;
    datasetNo: number;
    ordinal: number;
    identity: string;
    gate: Gate;
    named?: Named;
  }): Scope {
    const { runId, seed, fence, playPath } = this.#ground;
    const { datasetKey, identity: rowIdentity, gate, named = null } = row;
    return new Scope(
      {
        runId,
        seed,
        fence,
        gate,
        playPath,
        datasetKey,
        rowIdentity,
        named,
        place: { datasetNo: row.datasetNo, ordinal: row.ordinal },
        counters: new Counters(),
        head: `${this.#rowHeadOf(datasetKey)},${JSON.stringify(rowIdentity)}`,
      },
      '',
    );
  }

  #rowHeadOf(datasetKey: string): string {
    if (this.#rowHead?.datasetKey !== datasetKey)
      this.#rowHead = { datasetKey, text: datasetHead(this.#ground.playPath, datasetKey) };
    return this.#rowHead.text;
  }

  /** The scope of a column, or of a step below where this one stands. */
  at(name: string, passesOver = false): Scope {
    return new Scope(this.#ground, this.path === '' ? name : `${this.path}.${name}`, passesOver || this.passesOver);
  }

  /** The scope of a child play that runs inline. A key that is used again here is another child. */
  child(key: string, playName: string): Scope {
    const ground = this.#ground;
    const name = `${key}:${playName}`;
    const before = this.occurrence(`"child",${JSON.stringify(name)}`);
    const playPath = [...ground.playPath, before === 0 ? name : `${name}#${before + 1}`];
    return new Scope({ ...ground, playPath, head: headOf({ ...ground, playPath }) }, this.path, this.passesOver);
  }

  /** How often exactly this has been asked for here before: 0, 1, 2 … */
  occurrence(of: string): number {
    return this.#ground.counters.count(`${this.prefix},${of}`);
  }

  /** The identity of something at this place; `content` is canonical JSON text. */
  identity(kind: string, content: string): Digest {
    return digest(`${this.prefix},${JSON.stringify(kind)},${content}]`);
  }
}

function headOf({
  playPath,
  datasetKey,
  rowIdentity,
}: Pick<Ground, 'playPath' | 'datasetKey' | 'rowIdentity'>): string {
  return `${datasetHead(playPath, datasetKey)},${JSON.stringify(rowIdentity)}`;
}

function datasetHead(playPath: readonly string[], datasetKey: string | null): string {
  return `[${IDENTITY_FORMAT},${JSON.stringify(playPath)},${JSON.stringify(datasetKey)}`;
}
