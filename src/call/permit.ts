import { LongWait, type Permit } from '../governor/index.ts';
import { Halted, PutOff } from '../scope/index.ts';
import type { CallRun } from './env.ts';
import type { Question } from './question.ts';
import type { Tries } from './tries.ts';

/** How long a row waits in memory; for longer its call is put off, and the row with it (ms). */
export const ROW_WAIT_MS = 30_000;

/** A slot of the provider's limits and the highest cost reserved; synchronous where nothing limits. */
export function permitFor(
  run: CallRun,
  question: Question,
  { so, reserved }: { readonly so: Tries | undefined; readonly reserved: boolean },
): Permit | Promise<Permit> {
  run.assertGoing();
  const { tool } = question;
  const permit = run.process.governor.permit({
    account: tool.account,
    runId: run.runId,
    maxCredits: tool.maxCredits,
    budget: run.budget,
    reserved,
    hasFailed: hasFailed(so),
    stepsAside: so?.stepsAside,
    signal: run.halt,
    rowWaitMs: isParkable(question) ? ROW_WAIT_MS : undefined,
    passesOver: question.scope.passesOver,
    unlimited: tool.isFunction,
    tool: tool.id,
    operation: question.label,
  });
  if (!(permit instanceof Promise)) return permit;
  return permit.then((granted) => stillGoing(run, question, granted), putOff);
}

export function isParkable({ scope }: Question): boolean {
  return scope.inRow;
}

/** True of what has gone out before, in this attempt or an earlier one, without an answer. */
export function hasFailed(so: Tries | undefined): boolean {
  return so !== undefined && so.sent > 0;
}

/** Nothing has gone out: the call begins again when it is worth asking. */
export function putOff(error: unknown): never {
  throw error instanceof LongWait ? new PutOff(error.message, error.until) : error;
}

/** The run may have ended, or its scope come to wait for something, while the call waited for its turn. */
export function stillGoing(run: CallRun, { scope }: Question, permit: Permit): Permit {
  try {
    run.assertGoing();
    if (scope.gate.state !== 'open') throw new Halted('the scope waits, and this call had not begun');
    return permit;
  } catch (error) {
    permit.release();
    throw error;
  }
}
