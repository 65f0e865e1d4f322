import { CallsheetError } from '../sdk/index.ts';
import type { Unit, Write } from '../store/index.ts';
import { claimScope } from './claims.ts';
import { commitOrEnd } from './fatal.ts';
import { NOT_ADMITTED, RUNS } from './frame-rows.ts';
import type { DatasetHost } from './host.ts';
import { KeyIndex, keyHex } from './key-index.ts';
import { type InputRow, KeyProblem, type KeySpec, keyDigest, keyText, occurrenceDigest } from './keys.ts';
import type { DatasetMode } from './plan.ts';

const SHOWN = 20;
const CHUNK_BYTES = 1_000_000;
const CHUNK_ROWS = 2048;

interface AdmissionOf {
  readonly datasetNo: number;
  readonly key: string;
  readonly keySpec: KeySpec;
  readonly mode: DatasetMode;
  /** Told how many rows have been written, for the counters. */
  readonly written: (rows: { readonly running: number; readonly skipped: number }) => void;
}

export interface Admitted {
  readonly total: number;
  readonly admitted: number;
  readonly duplicates: number;
  readonly notAdmitted: number;
  /** The first 20 duplicates, as row numbers from 1. */
  readonly firstDuplicates: readonly { readonly row: number; readonly repeats: number }[];
  readonly starts: readonly number[];
}

/**
 * Writes the rows of one frame, in order.
 *
 * Owns: the keys of all rows, and the chunk that is being filled.
 * Does not own: where rows come from, the frame's header and seal (frame).
 *
 * Invariants
 *  1. Memory is the key index and one chunk, whatever the number of rows.
 *  2. Once a row has no key, nothing more is written: the pass goes on only to count such rows.
 */
export class Admission {
  readonly #host: DatasetHost;
  readonly #of: AdmissionOf;
  readonly #keys = new KeyIndex();
  readonly #starts: number[] = [];
  #first = 0;
  #repeats: number[] = [];
  #texts: string[] = [];
  #bytes = 0;
  #committing: Promise<void> = Promise.resolve();
  #problems: { readonly row: number; readonly problem: KeyProblem }[] = [];
  #problemCount = 0;
  #skipped = 0;
  #notAdmitted = 0;
  readonly #duplicates: { row: number; repeats: number }[] = [];

  constructor(host: DatasetHost, of: AdmissionOf) {
    this.#host = host;
    this.#of = of;
  }

  get size(): number {
    return this.#keys.size;
  }

  /** Takes the next row, with its text where it is spooled. True: `flush` before the next one. */
  add(row: InputRow, text: string | undefined): boolean {
    const ordinal = this.#keys.size;
    const key = keyText(this.#of.keySpec, row, ordinal);
    if (key instanceof KeyProblem) {
      this.#problemCount++;
      if (this.#problems.length < SHOWN) this.#problems.push({ row: ordinal + 1, problem: key });
    }
    this.#repeats.push(this.#place(key instanceof KeyProblem ? `#${ordinal}` : key, ordinal));
    if (text !== undefined && this.#problemCount === 0) {
      this.#texts.push(text);
      this.#bytes += text.length;
    }
    return this.#repeats.length >= CHUNK_ROWS || this.#bytes >= CHUNK_BYTES;
  }

  #place(key: string, ordinal: number): number {
    const digest = keyDigest(key);
    const first = this.#keys.append(digest);
    if (first === -1) return RUNS;
    if (this.#of.keySpec.plan.kind === 'content') {
      this.#keys.renameLast(occurrenceDigest(digest, this.#keys.countRepeat(first)));
      return RUNS;
    }
    this.#skipped++;
    if (this.#duplicates.length < SHOWN) this.#duplicates.push({ row: ordinal + 1, repeats: first + 1 });
    return first;
  }

  /** Writes the chunk that is filled; at most one other is on its way then. */
  async flush(): Promise<void> {
    if (this.#repeats.length === 0) return;
    const first = this.#first;
    const texts = this.#texts;
    const repeats = Int32Array.from(this.#repeats);
    const keys = this.#keys.bytes(first, repeats.length);
    this.#first += repeats.length;
    this.#repeats = [];
    this.#texts = [];
    this.#bytes = 0;
    if (this.#problemCount > 0) return;
    if (this.#of.mode === 'net_new') await this.#claim(keys, repeats);
    const { datasetNo } = this.#of;
    const { fence } = this.#host;
    const unit: Write[] = [{ kind: 'frameChunk', fence, datasetNo, first, keys, repeats }];
    if (texts.length > 0) unit.push({ kind: 'spool', fence, datasetNo, first, rows: texts });
    if (texts.length > 0) this.#starts.push(first);
    await this.#committing;
    this.#committing = this.#write(unit, repeats);
    // Its failure is met by whoever awaits it next.
    this.#committing.catch(() => {});
  }

  async #write(unit: Unit, repeats: Int32Array): Promise<void> {
    await commitOrEnd(this.#host, unit);
    let running = 0;
    for (const repeat of repeats) if (repeat === RUNS) running++;
    this.#of.written({ running, skipped: repeats.length - running });
  }

  /** Claims the keys of rows that would run; those that another run has are not admitted, and neither are their repeats. */
  async #claim(keys: Uint8Array, repeats: Int32Array): Promise<void> {
    const rows: number[] = [];
    for (let row = 0; row < repeats.length; row++) if (repeats[row] === RUNS) rows.push(row);
    if (rows.length === 0) return;
    const { host, key } = { host: this.#host, key: this.#of.key };
    const scope = claimScope(host.play, host.scope.playPath, key);
    const write: Extract<Write, { kind: 'claim' }> = {
      kind: 'claim',
      fence: host.fence,
      scope,
      keys: rows.map((row) => keyHex(keys, row)),
    };
    await commitOrEnd(host, [write]);
    rows.forEach((row, index) => {
      if (write.granted?.[index] === true) return;
      repeats[row] = NOT_ADMITTED;
      this.#notAdmitted++;
    });
  }

  /** Ends the pass. Throws `ROW_KEY_INVALID` or `ROW_KEY_UNSTABLE` with the numbers of the first 20 rows. */
  async end(): Promise<Admitted> {
    await this.flush();
    await this.#committing;
    const [worst] = this.#problems;
    if (worst !== undefined) throw this.#keyError(worst.problem);
    const total = this.#keys.size;
    return {
      total,
      admitted: total - this.#skipped - this.#notAdmitted,
      duplicates: this.#skipped,
      notAdmitted: this.#notAdmitted,
      firstDuplicates: this.#duplicates,
      starts: this.#starts,
    };
  }

  #keyError(first: KeyProblem): CallsheetError {
    const list = this.#problems.map(({ row, problem }) => `row ${row} (${problem.why})`).join(', ');
    const more = this.#problemCount - this.#problems.length;
    const unstable = first.code === 'ROW_KEY_UNSTABLE';
    return new CallsheetError(
      first.code,
      `Dataset '${this.#of.key}': ${this.#problemCount} of ${this.#keys.size} rows have ${unstable ? 'no stable key' : 'no usable key'}: ${list}${more > 0 ? ` and ${more} more` : ''}.`,
      {
        details: {
          dataset: this.#of.key,
          rows: this.#problems.map(({ row }) => row),
          count: this.#problemCount,
          why: first.why,
        },
        next: unstable
          ? ['Make the key of the row alone: no clock, no chance, no counter.']
          : [
              'Choose a key that every row has, or leave those rows out before the dataset.',
              'Without `key`, rows are told apart by their content.',
            ],
      },
    );
  }
}
