import { type Chance, type Clock, VirtualClock } from '../scope/index.ts';
import type { ProviderLimits } from '../sdk/index.ts';
import type { ProviderAccount } from '../tool/index.ts';
import { createGovernor, type Governor, type GovernorOptions } from './governor.ts';
import type { Permit, PermitOutcome, PermitRequest } from './permit.ts';

export const FIVE_MINUTES = 5 * 60_000;

/** Chance that always says "the middle". */
export const middle: Chance = { bytes: (count) => new Uint8Array(count).fill(0x80) };

export function accountWith(limits: ProviderLimits, key = 'hunter/default'): ProviderAccount {
  return {
    key,
    provider: 'hunter',
    name: 'default',
    baseUrl: undefined,
    mode: 'live',
    limits,
    authScope: key,
  };
}

export function requestTo(account: ProviderAccount, more: Partial<PermitRequest> = {}): PermitRequest {
  return { account, runId: 'run_a', maxCredits: 1, tool: 'hunter.email_finder', operation: 'find', ...more };
}

export const answered: PermitOutcome = { ending: 'answered', credits: 1, latencyMs: 10 };
export const ambiguous: PermitOutcome = { ending: 'ambiguous', credits: 0, latencyMs: 10 };
export const unreached: PermitOutcome = { ending: 'notDispatched', credits: 0, latencyMs: 0 };
export const deferredFor = (retryAfterMs?: number): PermitOutcome => ({
  ending: 'deferred',
  credits: 0,
  latencyMs: 10,
  retryAfterMs,
});

/** A clock whose timers fire up to `mostMs` late, like those of a busy machine. */
export class LateClock extends VirtualClock {
  readonly #lateness: () => number;

  constructor(lateness: () => number) {
    super();
    this.#lateness = lateness;
  }

  override after(ms: number, fn: () => void): () => void {
    return super.after(ms + this.#lateness(), fn);
  }
}

/** The clock of one process that may be held up in the middle of a turn: timers that fall due meanwhile fire late, later ones do not. */
export class StallingClock implements Clock {
  readonly #base: VirtualClock;
  #until = Number.NEGATIVE_INFINITY;

  constructor(base: VirtualClock) {
    this.#base = base;
  }

  stall(ms: number): void {
    this.#until = this.monotonic() + ms;
  }

  now(): number {
    return Math.max(this.#base.now(), this.#until);
  }

  monotonic(): number {
    return this.now();
  }

  after(ms: number, fn: () => void): () => void {
    return this.#base.after(ms + this.now() - this.#base.now(), fn);
  }
}

export function governorOn(clock: Clock, more: Partial<GovernorOptions> = {}): Governor {
  return createGovernor({ clock, chance: middle, providerMaxWaitMs: FIVE_MINUTES, ...more });
}

export interface Dispatch {
  readonly at: number;
  readonly runId: string;
}

export interface BacklogOptions {
  readonly runId?: string;
  readonly calls: number;
  /** Calls of the run that wait or are in flight at once. */
  readonly pool: number;
  readonly latencyMs?: number;
  /** Time between permit and dispatch. */
  readonly preparationMs?: () => number;
  /** True where this call gives its permit back instead of going out. */
  readonly givesUp?: () => boolean;
}

/** Keeps `pool` calls going until `calls` are done or the governor refuses one. Logs dispatches into `log`. */
export async function workOff(
  on: {
    readonly clock: Clock;
    readonly governor: Governor;
    readonly account: ProviderAccount;
    readonly log: Dispatch[];
  },
  options: BacklogOptions,
): Promise<number> {
  const { clock, governor, account, log } = on;
  const { runId = 'run_a', calls, pool, latencyMs = 5, preparationMs, givesUp } = options;
  let left = calls;
  let finishedAt = clock.monotonic();
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left--;
      const permit: Permit = await governor.permit(requestTo(account, { runId }));
      const preparation = preparationMs?.() ?? 0;
      if (preparation > 0) await pause(clock, preparation);
      if (givesUp?.() === true) {
        permit.release();
        continue;
      }
      log.push({ at: clock.monotonic(), runId });
      permit.dispatched();
      await pause(clock, latencyMs);
      permit.settle({ ending: 'answered', credits: 1, latencyMs });
      finishedAt = clock.monotonic();
    }
  };
  await Promise.all(Array.from({ length: Math.min(pool, calls) }, worker));
  return finishedAt;
}

/** Not through the injected clock's timers where those are late: a provider's latency has nothing to do with them. */
function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    VirtualClock.prototype.after.call(clock, ms, resolve);
  });
}

/** The most dispatches in any window (t - per, t]. */
export function mostInWindow(instants: readonly number[], perMs: number): number {
  const sorted = [...instants].sort((a, b) => a - b);
  let most = 0;
  let from = 0;
  for (let to = 0; to < sorted.length; to++) {
    while ((sorted[from] ?? 0) <= (sorted[to] ?? 0) - perMs) from++;
    most = Math.max(most, to - from + 1);
  }
  return most;
}

/** Asks for a permit and says what became of it. */
export function ask(governor: Governor, request: PermitRequest): { permit?: Permit; error?: unknown } {
  const asked: { permit?: Permit; error?: unknown } = {};
  Promise.resolve()
    .then(() => governor.permit(request))
    .then(
      (permit) => {
        asked.permit = permit;
      },
      (error) => {
        asked.error = error;
      },
    );
  return asked;
}

export async function dispatch(governor: Governor, request: PermitRequest): Promise<Permit> {
  const permit = await governor.permit(request);
  permit.dispatched();
  return permit;
}
