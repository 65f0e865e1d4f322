import type { Permit } from '../governor/index.ts';
import { Halted } from '../scope/index.ts';
import type { CallRun } from './env.ts';
import type { Question } from './question.ts';

/** A slot of the provider's limits and the highest cost reserved; synchronous where nothing limits. */
export function permitFor(run: CallRun, question: Question): Permit | Promise<Permit> {
  run.assertGoing();
  const { tool } = question;
  const permit = run.process.governor.permit({
    account: tool.account,
    runId: run.runId,
    maxCredits: tool.maxCredits,
    budget: run.budget,
    signal: run.halt,
    unlimited: tool.isFunction,
    tool: tool.id,
    operation: question.label,
  });
  return permit instanceof Promise ? permit.then((granted) => stillGoing(run, question, granted)) : permit;
}

/** The run may have ended, or its scope come to wait for something, while the call waited for its turn. */
function stillGoing(run: CallRun, { scope }: Question, permit: Permit): Permit {
  try {
    run.assertGoing();
    if (scope.gate.state !== 'open') throw new Halted('the scope waits, and this call had not begun');
    return permit;
  } catch (error) {
    permit.release();
    throw error;
  }
}
