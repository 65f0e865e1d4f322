import type { CatalogueTool } from '../tool/index.ts';

/**
 * How many questions providers take at once where that is fewer than their tools say, as far as this process knows.
 *
 * Invariant: a batch that is too long for what is in one of its questions teaches nothing.
 */
export class BatchSizes {
  readonly #most = new WeakMap<CatalogueTool, number>();

  /** How many of the `maxSize` questions that the tool declares go out together. */
  mostOf(tool: CatalogueTool, maxSize: number): number {
    return Math.min(maxSize, this.#most.get(tool) ?? maxSize);
  }

  /** A longer batch was refused for its size, and all parts of it, of so many questions at the most, were answered. */
  learn(tool: CatalogueTool, size: number): void {
    this.#most.set(tool, this.mostOf(tool, size));
  }
}
