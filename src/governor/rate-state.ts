import { MARGIN, type WindowLimit } from './window.ts';

/**
 * Port: where the dispatches of a window are kept that outlives this process or is shared with others (`rates.db`).
 *
 * All instants are wall clock, milliseconds since the epoch. An adapter makes each `take` one transaction: two processes
 * that ask at once never get the same slot. After an unclean end it counts what was granted as used.
 */
export interface RateState {
  /** Whether this limit is kept here; asked once, when the process first uses the account. */
  keeps(account: string, limit: WindowLimit): boolean;
  /** Grants up to `want` slots between `now` and `until`; what is granted counts as used at its instant, used or not. */
  take(request: RateRequest): RateGrant | Promise<RateGrant>;
  /** A slot was used later than granted: count it there. Must not throw: the request is already on its way. */
  moved(request: {
    readonly account: string;
    readonly limit: WindowLimit;
    readonly from: number;
    readonly to: number;
  }): void;
}

export interface RateRequest {
  readonly account: string;
  readonly limit: WindowLimit;
  /** Who asks: one name for each process. */
  readonly asker: string;
  readonly want: number;
  readonly now: number;
  readonly until: number;
}

export interface RateGrant {
  /** Ascending; each may be used from its instant on. */
  readonly slots: readonly number[];
  /** When it is worth asking again. */
  readonly nextAt: number;
}

/** What an adapter keeps of one limit. */
export interface RateLog {
  /** Granted instants, ascending, with who got each; at least those of the last `per` × 1.02. */
  readonly granted: readonly { readonly at: number; readonly asker: string }[];
  /** When each asker last got less than it wanted. */
  readonly unserved: Readonly<Record<string, number>>;
}

const ASKS_AGAIN_MS = 2_000;
const FAIR_RETRY_MS = 20;

/**
 * Which slots a request gets, and what the log says afterwards. Pure: an adapter reads the log, calls this, and writes
 * the log back in one transaction.
 *
 * While another asker is unserved nobody holds more than an equal share of the window.
 */
function grantSlots(log: RateLog, request: RateRequest): { readonly grant: RateGrant; readonly log: RateLog } {
  const { limit, asker, now, until, want } = request;
  const windowMs = limit.perMs * MARGIN;
  const spacing = limit.smooth ? windowMs / limit.calls : 0;
  const granted = log.granted.filter(({ at }) => at > now - windowMs);
  const others = Object.entries(log.unserved).filter(
    ([name, at]) => name !== asker && at > now - Math.max(ASKS_AGAIN_MS, limit.perMs * 2),
  );
  const share = Math.max(1, Math.ceil(limit.calls / (others.length + 1)));
  let mine = granted.filter((slot) => slot.asker === asker).length;
  const slots: number[] = [];
  let nextAt = nextFree(granted, limit.calls, { now, windowMs, spacing });
  while (slots.length < want && nextAt <= until) {
    if (mine >= share && others.length > 0) {
      nextAt = now + FAIR_RETRY_MS;
      break;
    }
    granted.push({ at: nextAt, asker });
    slots.push(nextAt);
    mine++;
    nextAt = nextFree(granted, limit.calls, { now: nextAt, windowMs, spacing });
  }
  const unserved = Object.fromEntries(others);
  if (slots.length < want) unserved[asker] = now;
  return { grant: { slots, nextAt }, log: { granted, unserved } };
}

function nextFree(
  granted: RateLog['granted'],
  calls: number,
  when: { readonly now: number; readonly windowMs: number; readonly spacing: number },
): number {
  const oldest = granted.at(-calls);
  const last = granted.at(-1);
  return Math.max(
    when.now,
    oldest === undefined || granted.length < calls ? 0 : oldest.at + when.windowMs,
    last === undefined ? 0 : last.at + when.spacing,
  );
}

/** The log with one slot counted later than it was granted. */
function moveSlot(log: RateLog, from: number, to: number): RateLog {
  const place = log.granted.findIndex(({ at }) => at === from);
  const slot = log.granted[place];
  if (slot === undefined) return log;
  const granted = [...log.granted.slice(0, place), ...log.granted.slice(place + 1), { ...slot, at: to }];
  return { ...log, granted: granted.sort((a, b) => a.at - b.at) };
}

/** For several governors in one process, and for tests. */
export function createMemoryRateState(): RateState {
  const logs = new Map<string, RateLog>();
  const key = (account: string, limit: WindowLimit): string => `${account} ${limit.calls}/${limit.perMs}`;
  return {
    keeps: () => true,
    take(request) {
      const name = key(request.account, request.limit);
      const { grant, log } = grantSlots(logs.get(name) ?? { granted: [], unserved: {} }, request);
      logs.set(name, log);
      return grant;
    },
    moved({ account, limit, from, to }) {
      const name = key(account, limit);
      const log = logs.get(name);
      if (log !== undefined) logs.set(name, moveSlot(log, from, to));
    },
  };
}
