import { roundedCredits } from '../scope/index.ts';
import type { Ending } from '../sdk/index.ts';
import type { ProviderAccount } from '../tool/index.ts';
import type { Budget } from './budget.ts';
import type { ResponseHeaders } from './headers.ts';

export interface PermitRequest {
  readonly account: ProviderAccount;
  readonly runId: string;
  /** The highest possible cost of the operation, in credits. */
  readonly maxCredits: number;
  /**
   * Told when no limit holds it back any more, before its credits are reserved: `maxCredits` may change until then, but not from
   * or to nothing. Perhaps told twice, and not where they are reserved already.
   */
  readonly atTurn?: (() => void) | undefined;
  readonly budget?: Budget | undefined;
  /** The credits are reserved already, by the try before this one, which hands them over once this permit is granted. */
  readonly reserved?: boolean | undefined;
  /** Leaves the queue when it is aborted; the promise rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** For a caller that can park: a known wait beyond it, in milliseconds, and within `providerMaxWait` rejects with LongWait. */
  readonly rowWaitMs?: number | undefined;
  /** Its operation has failed before: where its caller can park, it makes room for others in a long outage. */
  readonly hasFailed?: boolean | undefined;
  /** It has no other try unless others show that it was an outage: where its caller can park, it is put off at once. */
  readonly stepsAside?: boolean | undefined;
  /** Its caller goes on to another provider rather than wait for one that fails. */
  readonly passesOver?: boolean | undefined;
  /** A function tool: no limit applies that isn't declared, or learnt from its own refusals. */
  readonly unlimited?: boolean | undefined;
  /** For the errors: tool id, and the id that the author gave the call. */
  readonly tool: string;
  readonly operation: string;
}

export interface PermitOutcome {
  readonly ending: Ending;
  /** True where it was ended on this side, which says nothing of the provider. */
  readonly isOurs?: boolean | undefined;
  /** Of what has failed before: `suspect` where the provider has answered others since, so that the fault may be its own. */
  readonly repeats?: 'failure' | 'suspect' | undefined;
  /**
   * What the operation cost; 'unknown' where it may have been charged and nobody can tell yet; 'later' where `charge`
   * will say, once the answer is on disk and has been read: slot and windows do not wait for that.
   */
  readonly credits: number | 'unknown' | 'later';
  /** Milliseconds that the provider asked us to wait; goes before `headers`. */
  readonly retryAfterMs?: number | undefined;
  /** Of what is deferred: since the provider has too much to do (503), and not since calls come too fast. */
  readonly isOverload?: boolean | undefined;
  /** Response headers in lower case, read where the ending is `deferred`. */
  readonly headers?: ResponseHeaders | undefined;
  /** From dispatch to the ending. */
  readonly latencyMs: number;
}

/** Leave for one operation to go out. Ends with exactly one `settle` or `release`; any later one is ignored. */
export interface Permit {
  /** Milliseconds that the call waited for it. */
  readonly waitedMs: number;
  /** Those of them in which it was its turn, and the provider's limits held it back. */
  readonly pacedMs: number;
  /** The request goes out now. Call it in the same turn of the event loop as the transport. */
  dispatched(): void;
  settle(outcome: PermitOutcome): void;
  /** The real cost of an operation that was settled with 'later', or that nobody can tell it; once, and only then. */
  charge(credits: number | 'unknown'): void;
  /** As `charge`, where the permit was for several calls: what one of them has cost of its own maximum; once for each. */
  chargePart(maxCredits: number, credits: number | 'unknown'): void;
  /** What was settled with 'later' is not known when its run stops: its credits are given back here. */
  leave(): void;
  /** What was settled with 'later' is the next try's to charge, whose permit was asked for as `reserved`. */
  handOver(): void;
  /** Calls that were to go out with it do not, which might have cost so much: it is given back. */
  giveBack(credits: number): void;
  /** The operation never went out: slot and credits are given back. */
  release(): void;
}

/** What is settled: a permit, or the part of one of its calls. */
export type ChargedPart = Pick<PermitRequest, 'budget' | 'maxCredits'>;

/** The account's side of a permit. */
export interface PermitHolder {
  permitDispatched(permit: GrantedPermit): void;
  permitSettled(permit: GrantedPermit, outcome: PermitOutcome): void;
  permitCharged(of: ChargedPart, credits: number | 'unknown'): void;
  permitReleased(permit: GrantedPermit, outcome: PermitOutcome): void;
}

/**
 * Invariant: granted -> dispatched -> ended, or granted -> ended; never back, and never ended or charged twice.
 */
export class GrantedPermit implements Permit {
  readonly holder: PermitHolder;
  readonly budget: Budget | undefined;
  maxCredits: number;
  /** Its credits come from a try that may have been charged. */
  readonly reserved: boolean;
  readonly waitedMs: number;
  readonly pacedMs: number;
  readonly probe: boolean;
  /** One reserved slot for each window of the account, in their order. */
  readonly slots: readonly number[];
  dispatchedAt = 0;
  /** Its place among the permits of its account. */
  readonly order: number;
  #owing = false;
  state: 'granted' | 'dispatched' | 'ended' = 'granted';

  constructor(
    holder: PermitHolder,
    request: PermitRequest,
    grant: {
      readonly order: number;
      readonly waitedMs: number;
      readonly pacedMs: number;
      readonly probe: boolean;
      readonly slots: readonly number[];
    },
  ) {
    this.holder = holder;
    this.budget = request.budget;
    this.maxCredits = request.maxCredits;
    this.reserved = request.reserved === true;
    this.waitedMs = grant.waitedMs;
    this.pacedMs = grant.pacedMs;
    this.probe = grant.probe;
    this.slots = grant.slots;
    this.order = grant.order;
  }

  dispatched(): void {
    if (this.state !== 'granted') return;
    this.state = 'dispatched';
    this.holder.permitDispatched(this);
  }

  settle(outcome: PermitOutcome): void {
    if (this.state === 'ended') return;
    // What never went out uses nothing up, which matters where a window is a day.
    if (outcome.ending === 'notDispatched' && this.state === 'granted') {
      this.#owing = outcome.credits === 'later';
      this.state = 'ended';
      this.holder.permitReleased(this, outcome);
      return;
    }
    // What has another ending went out: forgetting to say so must not make room in a window.
    this.dispatched();
    this.state = 'ended';
    this.#owing = outcome.credits === 'later';
    this.holder.permitSettled(this, outcome);
  }

  /** True where `charge`, or the next try, is still to say what it cost. */
  get isOwing(): boolean {
    return this.#owing;
  }

  charge(credits: number | 'unknown'): void {
    if (!this.#owing) return;
    this.#owing = false;
    this.holder.permitCharged(this, credits);
  }

  chargePart(maxCredits: number, credits: number | 'unknown'): void {
    this.#owing = false;
    this.holder.permitCharged({ budget: this.budget, maxCredits }, credits);
  }

  leave(): void {
    this.charge(0);
  }

  handOver(): void {
    this.#owing = false;
  }

  giveBack(credits: number): void {
    if (this.state !== 'granted' || credits === 0) return;
    this.maxCredits = roundedCredits(this.maxCredits - credits);
    this.budget?.release(credits);
  }

  release(): void {
    if (this.state === 'ended') return;
    const wasDispatched = this.state === 'dispatched';
    this.state = 'ended';
    if (wasDispatched) this.holder.permitSettled(this, NOT_SENT);
    else this.holder.permitReleased(this, NOT_SENT);
  }
}

const NOT_SENT: PermitOutcome = { ending: 'notDispatched', isOurs: true, credits: 0, latencyMs: 0 };

export const NO_SLOTS: readonly number[] = [];
