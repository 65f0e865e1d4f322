import type { Governor, PlaceState } from '../../src/governor/index.ts';
import { accountWith, governorOn, requestTo } from '../../src/governor/simulation.test-support.ts';
import type { Clock, VirtualClock } from '../../src/scope/index.ts';
import { ratesIn } from './rates.ts';

/** A process that shares a folder; once its name is in `gone` nothing of it happens any more. */
export function processOn(dir: string, clock: Clock, session: string, gone: ReadonlySet<string> = new Set()): Governor {
  const { places } = ratesIn(dir, clock, session, gone);
  const change: PlaceState['change'] = (account, decide) =>
    gone.has(session) ? new Promise(() => {}) : places.change(account, decide);
  return governorOn(clock, { placeState: { change } });
}

/** What is in flight of each process, and the most that ever was together. It works on where the process is killed. */
export class Provider {
  readonly clock: VirtualClock;
  readonly #inFlight = new Map<string, number>();
  readonly #done = new Map<string, number>();
  readonly #gone: ReadonlySet<string>;
  most = 0;

  constructor(clock: VirtualClock, gone: ReadonlySet<string> = new Set()) {
    this.clock = clock;
    this.#gone = gone;
  }

  get inFlight(): number {
    return [...this.#inFlight.values()].reduce((sum, count) => sum + count, 0);
  }

  of(process: string): number {
    return this.#inFlight.get(process) ?? 0;
  }

  done(process: string): number {
    return this.#done.get(process) ?? 0;
  }

  async answer(process: string, latencyMs: number): Promise<void> {
    if (this.#gone.has(process)) return new Promise(() => {});
    this.#inFlight.set(process, this.of(process) + 1);
    this.most = Math.max(this.most, this.inFlight);
    await new Promise<void>((resolve) => void this.clock.after(latencyMs, resolve));
    this.#inFlight.set(process, this.of(process) - 1);
    this.#done.set(process, this.done(process) + 1);
  }
}

interface Work {
  readonly calls: number;
  readonly pool: number;
  readonly latencyMs?: number | (() => number);
}

/** Keeps `pool` calls of a process going until `calls` are done; resolves with the instant of the end. */
export async function work(
  provider: Provider,
  process: string,
  governor: Governor,
  options: Work & { concurrency: number },
) {
  const account = accountWith({ concurrency: options.concurrency });
  const { latencyMs = 5 } = options;
  let left = options.calls;
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left--;
      const permit = await governor.permit(requestTo(account, { runId: process }));
      permit.dispatched();
      const took = typeof latencyMs === 'number' ? latencyMs : latencyMs();
      await provider.answer(process, took);
      permit.settle({ ending: 'answered', credits: 1, latencyMs: took });
    }
  };
  await Promise.all(Array.from({ length: Math.min(options.pool, options.calls) }, worker));
  return provider.clock.monotonic();
}
