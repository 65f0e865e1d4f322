import { type Clock, durationMs } from '../scope/index.ts';
import { PROVIDER_TERMS, type ProviderTerms } from './providers.ts';
import type { ProviderOverride, SandboxProvider } from './types.ts';

/** The last `calls` admissions of one account: the next is free as soon as the oldest is `perMs` old. */
class SlidingWindow {
  readonly calls: number;
  readonly perMs: number;
  readonly #instants: Float64Array;
  #oldest = 0;
  #held = 0;

  constructor(calls: number, perMs: number) {
    this.calls = calls;
    this.perMs = perMs;
    this.#instants = new Float64Array(calls);
  }

  /** Milliseconds until there is room; 0 when there is. */
  waitMs(now: number): number {
    if (this.#held < this.calls) return 0;
    return Math.max(0, (this.#instants[this.#oldest] ?? 0) + this.perMs - now);
  }

  take(now: number): void {
    if (this.#held < this.calls) {
      this.#instants[this.#held++] = now;
      return;
    }
    this.#instants[this.#oldest] = now;
    this.#oldest = (this.#oldest + 1) % this.calls;
  }
}

interface AccountUse {
  readonly windows: readonly SlidingWindow[];
  inFlight: number;
}

/** Why a request is refused, and when to ask again. */
export interface LimitRefusal {
  readonly reason: 'rate' | 'concurrency';
  readonly waitMs: number;
  readonly calls: number;
  readonly perMs: number;
}

/** A client can't know when a slot becomes free; a second is what providers usually say. */
const CONCURRENCY_WAIT_MS = 1000;

/** Enforces what the providers declare, by provider and account. Windows run on the monotonic clock. */
export class Limits {
  readonly #clock: Clock;
  readonly #enforced: boolean;
  readonly #terms: Readonly<Record<SandboxProvider, ProviderTerms>>;
  readonly #uses = new Map<string, AccountUse>();

  constructor(options: {
    readonly clock: Clock;
    readonly enforced: boolean;
    readonly overrides: Readonly<Partial<Record<SandboxProvider, ProviderOverride>>>;
  }) {
    this.#clock = options.clock;
    this.#enforced = options.enforced;
    const merged = Object.entries(PROVIDER_TERMS).map(([name, terms]) => [
      name,
      { ...terms, ...options.overrides[name as SandboxProvider] },
    ]);
    this.#terms = Object.fromEntries(merged) as Record<SandboxProvider, ProviderTerms>;
  }

  get enforced(): boolean {
    return this.#enforced;
  }

  termsOf(provider: SandboxProvider): ProviderTerms {
    return this.#terms[provider];
  }

  /** Takes a place in every window and a slot, or says why not. A refused request takes nothing. */
  enter(provider: SandboxProvider, account: string): LimitRefusal | undefined {
    if (!this.#enforced) return undefined;
    const use = this.#useOf(provider, account);
    const now = this.#clock.monotonic();
    const concurrency = this.#terms[provider].concurrency;
    let refusal: LimitRefusal | undefined;
    for (const window of use.windows) {
      const waitMs = window.waitMs(now);
      if (waitMs > (refusal?.waitMs ?? 0))
        refusal = { reason: 'rate', waitMs, calls: window.calls, perMs: window.perMs };
    }
    if (refusal) return refusal;
    if (use.inFlight >= concurrency)
      return { reason: 'concurrency', waitMs: CONCURRENCY_WAIT_MS, calls: concurrency, perMs: CONCURRENCY_WAIT_MS };
    for (const window of use.windows) window.take(now);
    use.inFlight++;
    return undefined;
  }

  /** Gives the slot back; call once for each successful `enter`. */
  leave(provider: SandboxProvider, account: string): void {
    if (this.#enforced) this.#useOf(provider, account).inFlight--;
  }

  #useOf(provider: SandboxProvider, account: string): AccountUse {
    const name = `${provider} ${account}`;
    let use = this.#uses.get(name);
    if (use === undefined) {
      const windows = this.#terms[provider].rate.map(
        (limit) => new SlidingWindow(limit.calls, durationMs(limit.per) ?? 0),
      );
      use = { windows, inFlight: 0 };
      this.#uses.set(name, use);
    }
    return use;
  }
}
