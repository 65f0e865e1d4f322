/**
 * Port: where it is kept how many of an account's declared `concurrency` each process holds (`rates.db`).
 *
 * Each `change` is one transaction. A promise comes only where the state cannot be had at once.
 */
export interface PlaceState {
  /**
   * Shows `decide` what this session and the others that may still exist hold of an account, and keeps this session's claim as
   * that decides; undefined is none. `decide` may be called again where a transaction fails. Throws, or rejects with, what
   * the place throws in which the claims are kept.
   */
  change<T>(account: string, decide: (view: PlaceView) => PlaceChange<T>): T | Promise<T>;
}

/** What one session holds and wants. */
export interface PlaceClaim {
  /** It may have so many calls in flight. */
  readonly held: number;
  /** So many in all it had calls for when it asked last. */
  readonly wanted: number;
  /** When that was; wall clock, milliseconds since the epoch. */
  readonly askedAt: number;
  /** Larger for those who had one place more than others later; 0 for who had none. */
  readonly turn: number;
  /** No call went out on these places much later, unless this claim was renewed; wall clock. */
  readonly seenAt: number;
  /** For so long after `seenAt` a provider may be at work on them, should the session's process be gone (ms). */
  readonly keepMs: number;
}

export interface NamedClaim extends PlaceClaim {
  readonly session: string;
}

export interface PlaceView {
  /** This session's name. */
  readonly session: string;
  readonly own: PlaceClaim | undefined;
  readonly others: readonly NamedClaim[];
  /** So many places a provider may still be at work on for processes that are gone. */
  readonly heldByGone: number;
  /** Claims up to this instant may be missing, until those that hold them enter them again; wall clock. */
  readonly lostAt: number | undefined;
}

export interface PlaceChange<T> {
  readonly claim: PlaceClaim | undefined;
  readonly result: T;
}

/** Who has not asked for so long wants no more than it holds. */
const LAPSE_MS = 500;

/** Of those that have asked lately what they want; of all others what they hold. Instants are wall clock. */
export function claimsAt(claims: readonly NamedClaim[], now: number): readonly NamedClaim[] {
  return claims.map((claim) =>
    Math.abs(now - claim.askedAt) < LAPSE_MS ? claim : { ...claim, wanted: Math.min(claim.wanted, claim.held) },
  );
}

export interface PlaceShare {
  /** What everybody gets who wants more than that. */
  readonly level: number;
  /** `level`, or one more for those whose turn it is. */
  readonly share: number;
  /** True where another session wants more than it holds; else everything may be held. */
  readonly isContested: boolean;
}

/**
 * How many places a session may hold. Pure.
 *
 * Equal shares: what one of the others wants less than its share is the rest's. Places that are left over by the division go to
 * those who have been without one the longest, so that each has its turn where there are fewer places than sessions.
 */
export function shareOf(
  limit: number,
  own: { readonly session: string; readonly turn: number },
  others: readonly NamedClaim[],
): PlaceShare {
  if (!others.some(({ held, wanted }) => wanted > held)) return { level: limit, share: limit, isContested: false };
  let left = limit;
  let sharers = others.length + 1;
  const hungry = [...others]
    .sort((a, b) => a.wanted - b.wanted)
    .filter(({ wanted }) => {
      if (wanted * sharers > left) return true;
      left -= wanted;
      sharers--;
      return false;
    });
  const level = Math.floor(left / sharers);
  const ahead = hungry.filter(({ turn, session }) => turn < own.turn || (turn === own.turn && session < own.session));
  return { level, share: ahead.length < left - level * sharers ? level + 1 : level, isContested: true };
}
