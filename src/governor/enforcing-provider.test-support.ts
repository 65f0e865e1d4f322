import { VirtualClock } from '../scope/index.ts';
import type { ProviderLimits } from '../sdk/index.ts';
import { createGovernor, type GovernorOptions } from './governor.ts';
import { LongWait } from './refusals.ts';
import { accountWith, FIVE_MINUTES, middle, requestTo } from './simulation.test-support.ts';

export interface Enforced {
  readonly calls: number;
  readonly perMs: number;
  /** How the provider counts; refused requests never count. */
  readonly counts: 'sliding' | 'fixed' | 'bucket';
}

export interface EnforcedRun {
  readonly declared: ProviderLimits;
  /** The limit at an instant since the start, in milliseconds; undefined where there is none. */
  readonly enforced: (ms: number) => Enforced | undefined;
  readonly rows: number;
  readonly pool?: number;
  /** From dispatch to answer; the provider counts half way. */
  readonly latencyMs?: number | (() => number);
  /** Whether a refusal says, in whole seconds, when it is worth coming back. */
  readonly namesTime?: boolean;
  /** Refuses the calls of these numbers whatever the limit. */
  readonly stray?: (call: number) => boolean;
  readonly forMs: number;
  readonly governor?: Partial<GovernorOptions>;
}

export interface EnforcedOutcome {
  /** Since the start; Infinity where not all rows were done in time. */
  readonly finishedMs: number;
  readonly accepted: readonly number[];
  readonly refused: readonly number[];
  /** How often the unluckiest row was refused. */
  readonly mostForARow: number;
}

/** Works `rows` off against a provider that enforces what it likes. A row that should park asks again at its instant. */
export async function workAgainst(run: EnforcedRun): Promise<EnforcedOutcome> {
  const { rows, pool = 64, latencyMs = 100, namesTime = true } = run;
  const clock = new VirtualClock();
  const start = clock.monotonic();
  const governor = createGovernor({ clock, chance: middle, providerMaxWaitMs: FIVE_MINUTES, ...run.governor });
  const request = requestTo(accountWith(run.declared), { rowWaitMs: 30_000 });
  const pause = (ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve));
  const accepted: number[] = [];
  const refused: number[] = [];
  const counter = new Counter();
  let left = rows;
  let sent = 0;
  let mostForARow = 0;
  let finishedMs = Number.POSITIVE_INFINITY;
  const row = async (): Promise<void> => {
    for (let refusals = 0; ; ) {
      let permit: Awaited<ReturnType<typeof governor.permit>>;
      try {
        permit = await governor.permit(request);
      } catch (error) {
        if (!(error instanceof LongWait)) throw error;
        await pause(error.until - clock.now());
        continue;
      }
      permit.dispatched();
      const ms = typeof latencyMs === 'number' ? latencyMs : latencyMs();
      await pause(ms / 2);
      const at = clock.monotonic() - start;
      const waitMs = run.stray?.(sent++) === true ? 1_000 : counter.ask(at, run.enforced(at));
      (waitMs === undefined ? accepted : refused).push(at);
      await pause(ms / 2);
      if (waitMs === undefined) {
        permit.settle({ ending: 'answered', credits: 1, latencyMs: ms });
        return;
      }
      mostForARow = Math.max(mostForARow, ++refusals);
      const headers = namesTime ? { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1000))) } : {};
      permit.settle({ ending: 'deferred', credits: 0, latencyMs: ms, headers });
    }
  };
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left--;
      await row();
      if (accepted.length === rows) finishedMs = Math.min(finishedMs, clock.monotonic() - start);
    }
  };
  for (let index = 0; index < pool; index++) void worker();
  for (let ms = 0; ms < run.forMs && finishedMs === Number.POSITIVE_INFINITY; ms += 1_000) await clock.advance(1_000);
  return { finishedMs, accepted, refused, mostForARow };
}

class Counter {
  #counted: number[] = [];
  #tokens: number | undefined;
  #at = 0;

  /** Takes the call, or says in how many milliseconds one will be. */
  ask(at: number, limit: Enforced | undefined): number | undefined {
    if (limit === undefined) return undefined;
    return limit.counts === 'bucket' ? this.#askBucket(at, limit) : this.#askWindow(at, limit);
  }

  #askBucket(at: number, { calls, perMs }: Enforced): number | undefined {
    const tokens = Math.min(calls, (this.#tokens ?? calls) + ((at - this.#at) * calls) / perMs);
    this.#at = at;
    this.#tokens = tokens >= 1 ? tokens - 1 : tokens;
    return tokens >= 1 ? undefined : ((1 - tokens) * perMs) / calls;
  }

  #askWindow(at: number, { calls, perMs, counts }: Enforced): number | undefined {
    const since = counts === 'fixed' ? Math.floor(at / perMs) * perMs : at - perMs;
    this.#counted = this.#counted.filter((instant) => (counts === 'fixed' ? instant >= since : instant > since));
    if (this.#counted.length >= calls)
      return counts === 'fixed' ? since + perMs - at : (this.#counted[this.#counted.length - calls] ?? at) + perMs - at;
    this.#counted.push(at);
    return undefined;
  }
}
