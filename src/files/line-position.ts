const LF = 10;
const CR = 13;

/**
 * Physical line numbers for byte positions that only grow. Own count, because csv-parse counts a CRLF inside quotes twice.
 * Invariant: `line` is the line of the byte at `position`; the text from there on is kept as buffers until it is passed.
 */
export class LinePosition {
  line: number;
  #position = 0;
  #kept: Buffer[] = [];
  #afterCr = false;
  readonly #lfOnly: boolean;

  constructor(options: { readonly firstLine: number; readonly lfOnly: boolean }) {
    this.line = options.firstLine;
    this.#lfOnly = options.lfOnly;
  }

  /** Bytes that follow those given before. */
  add(chunk: Buffer): void {
    this.#kept.push(chunk);
  }

  /** Moves on to a position and returns the bytes passed. */
  advanceTo(position: number): Buffer[] {
    const passed: Buffer[] = [];
    while (this.#position < position) {
      const chunk = this.#kept[0];
      if (chunk === undefined) break;
      const part = chunk.subarray(0, position - this.#position);
      passed.push(part);
      this.#position += part.length;
      this.#countIn(part);
      if (part.length === chunk.length) this.#kept.shift();
      else this.#kept[0] = chunk.subarray(part.length);
    }
    return passed;
  }

  /** Bytes given and not yet passed. */
  get pendingBytes(): number {
    let bytes = 0;
    for (const chunk of this.#kept) bytes += chunk.length;
    return bytes;
  }

  #countIn(part: Buffer): void {
    if (this.#lfOnly) {
      for (let at = part.indexOf(LF); at !== -1; at = part.indexOf(LF, at + 1)) this.line++;
      return;
    }
    for (const byte of part) {
      if (byte === CR || (byte === LF && !this.#afterCr)) this.line++;
      this.#afterCr = byte === CR;
    }
  }
}
