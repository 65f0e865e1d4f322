import type { Health } from '../governor/index.ts';
import type { Ending } from '../sdk/index.ts';

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
  /** When it failed first, in this attempt (monotonic), and how its provider was when it last did. */
  failed?: { readonly since: number; readonly answers: number; readonly hasWorked: boolean };
  /** True once the provider has answered others after it failed, and it failed again. */
  isSuspect?: boolean;
}

/** Whether it may have been done under its present key: true where an answer was lost, 'perhaps' where a record cannot tell. */
export type Unsure = boolean | 'perhaps';

/** True where it has failed once more, after its provider had answered others since: the fault may be its own. */
export function hasFailedBefore(
  so: Tries,
  ending: Ending,
  { answers, hasWorked, now }: Pick<Health, 'answers' | 'hasWorked'> & { readonly now: number },
): boolean {
  if (ending !== 'ambiguous' && ending !== 'notDispatched') return false;
  if (so.failed !== undefined && answers > so.failed.answers) so.isSuspect = true;
  so.failed = { since: so.failed?.since ?? now, answers, hasWorked };
  return so.isSuspect === true;
}

/** For how long a call is tried whose provider worked before and answers nobody now, however often that is (ms). */
const OUTAGE_MS = 60_000;

/** True while its failures are no sign that it is worth no other try: nobody is answered, and was before. */
export function isPatient({ failed, isSuspect }: Tries, now: number): boolean {
  return failed?.hasWorked === true && isSuspect !== true && now - failed.since < OUTAGE_MS;
}

/** Tries that go on after so many that counted and so many refusals. */
export function triesAfter({ tries, refusals }: { readonly tries: number; readonly refusals: number }): Tries {
  return { sent: tries, counted: tries, refusals, inProgress: 0, reread: false, unsure: false };
}
