import { ASIDE_MS, type Health, type PermitOutcome } from '../governor/index.ts';
import type { Ending } from '../sdk/index.ts';
import type { CatalogueTool } from '../tool/index.ts';

/** How far an operation has come that did not end at its first try. */
export interface Tries {
  /** Requests that went out, of all attempts. */
  sent: number;
  /** Those that count as tries. */
  counted: number;
  /** Definite refusals of what nobody can have done before: part of the operation key. */
  refusals: number;
  inProgress: number;
  /** True once it went out again because its secret has changed. */
  reread: boolean;
  unsure: Unsure;
  /** True while the record of it is one of another run. */
  isForeign?: boolean;
  /** When it failed first, in this attempt (monotonic), and how many calls its provider had answered when it last did. */
  failed?: { readonly since: number; readonly answers: number } | undefined;
  /** True once the provider has answered others after it failed, and it failed again. */
  isSuspect?: boolean | undefined;
  /** True where others are to be tried before it is again. */
  stepsAside?: boolean;
}

/** Whether it may have been done under its present key: true where an answer was lost, 'perhaps' where a record cannot tell. */
export type Unsure = boolean | 'perhaps';

/** What a try repeats that has ended so: it is suspect where its provider has answered others since it failed before. */
export function repeated(
  so: Tries,
  ending: Ending,
  { answers, now }: { readonly answers: number; readonly now: number },
): PermitOutcome['repeats'] {
  if (ending !== 'ambiguous' && ending !== 'notDispatched') return undefined;
  const { failed } = so;
  if (failed !== undefined && answers > failed.answers) so.isSuspect = true;
  so.failed = { since: failed?.since ?? now, answers };
  if (so.isSuspect === true) return 'suspect';
  return failed === undefined ? undefined : 'failure';
}

/** For how long a call is tried in an outage, however often that is (ms). */
const OUTAGE_MS = 60_000;

/** So many calls that fail in a row are hardly all at fault themselves. */
const OUTAGE_CALLS = 5;

/**
 * For how long a call has failed whose failures are no sign that it is worth no other try: its provider worked before, and has
 * answered nobody since; undefined of any other.
 */
function failingMs({ failed, isSuspect }: Tries, health: Health, now: number): number | undefined {
  return failed === undefined || isSuspect === true || !health.hasWorked ? undefined : now - failed.since;
}

/** How often a call is tried, and whether others are to be tried before it is again. */
export interface Patience {
  readonly maxTries: number;
  readonly stepsAside: boolean;
}

/** As often as its tool says. */
export function ownTries({ maxTries }: Pick<CatalogueTool, 'maxTries'>): Patience {
  return { maxTries, stepsAside: false };
}

/**
 * In an outage that has just begun there is no end to its tries, unless each may be charged. Whether it is one a run with few calls
 * at a time cannot tell: where nobody was answered since its row began to fail, that steps aside after its last try, once, since
 * it then waits for as long as it is given (`ASIDE_MS`), and others tell.
 */
export function patienceOf(
  tool: Pick<CatalogueTool, 'maxTries' | 'maxCredits' | 'sendsIdempotencyKey'>,
  { so, ...how }: { readonly so: Tries; readonly health: Health; readonly now: number; readonly isParkable: boolean },
): Patience {
  const { maxTries, maxCredits, sendsIdempotencyKey } = tool;
  const costsOnce = sendsIdempotencyKey || maxCredits === 0;
  const ms = failingMs(so, how.health, how.now);
  if (maxTries <= 1 || !costsOnce || ms === undefined) return ownTries(tool);
  const areMany = how.health.failedCalls >= OUTAGE_CALLS;
  if (areMany ? ms >= OUTAGE_MS : ms >= ASIDE_MS || !how.isParkable) return ownTries(tool);
  return { maxTries: Number.POSITIVE_INFINITY, stepsAside: !areMany && so.counted + 1 >= maxTries };
}

/** Tries that go on after so many that counted and so many refusals. */
export function triesAfter({ tries, refusals }: { readonly tries: number; readonly refusals: number }): Tries {
  return { sent: tries, counted: tries, refusals, inProgress: 0, reread: false, unsure: false };
}
