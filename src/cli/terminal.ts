/** A stream as far as the commands use it. */
export interface TextSink {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): boolean;
  once(event: 'drain', listener: () => void): unknown;
}

export interface TextSource extends AsyncIterable<Uint8Array | string> {
  readonly isTTY?: boolean | undefined;
}

export interface TerminalParts {
  readonly stdout: TextSink;
  readonly stderr: TextSink;
  readonly stdin: TextSource;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly json: boolean;
}

/**
 * Where a command reads and writes. Invariant: data goes to stdout and everything else to stderr; with `--json` stdout
 * is JSON and nothing else.
 */
export class Terminal {
  readonly env: TerminalParts['env'];
  readonly cwd: string;
  readonly json: boolean;
  readonly stdin: TextSource;
  readonly #stdout: TextSink;
  readonly #stderr: TextSink;
  readonly #heldBack = new Set<() => void>();
  #readerGone = false;
  #hasDocument = false;

  constructor(parts: TerminalParts) {
    this.#stdout = parts.stdout;
    this.#stderr = parts.stderr;
    this.stdin = parts.stdin;
    this.env = parts.env;
    this.cwd = parts.cwd;
    this.json = parts.json;
  }

  /** True once whoever read stdout has gone away: a stream need not go on. */
  get readerGone(): boolean {
    return this.#readerGone;
  }
  /** Somebody can be asked. */
  get interactive(): boolean {
    return this.stdin.isTTY === true && this.#stderr.isTTY === true;
  }
  /** Lines on stderr may be redrawn. */
  get canRedraw(): boolean {
    return this.#stderr.isTTY === true && this.env.TERM !== 'dumb' && !isSet(this.env.NO_COLOR);
  }
  get width(): number {
    return Math.max(40, this.#stderr.columns || 100);
  }

  /** Ends quietly what is written to a pipe that nobody reads any more. */
  loseReader(): void {
    this.#readerGone = true;
    for (const goOn of this.#heldBack) goOn();
  }

  /** Data. Resolves when there is room for more, so that a slow reader holds a long stream back. */
  async data(text: string): Promise<void> {
    if (this.#readerGone || this.#stdout.write(text)) return;
    await new Promise<void>((resolve) => {
      const goOn = (): void => {
        this.#heldBack.delete(goOn);
        resolve();
      };
      this.#heldBack.add(goOn);
      this.#stdout.once('drain', goOn);
    });
  }

  line(text: string): Promise<void> {
    return this.data(`${text}\n`);
  }

  /** True once the one document of a `--json` command is written. */
  get hasDocument(): boolean {
    return this.#hasDocument;
  }

  /** The one document of a `--json` command. */
  document(value: unknown): Promise<void> {
    this.#hasDocument = true;
    return this.line(JSON.stringify(value, null, 2));
  }

  /** One line of a `--json` stream. */
  record(value: unknown): Promise<void> {
    return this.line(JSON.stringify(value));
  }

  /** For people, on stderr. */
  note(text: string): void {
    this.#stderr.write(`${text}\n`);
  }

  /** On stderr as it is: for redrawing and prompts. */
  raw(text: string): void {
    this.#stderr.write(text);
  }
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '';
}
