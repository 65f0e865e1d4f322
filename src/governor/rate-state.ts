import { memoryRateLogs, type RateLogs, type RateView, type SlotMove } from './rate-logs.ts';
import { MARGIN, type WindowLimit } from './window.ts';

/**
 * Port: where the dispatches of a window are kept that outlives this process or is shared with others.
 *
 * All instants are wall clock, milliseconds since the epoch.
 */
export interface RateState {
  /** Grants slots between `now` and `until`; what is granted counts as used until it is given back. */
  take(request: RateRequest): RateGrant | Promise<RateGrant>;
  /** A slot was used later than granted: count it there; or not at all (null). Never throws: the request is on its way. */
  moved(move: {
    readonly account: string;
    readonly limit: WindowLimit;
    readonly asker: string;
    readonly from: number;
    readonly to: number | null;
  }): void;
  /** What to do before the end: give back what was granted and not used. */
  atEnd(giveBack: () => void): void;
  /** The process grants nothing more: has everything given back, at once where nobody else has the lock. */
  end(): void;
}

export interface RateRequest {
  readonly account: string;
  readonly limit: WindowLimit;
  /** Who asks: one name for each process. */
  readonly asker: string;
  /** Slots for those who wait: as many of them as become free by `until`. */
  readonly want: number;
  /** More slots for those who will probably come before `until`; only out of a window that is less than half used. */
  readonly spare: number;
  readonly now: number;
  readonly until: number;
}

export interface RateGrant {
  /** Ascending; each may be used from its instant on. */
  readonly slots: readonly number[];
  /** So many more may be used at once, until `until`, which is the instant at which they count. */
  readonly spare: number;
  /** When it is worth asking again. */
  readonly nextAt: number;
}

export interface RateStateOptions {
  /** True of an asker that certainly no longer exists: nothing is held back for it. */
  readonly isGone?: (asker: string) => boolean;
}

const SHORTEST_UNSERVED_MS = 2_000;
const LONGEST_UNSERVED_MS = 60_000;
/** How soon an asker that has its share looks whether the others still wait. */
const FAIR_RETRY_MS = 20;
/** Of how many slots it is looked up when they are free, beyond those that are wanted. */
const MOST_KEPT = 100;
/** By how much more than any grant a slot lies ahead where the clock was set back. */
const SET_BACK_MS = 15_000;

/** The state over logs that others may use too. */
export function createRateState(logs: RateLogs, { isGone = () => false }: RateStateOptions = {}): RateState {
  let moves: SlotMove[] = [];
  const endings: (() => void)[] = [];
  const flush = async (): Promise<void> => {
    const due = moves;
    moves = [];
    if (due.length === 0) return;
    // Where it can't be written, the slot counts from the instant at which it was granted.
    try {
      await logs.move(due);
    } catch {
      // A slot that was given back counts as used.
    }
  };
  return {
    take(request) {
      const { account, limit, asker, now, until, want } = request;
      // What was given back in this turn may be asked for in the same.
      if (moves.some(({ to }) => to === null)) void flush();
      const query = {
        name: logName(account, limit),
        asker,
        since: now - limit.perMs * MARGIN,
        calls: limit.calls,
        leaving: Math.min(limit.calls, want + MOST_KEPT) + 1,
        now,
        leavesBy: until - limit.perMs * MARGIN,
        latest: until + SET_BACK_MS,
      };
      return logs.change(query, (view) => grantSlots(view, request, isGone));
    },
    moved({ account, limit, asker, from, to }) {
      moves.push({ name: logName(account, limit), asker, from, to });
      // All of a turn in one transaction.
      if (moves.length === 1) setImmediate(() => void flush());
    },
    atEnd(giveBack) {
      endings.push(giveBack);
    },
    end() {
      for (const giveBack of endings) giveBack();
      void flush();
    },
  };
}

/** For several governors in one process, and for tests. */
export function createMemoryRateState(): RateState {
  return createRateState(memoryRateLogs());
}

/** Without the number of calls: whoever corrects a limit in the config goes on with what was used. */
function logName(account: string, { perMs, smooth }: WindowLimit): string {
  return `${account} ${perMs}${smooth ? ' smooth' : ''}`;
}

/**
 * Which slots a request gets, and what the log says afterwards. Pure.
 *
 * A slot is free at an instant where fewer than `calls` others count after `per` × 1.016 before it, in whatever order they
 * were granted; slots ahead count too. While others are unserved nobody gets more than an equal share, but for what is left
 * once these have what they want of theirs.
 */
function grantSlots(view: RateView, request: RateRequest, isGone: (asker: string) => boolean) {
  const { limit, now, until, want, spare } = request;
  const others = view.unserved.filter(({ asker, at }) => at > now - unservedMs(limit) && !isGone(asker));
  const equal = Math.ceil(limit.calls / (others.length + 1));
  const kept = others.reduce((sum, { unmet, stays }) => sum + Math.min(unmet, Math.max(0, equal - stays)), 0);
  const { instants, nextAt } = freeBy(view, request, Math.min(limit.calls, want + Math.min(kept, MOST_KEPT)));
  const share = Math.max(0, equal - view.stays, instants.length - kept);
  const slots = instants.slice(0, Math.min(want, share));
  const isHeldBack = slots.length < Math.min(want, instants.length);
  const next = instants[slots.length] ?? nextAt;
  const isIdle = others.length === 0 && !limit.smooth && slots.length === want && next <= now;
  const half = Math.floor(limit.calls / 2) - view.held - slots.length;
  const more = isIdle ? Math.max(0, Math.min(spare, half)) : 0;
  const unmet = want - slots.length;
  return {
    slots: [...slots, ...Array<number>(more).fill(until)],
    unserved: unmet > 0 ? { at: now, unmet } : null,
    result: { slots, spare: more, nextAt: isHeldBack ? Math.max(next, now + FAIR_RETRY_MS) : next },
  };
}

/** Instants up to `until` at which slots are free, so many at most, and when the one after them is. */
function freeBy(view: RateView, request: RateRequest, most: number) {
  const free = freeAfter(view, request);
  const instants: number[] = [];
  let nextAt = free(0, view.newest);
  while (instants.length < most && nextAt <= request.until) {
    instants.push(nextAt);
    nextAt = free(instants.length, nextAt);
  }
  return { instants, nextAt };
}

/** When the slot after `granted` new ones is free. */
function freeAfter(
  view: RateView,
  { limit, now }: RateRequest,
): (granted: number, newest: number | undefined) => number {
  const windowMs = limit.perMs * MARGIN;
  const spacing = limit.smooth ? windowMs / limit.calls : 0;
  const room = Math.max(0, limit.calls - view.held);
  const known = view.lostAt === undefined ? now : Math.max(now, view.lostAt + windowMs);
  return (granted, newest) => {
    const leaving = granted < room ? undefined : view.leaving[granted - room];
    const spaced = spacing === 0 || newest === undefined ? known : newest + spacing;
    return Math.max(known, spaced, leaving === undefined ? known : leaving + windowMs);
  };
}

/** How long an asker that got less than it wanted counts as waiting. Who waits longer has parked its rows, or asks again. */
function unservedMs({ perMs }: WindowLimit): number {
  return Math.min(LONGEST_UNSERVED_MS, Math.max(SHORTEST_UNSERVED_MS, perMs * 2));
}
