import { canonicalJson, type Digest, digest, placeName, type Scope } from '../scope/index.ts';
import { RunFatalError } from '../sdk/index.ts';
import type { BoundaryEntry, BoundaryKind, Committer, RunReads } from '../store/index.ts';

const KNOWN: ReadonlySet<string> = new Set<BoundaryKind>(['step', 'fetch', 'now', 'csv', 'child', 'result']);

/**
 * What boundaries of this run returned in earlier attempts.
 *
 * Owns: recorded boundaries of unfinished places, loaded before they run, and the recording of new ones.
 *
 * Invariants
 *  1. A recorded boundary returns what it returned; nothing of it runs again.
 *  2. A new one is durable before its value reaches the author.
 *  3. A kind that this release does not know stops the run instead of being skipped.
 */
export class Boundaries {
  readonly #reads: RunReads;
  readonly #committer: Committer;
  readonly #runNo: number;
  readonly #places = new Map<string, ReadonlyMap<Digest, BoundaryEntry>>();

  constructor(reads: RunReads, committer: Committer, runNo: number) {
    this.#reads = reads;
    this.#committer = committer;
    this.#runNo = runNo;
  }

  async load(datasetNo: number, ordinals: readonly number[]): Promise<void> {
    for (const [ordinal, entries] of await this.#reads.boundaries(this.#runNo, datasetNo, ordinals)) {
      for (const entry of entries) if (!KNOWN.has(entry.kind)) throw unknownKind(entry);
      this.#places.set(placeName({ datasetNo, ordinal }), new Map(entries.map((entry) => [entry.key, entry])));
    }
  }

  forget(datasetNo: number, ordinal: number): void {
    if (this.#places.size > 0) this.#places.delete(placeName({ datasetNo, ordinal }));
  }

  find(scope: Scope, key: Digest): BoundaryEntry | undefined {
    return this.#places.get(placeName(scope.place))?.get(key);
  }

  /** Resolves when the boundary is on disk. */
  async record(scope: Scope, entry: BoundaryEntry): Promise<void> {
    await this.#committer.commit([{ kind: 'boundary', fence: scope.fence, place: scope.place, entry }]);
  }
}

function unknownKind(entry: BoundaryEntry): RunFatalError {
  return new RunFatalError(
    'BOUNDARY_UNKNOWN',
    `The run holds a record of kind '${entry.kind}' ('${entry.label}'), which this release does not know; it is not skipped.`,
    {
      details: { kind: entry.kind, label: entry.label },
      next: ['Resume the run with the release that wrote it, or a newer one.'],
    },
  );
}

/** The identity of a boundary: what is asked (kind, label, input) and where, with its occurrence. */
export function boundaryIdentity(
  scope: Scope,
  asked: { kind: BoundaryKind; label: string; input: unknown },
): { key: Digest; inputDigest: Digest } {
  const inputDigest = digest(canonicalJson(asked.input));
  const content = `${JSON.stringify(asked.label)},"${inputDigest}"`;
  const occurrence = scope.occurrence(`"${asked.kind}",${content}`);
  return { key: scope.identity(asked.kind, `${content},${occurrence}`), inputDigest };
}
