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
  /** How many calls its provider had answered when it last failed. */
  answersBefore?: number;
  /** True once the provider has answered others after it failed, and it failed again. */
  isSuspect?: boolean;
}

/** Whether it may have been done under its present key: true where an answer was lost, 'perhaps' where a record cannot tell. */
export type Unsure = boolean | 'perhaps';

/** True where it has failed once more, after its provider had answered others since: the fault may be its own. */
export function hasFailedBefore(so: Tries, ending: Ending, { answers }: { readonly answers: number }): boolean {
  if (ending !== 'ambiguous' && ending !== 'notDispatched') return false;
  if (so.answersBefore !== undefined && answers > so.answersBefore) so.isSuspect = true;
  so.answersBefore = answers;
  return so.isSuspect === true;
}

/** Tries that go on after so many that counted and so many refusals. */
export function triesAfter({ tries, refusals }: { readonly tries: number; readonly refusals: number }): Tries {
  return { sent: tries, counted: tries, refusals, inProgress: 0, reread: false, unsure: false };
}
