/**
 * Port: where the slots that were granted of each limit are kept (`rates.db`, or memory).
 *
 * All instants are wall clock, milliseconds since the epoch. Each `change` is one transaction: two processes that ask
 * at once never get the same slot. A promise comes only where the log cannot be had at once.
 */
export interface RateLogs {
  /**
   * Forgets the slots of `query.name` up to `query.since`, shows `decide` what is left and keeps what that decides.
   * Throws, or rejects with, what the place throws in which the logs are kept.
   */
  change<T>(query: RateQuery, decide: (view: RateView) => RateChange<T>): T | Promise<T>;
  /** Slots that were used later than granted count from then on; those that were not used at all count no more. */
  move(moves: readonly SlotMove[]): void | Promise<void>;
}

export interface RateQuery {
  /** One name for each limit of each account. */
  readonly name: string;
  /** Who asks: one name for each process. */
  readonly asker: string;
  /** Slots up to this instant count no more. */
  readonly since: number;
  /** How many may count at once. */
  readonly calls: number;
  /** How many of the oldest slots `decide` has to see. */
  readonly leaving: number;
  readonly now: number;
  /** Slots up to this instant will not count any more when those asked for do. */
  readonly leavesBy: number;
  /** Nobody is granted a slot later than this: what lies beyond was granted before the clock was set back, and counts as of now. */
  readonly latest: number;
}

/** What a log says at the moment. */
export interface RateView {
  /** How many slots count, by whoever got them; some may lie ahead. */
  readonly held: number;
  /** How many of the asker's own will still count at `query.until`. */
  readonly stays: number;
  /** The oldest slots, ascending, without as many as `held` exceeds `calls` by. */
  readonly leaving: readonly number[];
  readonly newest: number | undefined;
  /** Each other asker that last got less than it wanted. */
  readonly unserved: readonly Unserved[];
  /** What was granted up to this instant may be missing here: as much as allowed may have been used then. */
  readonly lostAt: number | undefined;
}

export interface Unserved {
  readonly asker: string;
  readonly at: number;
  /** How many it still wanted. */
  readonly unmet: number;
  /** How many of its own will still count at `query.until`. */
  readonly stays: number;
}

export interface RateChange<T> {
  /** Instants that count from now on, ascending; an instant may come several times. */
  readonly slots: readonly number[];
  /** When the asker got less than it wanted, and how many; null where it got all. */
  readonly unserved: { readonly at: number; readonly unmet: number } | null;
  readonly result: T;
}

export interface SlotMove {
  readonly name: string;
  readonly asker: string;
  readonly from: number;
  /** When it counts; null where it was not used. */
  readonly to: number | null;
}

interface MemoryLog {
  slots: { readonly at: number; readonly asker: string }[];
  readonly unserved: Map<string, { readonly at: number; readonly unmet: number }>;
}

/** Logs in this process's memory: for several governors in one process, and for tests. */
export function memoryRateLogs(): RateLogs {
  const logs = new Map<string, MemoryLog>();
  return {
    change(query, decide) {
      const log = logs.get(query.name) ?? { slots: [], unserved: new Map() };
      logs.set(query.name, log);
      log.slots = log.slots
        .filter(({ at }) => at > query.since)
        .map((slot) => (slot.at > query.latest ? { ...slot, at: query.now } : slot))
        .sort((a, b) => a.at - b.at);
      const { slots, unserved, result } = decide(viewOf(log, query));
      log.slots.push(...slots.map((at) => ({ at, asker: query.asker })));
      log.slots.sort((a, b) => a.at - b.at);
      if (unserved === null) log.unserved.delete(query.asker);
      else log.unserved.set(query.asker, unserved);
      return result;
    },
    move(moves) {
      for (const { name, asker, from, to } of moves) {
        const log = logs.get(name);
        const place = log?.slots.findIndex((slot) => slot.at === from && slot.asker === asker) ?? -1;
        if (log === undefined || place < 0) continue;
        log.slots.splice(place, 1, ...(to === null ? [] : [{ at: to, asker }]));
        log.slots.sort((a, b) => a.at - b.at);
      }
    },
  };
}

function viewOf({ slots, unserved }: MemoryLog, { asker, calls, leaving, leavesBy }: RateQuery): RateView {
  const over = Math.max(0, slots.length - calls);
  const stays = (name: string): number => slots.filter((slot) => slot.asker === name && slot.at > leavesBy).length;
  return {
    held: slots.length,
    stays: stays(asker),
    leaving: slots.slice(over, over + leaving).map(({ at }) => at),
    newest: slots.at(-1)?.at,
    unserved: [...unserved].flatMap(([name, of]) =>
      name === asker ? [] : [{ ...of, asker: name, stays: stays(name) }],
    ),
    lostAt: undefined,
  };
}
