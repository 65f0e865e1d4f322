import { type Clock, creditsOf, microCredits } from '../scope/index.ts';
import { CallsheetError, OutOfCreditsError } from '../sdk/index.ts';
import type { CreditLedger } from './credit-ledger.ts';
import { type Counted, countedIn, type Debt } from './debt.ts';

/**
 * The credits of one run, of a tree of runs (they share the root's object), or of a workspace's day.
 *
 * Owns: what is reserved, settled and unknown, and the calls that wait for reservations of others to settle.
 *
 * Invariants
 *  1. settled + reserved never exceeds the limit as long as no call settles above its own maximum.
 *  2. A call that doesn't fit waits while open reservations may still make room; it is refused only when settled plus its
 *     own maximum exceeds the limit. The order among those who wait is that of arrival.
 *  3. Sums are of whole millionths of a credit: ten times 0.1 is 1, in whatever order.
 *  4. What was sent and whose answer is lost is unknown, and counts as spent, since it may be: a limit holds whatever becomes
 *     of answers.
 *  5. What a dead attempt has bought and not settled, or had out under a key, is owed: it counts as reserved until its call
 *     takes it up, whatever the limit. Where only that is in the way of others for `OWED_GRACE_MS`, nobody asks for it any
 *     more: it counts as lost.
 *  6. Where a ledger keeps a budget's sums, because other processes draw on it too, the ledger alone says what fits; who
 *     waits asks it again as soon as something of this process settles, and from the clock.
 */
export interface Budget {
  /**
   * Takes `maxCredits`. 'wait' where that has to wait for open reservations; `waiter` is then queued.
   * Throws OutOfCreditsError where it can never fit.
   */
  reserve(maxCredits: number, waiter?: CreditWaiter): 'reserved' | 'wait';
  /** Takes a queued waiter out; harmless where it isn't in. */
  forget(waiter: CreditWaiter): void;
  /** `credits`, the real cost, takes the place of the reservation; 'unknown', which counts as all of it, where nobody can tell. */
  settle(maxCredits: number, credits: number | 'unknown'): void;
  /** Gives back a reservation of a call that never went out. */
  release(maxCredits: number): void;
  /**
   * Counts as reserved what was bought and not settled.
   *
   * @param wasLost called when it comes to count as spent instead, before
   */
  owe(maxCredits: number, wasLost?: () => void): Owed;
  /**
   * What counts as unknown and spent since it was lost, in this attempt or an earlier one, and may still become known.
   *
   * @param isOfPeriod false where that was in an earlier period: a budget that begins anew from time to time has forgotten it
   */
  lost(maxCredits: number, isOfPeriod: boolean, wasLost?: () => void): Owed;
  /** What was settled turned out to cost so much more, or less. */
  adjust(credits: number): void;
  snapshot(): BudgetSnapshot;
}

/** What is owed for something that was bought, or may have been. */
export interface Owed {
  /** It has cost so much; 'unknown', which counts as all of it until it is known after all, where nobody can tell. */
  settle(credits: number | 'unknown'): void;
  /** What counts as spent is asked for again: it is reserved. */
  hold(): void;
  /** It is reserved for an operation that settles it. */
  handOver(): void;
  /** Gives back what is still reserved; harmless where nothing is. */
  release(): void;
}

/** Reserved on its behalf when its turn comes, or refused. */
export interface CreditWaiter {
  granted(): void;
  refused(error: OutOfCreditsError): void;
}

export interface BudgetSnapshot {
  readonly reserved: number;
  readonly settled: number;
  /** What may have been spent besides, and counts as spent. */
  readonly unknown: number;
  readonly limit: number | null;
  readonly waiting: number;
}

export interface BudgetOptions {
  /** Credits; undefined is no limit. */
  readonly limit?: number | undefined;
  /** Credits that earlier attempts have settled. */
  readonly settled?: number;
  /** What calls of earlier attempts may have cost besides, whose answers were lost. */
  readonly unknown?: number;
  /** True where it begins anew from time to time, as a day does. */
  readonly isPeriodic?: boolean;
  /** For the message and the command that goes on from there. */
  readonly runId?: string;
  /** Whose limit it is, for the message, and what to do when the credits are out; default is this run, and to resume it with more. */
  readonly owner?: () => BudgetOwner;
  /** Keeps what is reserved and settled, because other processes draw on the limit too. */
  readonly shared?: { readonly ledger: CreditLedger; readonly clock: Clock };
  /** For what is owed and never taken up. */
  readonly clock?: Clock | undefined;
  /** A wider budget that every credit is also taken from, such as the workspace's day. */
  readonly within?: Budget | undefined;
}

export interface BudgetOwner {
  /** 'this run' */
  readonly of: string;
  readonly next?: readonly string[];
}

export function createBudget(options: BudgetOptions = {}): Budget {
  return new CreditBudget(options);
}

/** How soon a ledger is asked again that could not say, and one that had no room for what others hold. */
const BUSY_RETRY_MS = 10;
const FULL_RETRY_MS = 200;
const OWED_GRACE_MS = 10_000;

type OwnDebt = Debt<CreditBudget>;

interface Queued {
  readonly from: CreditBudget;
  readonly max: number;
  readonly waiter: CreditWaiter;
}

class CreditBudget implements Budget {
  readonly #options: BudgetOptions;
  readonly #limit: number;
  /** This budget and those around it, innermost first. */
  readonly #chain: readonly CreditBudget[];
  #queue: Queued[] = [];
  #reserved = 0;
  #settled: number;
  /** Part of what is settled. */
  #unknown: number;
  /** Part of what is reserved. */
  #owed = 0;
  readonly #debts = new Set<OwnDebt>();
  #changes = 0;
  #isWatched = false;
  #admitting = false;
  #retryMs = FULL_RETRY_MS;
  #stopRetry: (() => void) | undefined;

  constructor(options: BudgetOptions) {
    const { limit, settled = 0, unknown = 0, within } = options;
    if (limit !== undefined && !(limit >= 0))
      throw new CallsheetError('USAGE', `The limit of credits must be a number from 0 up, not ${limit}.`, {
        next: ['Give --max-credits a number such as 500.'],
      });
    this.#options = options;
    this.#limit = limit === undefined ? Number.POSITIVE_INFINITY : microCredits(limit);
    this.#chain = within instanceof CreditBudget ? [this, ...within.#chain] : [this];
    this.#unknown = microCredits(unknown);
    this.#settled = microCredits(settled) + this.#unknown;
  }

  reserve(maxCredits: number, waiter?: CreditWaiter): 'reserved' | 'wait' {
    const max = microCredits(maxCredits);
    // What costs nothing passes, whoever waits.
    if (max === 0) return 'reserved';
    this.#refuseWhatNeverFits(max);
    // Strictly in order: a cheap call that comes later must not take the room that an expensive one waits for.
    const behind = this.#chain.find((budget) => budget.#queue.length > 0) ?? this.#take(max);
    if (behind === undefined) return 'reserved';
    if (waiter !== undefined) behind.#enqueue({ from: this, max, waiter });
    return 'wait';
  }

  forget(waiter: CreditWaiter): void {
    for (const budget of this.#chain) budget.#queue = budget.#queue.filter((queued) => queued.waiter !== waiter);
    this.#admitAll();
  }

  settle(maxCredits: number, credits: number | 'unknown'): void {
    const max = microCredits(maxCredits);
    for (const budget of this.#chain) {
      budget.#count(max, credits === 'unknown' ? max : microCredits(credits));
      if (credits === 'unknown') budget.#unknown += max;
    }
    this.#admitAll();
  }

  release(maxCredits: number): void {
    this.settle(maxCredits, 0);
  }

  owe(maxCredits: number, wasLost?: () => void): Owed {
    const debt: OwnDebt = { max: microCredits(maxCredits), state: 'paid', from: this, isOfPeriod: true, wasLost };
    this.#becomes(debt, 'open', { reserved: debt.max });
    return this.#owedAs(debt);
  }

  lost(maxCredits: number, isOfPeriod: boolean, wasLost?: () => void): Owed {
    return this.#owedAs({ max: microCredits(maxCredits), state: 'lost', from: this, isOfPeriod, wasLost });
  }

  adjust(credits: number): void {
    for (const budget of this.#chain) budget.#count(0, microCredits(credits));
    this.#admitAll();
  }

  snapshot(): BudgetSnapshot {
    const { settled, reserved, left } = this.#options.shared?.ledger.state() ?? {
      settled: this.#settled,
      reserved: this.#reserved,
      left: 0,
    };
    return {
      reserved: creditsOf(reserved),
      settled: creditsOf(Math.max(0, settled - this.#unknown)),
      unknown: creditsOf(this.#unknown + left),
      limit: this.#limit === Number.POSITIVE_INFINITY ? null : creditsOf(this.#limit),
      waiting: this.#queue.length,
    };
  }

  /** Reserves it in all budgets, or in none and says which has no room at present. Throws OutOfCreditsError. */
  #take(max: number): CreditBudget | undefined {
    const full = this.#chain.find(
      (budget) => !budget.#isShared && budget.#settled + budget.#reserved + max > budget.#limit,
    );
    if (full !== undefined) return full;
    for (const [place, budget] of this.#chain.entries()) {
      const said = budget.#options.shared?.ledger.reserve(max) ?? 'reserved';
      if (said === 'reserved') {
        budget.#reserved += max;
        continue;
      }
      for (const before of this.#chain.slice(0, place)) before.#count(max, 0);
      if (said === 'never') throw budget.#outOfCredits(max);
      budget.#retryMs = said === 'busy' ? BUSY_RETRY_MS : FULL_RETRY_MS;
      return budget;
    }
    return undefined;
  }

  #owedAs(debt: OwnDebt): Owed {
    return {
      settle: (credits) => this.#pay(debt, credits),
      hold: () => {
        if (debt.state === 'lost') this.#becomes(debt, 'open', { reserved: debt.max });
      },
      handOver: () => {
        if (debt.state !== 'paid') this.#becomes(debt, 'paid', { reserved: debt.max });
      },
      release: () => {
        if (debt.state === 'open') this.#pay(debt, 0);
      },
    };
  }

  #pay(debt: OwnDebt, credits: number | 'unknown'): void {
    if (debt.state === 'paid') return;
    if (credits !== 'unknown') this.#becomes(debt, 'paid', { settled: microCredits(credits) });
    else if (debt.state === 'open') this.#lose(debt);
    this.#admitAll();
  }

  #lose(debt: OwnDebt): void {
    debt.wasLost?.();
    debt.from.#becomes(debt, 'lost', { settled: debt.max, unknown: debt.max });
  }

  /** What it counts as from now on, instead of what it did. */
  #becomes(debt: OwnDebt, state: OwnDebt['state'], as: Partial<Counted>): void {
    const { reserved = 0, settled = 0, unknown = 0 } = as;
    for (const budget of this.#chain) {
      const was = countedIn(debt, budget.#options.isPeriodic === true);
      if (budget.#debts.delete(debt)) budget.#owed -= debt.max;
      if (state === 'open') {
        budget.#debts.add(debt);
        budget.#owed += debt.max;
      }
      // What other processes have lost of a limit that is shared is not among what this one knows of.
      budget.#unknown = Math.max(0, budget.#unknown + unknown - was.unknown);
      budget.#count(was.reserved - reserved, settled - was.settled);
    }
    debt.state = state;
  }

  get #isOnlyOwed(): boolean {
    return this.#queue.length > 0 && this.#owed > 0 && this.#reserved === this.#owed;
  }

  /** Whoever waits must not wait for ever for what nobody takes up. */
  #watchOwed(): void {
    const clock = this.#options.clock ?? this.#options.shared?.clock;
    if (clock === undefined || this.#isWatched || !this.#isOnlyOwed) return;
    this.#isWatched = true;
    const seen = this.#changes;
    clock.after(OWED_GRACE_MS, () => {
      this.#isWatched = false;
      if (this.#isOnlyOwed && this.#changes === seen) this.#writeOff();
      else this.#watchOwed();
    });
  }

  #writeOff(): void {
    for (const debt of [...this.#debts]) this.#lose(debt);
    this.#admitAll();
  }

  get #isShared(): boolean {
    return this.#options.shared !== undefined;
  }

  #count(reserved: number, settled: number): void {
    this.#changes++;
    this.#reserved -= reserved;
    this.#settled += settled;
    if (reserved !== 0 || settled !== 0) this.#options.shared?.ledger.settle(reserved, settled);
  }

  #enqueue(queued: Queued): void {
    this.#queue.push(queued);
    this.#retryLater();
    this.#watchOwed();
  }

  /** Others make room too, and say nothing of it. */
  #retryLater(): void {
    const { shared } = this.#options;
    if (shared === undefined || this.#stopRetry !== undefined || this.#queue.length === 0) return;
    this.#stopRetry = shared.clock.after(this.#retryMs, () => {
      this.#stopRetry = undefined;
      this.#admit();
      this.#retryLater();
    });
  }

  #refuseWhatNeverFits(max: number): void {
    for (const budget of this.#chain)
      if (!budget.#isShared && budget.#settled + max > budget.#limit) throw budget.#outOfCredits(max);
  }

  #admitAll(): void {
    for (const budget of this.#chain) if (budget.#queue.length > 0) budget.#admit();
  }

  /** Serves its queue from the front as far as there is room. What it calls may come back here: the loop then goes on. */
  #admit(): void {
    if (this.#admitting) return;
    this.#admitting = true;
    try {
      for (let head = this.#queue[0]; head !== undefined; head = this.#queue[0]) {
        const { from, max, waiter } = head;
        let blocker: CreditBudget | undefined;
        try {
          from.#refuseWhatNeverFits(max);
          blocker = from.#take(max);
        } catch (error) {
          this.#queue.shift();
          if (!(error instanceof OutOfCreditsError)) throw error;
          waiter.refused(error);
          continue;
        }
        if (blocker === this) return;
        this.#queue.shift();
        if (blocker !== undefined) blocker.#enqueue(head);
        else waiter.granted();
      }
    } finally {
      this.#admitting = false;
      this.#watchOwed();
    }
  }

  #outOfCredits(max: number): OutOfCreditsError {
    const { runId = '<run>', owner } = this.#options;
    const { of, next } = owner?.() ?? { of: 'this run' };
    const { settled, reserved, unknown } = this.snapshot();
    const limit = creditsOf(this.#limit);
    const needed = creditsOf(max);
    // It is kept for good, and what was out is settled after it: it says how all stood when the call was refused.
    const out = reserved > 0 ? `, ${reserved} were reserved by calls that were out` : '';
    const inDoubt = unknown > 0 ? `, ${unknown} more may have been charged by calls that were not resolved` : '';
    return new OutOfCreditsError(
      `Out of credits: the limit of ${of} is ${limit}; ${settled} were settled${out}${inDoubt} when a call was refused that may cost ${needed}.`,
      {
        details: { limit, settled, reserved, unknown, needed, runId: this.#options.runId ?? null },
        next: next ?? [
          `callsheet runs resume ${runId} --max-credits ${Math.ceil(Math.max(limit * 2, settled + unknown + needed))}`,
        ],
      },
    );
  }
}
