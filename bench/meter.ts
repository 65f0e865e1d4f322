import { monitorEventLoopDelay } from 'node:perf_hooks';

export interface Figures {
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** Highest resident set, sampled every 20 ms, in MB (10^6 bytes). */
  readonly peakRssMb: number;
  /** Longest time for which the event loop did not turn, in ms. */
  readonly stallMs: number;
}

const SAMPLE_MS = 20;

/** Measures this process from its making until `stop`. */
export class Meter {
  readonly #cpu = process.cpuUsage();
  readonly #began = performance.now();
  readonly #delay = monitorEventLoopDelay({ resolution: 1 });
  readonly #timer: NodeJS.Timeout;
  #peak = process.memoryUsage.rss();

  constructor() {
    this.#delay.enable();
    this.#timer = setInterval(() => {
      this.#peak = Math.max(this.#peak, process.memoryUsage.rss());
    }, SAMPLE_MS);
    this.#timer.unref();
  }

  stop(): Figures {
    const seconds = (performance.now() - this.#began) / 1000;
    const { user, system } = process.cpuUsage(this.#cpu);
    this.#delay.disable();
    clearInterval(this.#timer);
    return {
      seconds,
      cpuSeconds: (user + system) / 1e6,
      peakRssMb: Math.max(this.#peak, process.memoryUsage.rss()) / 1e6,
      stallMs: this.#delay.max / 1e6,
    };
  }
}
