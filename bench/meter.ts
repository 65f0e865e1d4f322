import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

export interface Figures {
  readonly seconds: number;
  /** Of all threads of the process. */
  readonly cpuSeconds: number;
  /** Of the main thread: what a run takes on a machine that has nothing else to do, but for waiting on the disk. */
  readonly mainSeconds: number;
  /** Longest time for which the event loop did not turn, in ms. */
  readonly stallMs: number;
  /** Most processor time between two chances to turn, in ms: what of a stall is not the disk's or other processes' doing. */
  readonly busyMs: number;
}

const LOOK_MS = 5;

/** Measures this process from its making until `stop`. */
export class Meter {
  readonly #cpu = process.cpuUsage();
  readonly #main = process.threadCpuUsage();
  readonly #began = performance.now();
  readonly #delay = monitorEventLoopDelay({ resolution: 1 });
  readonly #timer: NodeJS.Timeout;
  #looked = process.threadCpuUsage();
  #busyMs = 0;

  constructor() {
    this.#delay.enable();
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  stop(): Figures {
    const seconds = (performance.now() - this.#began) / 1000;
    const { user, system } = process.cpuUsage(this.#cpu);
    const main = process.threadCpuUsage(this.#main);
    this.#delay.disable();
    clearInterval(this.#timer);
    const mainSeconds = (main.user + main.system) / 1e6;
    return {
      seconds,
      cpuSeconds: (user + system) / 1e6,
      mainSeconds,
      stallMs: this.#delay.max / 1e6,
      busyMs: this.#busyMs,
    };
  }

  #look(): void {
    const { user, system } = process.threadCpuUsage(this.#looked);
    this.#looked = process.threadCpuUsage();
    this.#busyMs = Math.max(this.#busyMs, (user + system) / 1000);
  }
}

/** The largest resident set that this process has had, in MB of 10^6 bytes. NaN where the system does not say (proc(5)). */
export function peakRssMb(): number {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS / 1000;
  const kib = /VmHWM:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
  return kib === undefined ? Number.NaN : (Number(kib) * 1024) / 1e6;
}
