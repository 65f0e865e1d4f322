import { CallsheetError, type PlayDataset, type PlayDatasetView } from '../sdk/index.ts';
import type { FilePlan } from './plan.ts';
import { isThenable } from './program.ts';

/** Rows that can be read again and again, in order. */
export interface RowStream {
  count(): Promise<number>;
  /** Rows from a place on, at most `limit`, in pieces that are never empty. */
  rows(from: number, limit: number): AsyncGenerator<readonly unknown[]>;
}

interface HandleFacts {
  /** The dataset's key, or the file's name; undefined for a view. */
  readonly key: string | undefined;
  readonly stream: RowStream;
  readonly file: FilePlan | undefined;
}

/** Facts by proxy: what a handle is does not show on it. */
const HANDLES = new WeakMap<object, HandleFacts>();

const DEFAULT_PEEK = 10;

/** A handle on rows under a key. `file`: it stands for a staged file, which a dataset reads in place. */
export function datasetHandle(key: string, stream: RowStream, file?: FilePlan): PlayDataset<unknown> {
  const handle = new DatasetRows(stream, `'${key}'`);
  Object.defineProperty(handle, 'key', { value: key, enumerable: true });
  return guarded(handle, { key, stream, file }) as unknown as PlayDataset<unknown>;
}

/** True for what `ctx.csv` and `.run()` return; false for views of them. */
export function isDatasetHandle(value: unknown): value is PlayDataset<unknown> {
  return factsOf(value)?.key !== undefined;
}

/** How a handle stands in a run's result: `{ dataset: 'leads' }`. Undefined for what is no handle. */
export function describeHandle(value: unknown): { readonly dataset: string } | undefined {
  const key = factsOf(value)?.key;
  return key === undefined ? undefined : { dataset: key };
}

/** The staged file that a handle stands for. */
export function fileOf(value: unknown): FilePlan | undefined {
  return factsOf(value)?.file;
}

/** Reads the rows of a handle or view. Undefined for what is neither. */
export function rowsOfHandle(value: unknown): (() => AsyncGenerator<readonly unknown[]>) | undefined {
  const stream = factsOf(value)?.stream;
  return stream === undefined ? undefined : () => stream.rows(0, Number.POSITIVE_INFINITY);
}

function factsOf(value: unknown): HandleFacts | undefined {
  return typeof value === 'object' && value !== null ? HANDLES.get(value) : undefined;
}

type Callback = (row: unknown, index: number) => unknown;

/** The asynchronous readers of a dataset or view. Authors get it behind a guard that names the right call. */
class DatasetRows {
  readonly #stream: RowStream;
  readonly #name: string;

  constructor(stream: RowStream, name: string) {
    this.#stream = stream;
    this.#name = name;
  }

  count(): Promise<number> {
    return this.#stream.count();
  }

  first(): Promise<unknown> {
    return this.at(0);
  }

  async at(index: number): Promise<unknown> {
    const place = index < 0 ? (await this.count()) + index : index;
    if (!Number.isInteger(place) || place < 0) return undefined;
    return (await this.#read(place, 1))[0];
  }

  peek(count: number = DEFAULT_PEEK): Promise<unknown[]> {
    return this.#read(0, count);
  }

  materialize(limit: number = Number.POSITIVE_INFINITY): Promise<unknown[]> {
    return this.#read(0, limit);
  }

  filter(keep: Callback): unknown {
    return view(`a filter of ${this.#name}`, filtered(this.#stream, checked('filter', keep)));
  }

  map(change: Callback): unknown {
    return view(`a map of ${this.#name}`, mapped(this.#stream, checked('map', change)));
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<unknown> {
    for await (const rows of this.#stream.rows(0, Number.POSITIVE_INFINITY)) yield* rows;
  }

  async #read(from: number, limit: number): Promise<unknown[]> {
    const all: unknown[] = [];
    if (!(limit > 0)) return all;
    for await (const rows of this.#stream.rows(from, limit)) for (const row of rows) all.push(row);
    return all;
  }
}

function view(name: string, stream: RowStream): PlayDatasetView<unknown> {
  const handle = new DatasetRows(stream, name);
  return guarded(handle, { key: undefined, stream, file: undefined }) as unknown as PlayDatasetView<unknown>;
}

/** The author's callback, which must be async: a sync one is how arrays are used. */
function checked(method: 'filter' | 'map', callback: unknown): (row: unknown, index: number) => Promise<unknown> {
  const refuse = (): never => {
    throw asArray(`.${method}() with a callback that is not async`, [
      `Write rows.${method}(async (row) => …), or (await rows.materialize()).${method}(…) for an array in memory.`,
    ]);
  };
  if (typeof callback !== 'function') return refuse();
  return async (row, index) => {
    const out: unknown = callback(row, index);
    return isThenable(out) ? await out : refuse();
  };
}

function filtered(stream: RowStream, keep: (row: unknown, index: number) => Promise<unknown>): RowStream {
  async function* rows(from: number, limit: number): AsyncGenerator<readonly unknown[]> {
    let index = 0;
    let place = 0;
    let left = limit;
    for await (const piece of stream.rows(0, Number.POSITIVE_INFINITY)) {
      const kept: unknown[] = [];
      for (const row of piece) {
        if (!(await keep(row, index++))) continue;
        if (place++ < from) continue;
        kept.push(row);
        left--;
        if (left <= 0) break;
      }
      if (kept.length > 0) yield kept;
      if (left <= 0) return;
    }
  }
  return { count: () => counted(rows(0, Number.POSITIVE_INFINITY)), rows };
}

function mapped(stream: RowStream, change: (row: unknown, index: number) => Promise<unknown>): RowStream {
  return {
    count: () => stream.count(),
    async *rows(from, limit) {
      let index = from;
      for await (const piece of stream.rows(from, limit)) {
        const out: unknown[] = [];
        for (const row of piece) out.push(await change(row, index++));
        yield out;
      }
    },
  };
}

async function counted(pieces: AsyncGenerator<readonly unknown[]>): Promise<number> {
  let count = 0;
  for await (const rows of pieces) count += rows.length;
  return count;
}

/** What arrays have and datasets have not, with the call that does the same. */
const ARRAY_USES: Readonly<Record<string, string>> = {
  length: 'await rows.count()',
  forEach: 'for await (const row of rows) { … }',
  reduce: 'for await (const row of rows) { … }',
  reduceRight: 'for await (const row of rows) { … }',
  find: 'await rows.filter(async (row) => …).first()',
  findIndex: 'for await (const row of rows) { … }',
  some: '(await rows.filter(async (row) => …).first()) !== undefined',
  every: '(await rows.filter(async (row) => !…).first()) === undefined',
  slice: 'await rows.materialize(n)',
  flatMap: '(await rows.materialize()).flatMap(…)',
  toJSON: 'await rows.materialize(), or return the dataset itself from the play',
};
const OTHER_ARRAY_USES = new Set(
  Object.getOwnPropertyNames(Array.prototype).filter((name) => name !== 'constructor' && !(name in Object.prototype)),
);

function guarded(handle: DatasetRows, facts: HandleFacts): object {
  const proxy = new Proxy(handle, {
    get(target, property) {
      const own: unknown = Reflect.get(target, property, target);
      if (own !== undefined) return typeof own === 'function' ? own.bind(target) : own;
      refuseArrayUse(property);
      return undefined;
    },
    set(_target, property) {
      throw asArray(`by setting ${String(property)}`, ['A dataset is read only: derive columns with .withColumn(…).']);
    },
  });
  HANDLES.set(proxy, facts);
  return proxy;
}

function refuseArrayUse(property: string | symbol): void {
  if (property === Symbol.iterator)
    throw asArray('by spreading or iterating it', ['Use for await (const row of rows), or await rows.materialize().']);
  if (typeof property === 'symbol') return;
  if (/^\d+$/.test(property)) throw asArray(`by [${property}]`, [`Use await rows.at(${property}).`]);
  const call = ARRAY_USES[property];
  if (call !== undefined)
    throw asArray(property === 'toJSON' ? 'in JSON.stringify' : `by .${property}`, [`Use ${call}.`]);
  if (OTHER_ARRAY_USES.has(property))
    throw asArray(`by .${property}`, [`Use (await rows.materialize()).${property}(…).`]);
}

function asArray(how: string, next: readonly string[]): CallsheetError {
  return new CallsheetError(
    'DATASET_AS_ARRAY',
    `A dataset was used as an array, ${how}. It streams from the store and is read asynchronously. ${next[0] ?? ''}`.trim(),
    { details: { use: how }, next },
  );
}
