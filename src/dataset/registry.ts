import type { DatasetReads, FrameRecord } from '../store/index.ts';
import { readPlan } from './plan.ts';

interface Place {
  readonly key: string;
  readonly playPath: string;
}

/**
 * The datasets of one attempt of a run.
 *
 * Owns: the numbers of datasets and which keys this attempt has opened. One for each attempt, shared by the run's play and
 * its inline children.
 * Does not own: frames (frame), which the store holds.
 *
 * Invariants
 *  1. No two datasets of a run have one number, however many are admitted at once.
 *  2. A key is opened once at each play path: two datasets under one key would be the same place for every call in them.
 */
export class RunDatasets {
  readonly #open = new Set<string>();
  #recorded: Promise<readonly FrameRecord[]> | undefined;
  #last = 0;

  /** False where the key is open already. */
  claim(place: Place): boolean {
    const name = nameOf(place);
    if (this.#open.has(name)) return false;
    this.#open.add(name);
    return true;
  }

  /** Gives back a key whose dataset was refused before a row of it ran. */
  release(place: Place): void {
    this.#open.delete(nameOf(place));
  }

  /** Loads what earlier attempts admitted: called before anything else of this object on a replay. */
  async load(reads: DatasetReads, runNo: number): Promise<void> {
    this.#recorded ??= reads.frames(runNo);
    for (const frame of await this.#recorded) this.#last = Math.max(this.#last, frame.datasetNo);
  }

  /** A number that no dataset of the run has. */
  nextNumber(): number {
    this.#last++;
    return this.#last;
  }

  /** The sealed frame that an earlier attempt left for this place. */
  async sealed(place: Place): Promise<FrameRecord | undefined> {
    return (await this.#all()).find((frame) => frame.sealed && nameOf(frame) === nameOf(place));
  }

  /**
   * A sealed frame that nothing has opened in this attempt and `matches` takes for the one meant, where this place has never
   * been seen: the sign of a key that changed.
   */
  async renamed(
    place: Place,
    matches: (plan: ReturnType<typeof readPlan>) => boolean,
  ): Promise<FrameRecord | undefined> {
    const all = await this.#all();
    if (all.some((frame) => nameOf(frame) === nameOf(place))) return undefined;
    return all.find(
      (frame) =>
        frame.sealed && frame.playPath === place.playPath && !this.#open.has(nameOf(frame)) && matches(readPlan(frame)),
    );
  }

  async #all(): Promise<readonly FrameRecord[]> {
    return (await this.#recorded) ?? [];
  }
}

function nameOf(place: Place): string {
  return `${place.playPath}${place.key}`;
}
