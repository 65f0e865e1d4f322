import type { Clock } from '../../scope/index.ts';
import type { RunProgress } from '../../workspace/index.ts';
import type { Terminal } from '../terminal.ts';
import { liveLines, plainLines } from './render.ts';
import { type LiveSnapshot, RateMeter, type Waited } from './snapshot.ts';

const REDRAW_MS = 100;
const PLAIN_MS = 5_000;

/** Where the numbers come from. Undefined while there is nothing to show. */
export interface LiveSource {
  progress(): RunProgress | undefined;
  waited(): Waited | undefined;
}

/**
 * The live view on stderr: redrawn in a terminal, a line every five seconds elsewhere.
 *
 * Invariant: whatever is printed between start and stop goes through `print`, or the redrawn lines would eat it.
 */
export class LiveView {
  readonly #terminal: Terminal;
  readonly #clock: Clock;
  readonly #source: LiveSource;
  readonly #meter = new RateMeter();
  #drawn = 0;
  #cancel: () => void = () => {};
  #running = false;

  constructor(terminal: Terminal, clock: Clock, source: LiveSource) {
    this.#terminal = terminal;
    this.#clock = clock;
    this.#source = source;
  }

  start(): void {
    this.#running = true;
    this.#schedule();
  }

  /** Draws a last time, so that what stays on the screen is how it ended. */
  stop(): void {
    if (!this.#running) return;
    this.#running = false;
    this.#cancel();
    if (this.#terminal.canRedraw) this.#draw();
    this.#drawn = 0;
  }

  print(line: string): void {
    if (this.#drawn === 0) {
      this.#terminal.note(line);
      return;
    }
    this.#terminal.raw(`${this.#eraser()}${line}\n`);
    this.#drawn = 0;
    this.#draw();
  }

  #schedule(): void {
    const every = this.#terminal.canRedraw ? REDRAW_MS : PLAIN_MS;
    this.#cancel = this.#clock.after(
      every,
      () => {
        this.#draw();
        if (this.#running) this.#schedule();
      },
      { keepAlive: false },
    );
  }

  #draw(): void {
    const snapshot = this.#snapshot();
    if (snapshot === undefined) return;
    if (!this.#terminal.canRedraw) {
      for (const line of plainLines(snapshot)) this.#terminal.note(line);
      return;
    }
    const lines = liveLines(snapshot, this.#terminal.width);
    this.#terminal.raw(`${this.#eraser()}${lines.join('\n')}\n`);
    this.#drawn = lines.length;
  }

  #snapshot(): LiveSnapshot | undefined {
    const progress = this.#source.progress();
    if (progress === undefined) return undefined;
    const rates = this.#meter.observe(progress, this.#clock.monotonic());
    return { at: this.#clock.now(), progress, rates, waited: this.#source.waited() };
  }

  /** Up over what was drawn, and everything below is gone (ECMA-48: CUU, CR, ED). */
  #eraser(): string {
    return this.#drawn === 0 ? '' : `\u001b[${this.#drawn}A\r\u001b[J`;
  }
}
