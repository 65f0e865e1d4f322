import { type Chance, type Clock, durationMs, systemChance } from '../scope/index.ts';
import { CallsheetError } from '../sdk/index.ts';
import type { ProviderAccount } from '../tool/index.ts';
import { AccountGovernor } from './account.ts';
import type { Permit, PermitRequest } from './permit.ts';
import type { PersistenceBreaker } from './persistence-breaker.ts';
import type { PlaceState } from './place-state.ts';
import type { Health } from './provider-breaker.ts';
import type { RateState } from './rate-state.ts';
import { Reach, type ReachState } from './reach.ts';
import { aside } from './refusals.ts';
import { SharedConcurrency } from './shared-concurrency.ts';
import { type GateState, SharedGate } from './shared-gate.ts';
import { SharedWindow } from './shared-window.ts';
import type { AccountSnapshot, RunWait } from './snapshot.ts';
import { LocalWindow, type WindowLimit } from './window.ts';

export interface GovernorOptions {
  readonly clock: Clock;
  /** A known wait beyond it, in milliseconds, fails the call with ProviderExhaustedError. */
  readonly providerMaxWaitMs: number;
  readonly chance?: Chance;
  /** While it is open no permit is given. */
  readonly persistence?: PersistenceBreaker;
  /** Keeps the windows, which outlive this process and are shared with others; without it they live in memory. */
  readonly rateState?: RateState;
  /** Keeps how many of a declared concurrency this process may use; without it all of them. */
  readonly placeState?: PlaceState;
  /** Keeps what providers have said about when they take calls again, for other processes and later ones; without it, nobody does. */
  readonly gateState?: GateState;
  /** Absent where no other process, and no later one, is to know which accounts have answered. */
  readonly reachState?: ReachState;
  /** This process's name in `rateState`; a random one where it is not given. */
  readonly asker?: string;
}

/** Answers before every operation: may this go out now, and if not, when? */
export interface Governor {
  /**
   * A permit at once where nothing holds the call back, else a promise of one.
   *
   * Throws, or rejects with: RunFatalError (PERSISTENCE_BREAKER), OutOfCreditsError, ProviderExhaustedError, LongWait,
   * ProviderTransientError (PROVIDER_UNAVAILABLE), or the reason of `signal`.
   */
  permit(request: PermitRequest): Permit | Promise<Permit>;
  /** Milliseconds that a call to the account which came now would probably wait. */
  expectedWaitMs(account: ProviderAccount): number;
  health(account: ProviderAccount): Health;
  snapshot(): readonly AccountSnapshot[];
  /** What each waiting run waits for. */
  waits(): readonly RunWait[];
}

export function createGovernor(options: GovernorOptions): Governor {
  const { persistence } = options;
  const accounts = new Map<string, AccountGovernor>();
  const governorOf = (account: ProviderAccount): AccountGovernor => {
    const known = accounts.get(account.key);
    if (known !== undefined) return known;
    const made = accountGovernor(account, options);
    accounts.set(account.key, made);
    return made;
  };
  persistence?.onOpen(() => {
    for (const account of accounts.values()) account.refuseAll(() => persistence.refusal());
  });
  return {
    permit(request) {
      if (persistence?.isOpen === true) throw persistence.refusal();
      if (request.signal?.aborted === true) throw request.signal.reason;
      if (request.stepsAside === true && request.rowWaitMs !== undefined)
        return Promise.reject(aside(request, options.clock.now()));
      return governorOf(request.account).permit(request);
    },
    health: (account) => governorOf(account).health,
    expectedWaitMs: (account) => governorOf(account).expectedWaitMs(),
    snapshot: () => [...accounts.values()].map((account) => account.snapshot()),
    waits: () => [...accounts.values()].flatMap((account) => account.snapshot().runs),
  };
}

function accountGovernor(account: ProviderAccount, options: GovernorOptions): AccountGovernor {
  const { clock, chance = systemChance, providerMaxWaitMs, rateState, placeState, gateState, reachState } = options;
  const limits = declaredWindows(account);
  const { concurrency } = account.limits;
  const asker = options.asker ?? Buffer.from(chance.bytes(8)).toString('hex');
  return new AccountGovernor(account, {
    clock,
    chance,
    providerMaxWaitMs,
    reach: new Reach(account.key, reachState),
    declared: limits,
    windows: (queue) =>
      limits.map((limit, index) =>
        rateState === undefined
          ? new LocalWindow(limit)
          : new SharedWindow(limit, {
              ...queue,
              account: account.key,
              rateState,
              clock,
              asker,
              shorter: limits.slice(0, index),
            }),
      ),
    gate: (wake) =>
      gateState === undefined ? undefined : new SharedGate({ account: account.key, gateState, clock, wake }),
    places: (queue) =>
      placeState === undefined || concurrency === undefined
        ? undefined
        : new SharedConcurrency({ ...queue, account: account.key, limit: Math.floor(concurrency), placeState, clock }),
  });
}

/** Shortest first: that is the one which a refusal most probably concerns. */
function declaredWindows(account: ProviderAccount): WindowLimit[] {
  const { rate = [], concurrency } = account.limits;
  if (concurrency !== undefined && !(concurrency >= 1)) throw invalidLimit(account, `concurrency ${concurrency}`);
  return rate
    .map(({ calls, per, smooth = false }) => {
      const perMs = durationMs(per);
      if (perMs === undefined || perMs <= 0 || !Number.isInteger(calls) || calls < 1)
        throw invalidLimit(account, `${calls} calls per ${per}`);
      return { calls, perMs, smooth };
    })
    .sort((a, b) => a.perMs - b.perMs || a.calls - b.calls)
    .filter((limit, index, all) => index === all.findIndex((other) => isSameWindow(limit, other)));
}

/** Of two such the tighter one says all, and in a shared state they would take each other's slots. */
function isSameWindow(a: WindowLimit, b: WindowLimit): boolean {
  return a.perMs === b.perMs && a.smooth === b.smooth;
}

function invalidLimit(account: ProviderAccount, what: string): CallsheetError {
  return new CallsheetError('CONFIG_INVALID', `The limit of ${account.key} cannot be kept: ${what}.`, {
    details: { account: account.key },
    next: [`Mend limits of provider ${account.provider}: whole calls from 1 up, per such as '1s', '1m', '1d'.`],
  });
}
