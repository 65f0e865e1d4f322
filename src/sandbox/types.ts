import type { Clock } from '../scope/index.ts';
import type { RateLimit } from '../sdk/index.ts';

/** The first part of an endpoint's path. Limits, concurrency and the spelling of a 429 belong to it. */
export type SandboxProvider =
  | 'hunter'
  | 'prospeo'
  | 'dropcontact'
  | 'zerobounce'
  | 'apollo'
  | 'clearbit'
  | 'findymail'
  | 'icypeas'
  | 'messages'
  | 'llm';

/**
 * How a provider says when to come back after a 429.
 * - `retry-after-seconds`, `retry-after-date`: RFC 9110, section 10.2.3
 * - `ratelimit-ietf`: `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-08 and later)
 * - `ratelimit-ietf-legacy`: `RateLimit-Limit`, `-Remaining`, `-Reset` in seconds from now (the draft's first editions)
 * - `x-ratelimit-reset-…`: `X-RateLimit-Reset` as epoch seconds, epoch milliseconds or seconds from now
 * - `none`: a bare 429
 */
export type LimitSpelling =
  | 'retry-after-seconds'
  | 'retry-after-date'
  | 'ratelimit-ietf'
  | 'ratelimit-ietf-legacy'
  | 'x-ratelimit-reset-epoch-s'
  | 'x-ratelimit-reset-epoch-ms'
  | 'x-ratelimit-reset-delta-s'
  | 'none';

export interface ProviderOverride {
  /** Sliding windows that hold at once; an empty list means no rate. */
  readonly rate?: readonly RateLimit[];
  /** Requests in flight at once, by account. */
  readonly concurrency?: number;
  readonly spelling?: LimitSpelling;
}

export type FaultKind =
  | 'delay'
  | 'status'
  | 'reset-before'
  | 'reset-after'
  | 'truncate'
  | 'rubbish'
  | 'huge'
  | 'hang'
  | 'echo-secret';

/** What goes wrong with one request. */
export interface Fault {
  readonly fault: FaultKind;
  /** `delay`: milliseconds. */
  readonly ms?: number;
  /** `status`: the HTTP status to answer with. */
  readonly status?: number;
  /** `status`: seconds until the provider wants to be asked again, said in the provider's own spelling. */
  readonly retryAfter?: number;
  /** `delay`, `status`, `hang`: before the work (default: nothing is done or charged yet) or after it. */
  readonly when?: 'before' | 'after';
}

/** A fault and the requests that it hits; without a condition it hits all. */
export interface FaultRule extends Fault {
  /** `/hunter/v2/email-finder`, or with its method in front. */
  readonly endpoint?: string;
  readonly provider?: SandboxProvider;
  /** 0 to 1; drawn from the seed, the question and how often it was asked, so not from the order of requests. */
  readonly probability?: number;
  /** Only the nth request that matches, counted from 1. */
  readonly nth?: number;
  /** At most so many times. */
  readonly times?: number;
}

export interface SandboxOptions {
  /** 0 (default) takes a free port. */
  readonly port?: number;
  /** Same seed and same input, same answer. Default 1. */
  readonly seed?: number;
  readonly clock?: Clock;
  /** `off` accepts any pace. Default `declared`. */
  readonly limits?: 'declared' | 'off';
  readonly providers?: Readonly<Partial<Record<SandboxProvider, ProviderOverride>>>;
  /** False ignores `Idempotency-Key`, as many providers do. Default true. */
  readonly idempotency?: boolean;
  readonly faults?: readonly FaultRule[];
  /** Milliseconds that every provider request takes before the work is done. Default 0. */
  readonly latencyMs?: number;
  /** Milliseconds from the start of a job to its result. Default 200. */
  readonly jobMs?: number;
  /** A JSONL file that keeps ledger and idempotency memory across a kill. */
  readonly ledgerFile?: string;
}

/** One piece of work that the sandbox did, or one stored answer that it gave again. Refusals are counted, not listed. */
export interface LedgerEntry {
  /** 1, 2, 3 … in the order in which work was done. */
  readonly seq: number;
  /** When the work was done and charged, in milliseconds since the epoch. */
  readonly at: number;
  /** The path, with `:id` where it has a part that varies. */
  readonly endpoint: string;
  readonly method: string;
  readonly provider: SandboxProvider;
  /** A digest of the API key. */
  readonly account: string;
  /** Canonical JSON of the input that matters. */
  readonly question: string;
  /** Questions in a bulk request; 1 elsewhere. */
  readonly members: number;
  readonly credits: number;
  /** The status of the work's answer, whatever a fault made of it on its way. */
  readonly status: number;
  readonly idempotencyKey: string | null;
  /** True for a stored answer given again: no work, no credits. */
  readonly replayed: boolean;
  /** When the request arrived. */
  readonly dispatchedAt: number;
  /** When the answer was handed to the connection; null while it is not, and after a restart. */
  readonly finishedAt: number | null;
}

export interface EndpointTotals {
  /** Work done, without replays. */
  readonly operations: number;
  readonly credits: number;
  readonly replayed: number;
  /** Requests refused or failed before any work, by status (`reset`, `hang` where there was none). */
  readonly refused: Readonly<Record<string, number>>;
}

export interface LedgerTotals extends EndpointTotals {
  /** By `METHOD /path`. */
  readonly byEndpoint: Readonly<Record<string, EndpointTotals>>;
}

/** A running sandbox. */
export interface Sandbox {
  /** `http://127.0.0.1:<port>`. */
  readonly url: string;
  readonly port: number;
  ledger(): readonly LedgerEntry[];
  totals(): LedgerTotals;
  /** Replaces all fault rules. */
  setFaults(rules: readonly FaultRule[]): void;
  /** Ends connections and waits, and closes the ledger file. */
  close(): Promise<void>;
}
