import type { Permit, PermitOutcome } from '../governor/index.ts';

interface Tracking {
  readonly isReserved: boolean;
  readonly key: () => string | undefined;
  readonly reduced: () => void;
  readonly sent: () => Promise<void>;
  readonly ended: (how: 'known' | 'lost') => void;
  readonly left: () => void;
}

/**
 * Invariants
 *  1. Its tries end once, unless they are handed over.
 *  2. Their record ends in the turn in which the budget is told, and before: both are made in one transaction.
 */
export class TrackedPermit implements Permit {
  readonly #permit: Permit;
  readonly #tracking: Tracking;
  #ended = false;

  constructor(permit: Permit, tracking: Tracking) {
    this.#permit = permit;
    this.#tracking = tracking;
  }

  get waitedMs(): number {
    return this.#permit.waitedMs;
  }

  get pacedMs(): number {
    return this.#permit.pacedMs;
  }

  /** Under which they are on record; undefined for a tool that sends none. */
  get operationKey(): string | undefined {
    return this.#tracking.key();
  }

  /** Resolves when it is on record that they go out: what else has to be so before, `intended`, before. */
  announced(intended: Promise<void> | undefined): Promise<void> {
    const { reduced, sent } = this.#tracking;
    if (intended === undefined) return sent();
    return intended.then(() => {
      reduced();
      return sent();
    });
  }

  dispatched(): void {
    this.#permit.dispatched();
  }

  settle(outcome: PermitOutcome): void {
    if (outcome.credits !== 'later') this.#end(outcome.credits);
    this.#permit.settle(outcome);
  }

  charge(credits: number | 'unknown'): void {
    this.#end(credits);
    this.#permit.charge(credits);
  }

  /** Their record is ended call by call (`OpenTries.part`). */
  chargePart(maxCredits: number, credits: number | 'unknown'): void {
    this.#ended = true;
    this.#permit.chargePart(maxCredits, credits);
  }

  leave(): void {
    if (!this.#ended) this.#tracking.left();
    this.#ended = true;
    this.#permit.leave();
  }

  handOver(): void {
    this.#permit.handOver();
    this.#ended = true;
  }

  giveBack(credits: number): void {
    this.#permit.giveBack(credits);
  }

  release(): void {
    // It did not go out, which says nothing of the try before it.
    this.#end(this.#tracking.isReserved ? 'unknown' : 0);
    this.#permit.release();
  }

  #end(credits: number | 'unknown'): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#tracking.ended(credits === 'unknown' ? 'lost' : 'known');
  }
}
