import { sleep } from '../scope/index.ts';
import { NonDeterministicPlayError } from '../sdk/index.ts';
import type { OperationRecord } from '../store/index.ts';
import type { CallRun } from './env.ts';
import type { Question } from './question.ts';

/** How often it is looked at whether a recorded write is asked for again, and how often in vain (ms). */
const LOOK_MS = 10;
const LOOKS = 5;

/**
 * What was written at this very site before with another input. Branches that run at once may ask in another order than
 * last time, so it waits while the scope goes on: the recorded write may be asked for by the next of them.
 */
export async function otherWriteHere(run: CallRun, question: Question): Promise<OperationRecord | undefined> {
  // Code that has changed may ask for anything: what it may send is another question.
  if (run.codeChanged === true) return undefined;
  return await stillUnclaimed(run, question, () => unclaimed(run, question));
}

/** What `look` finds, where it still finds it once the scope has come to rest. */
export async function stillUnclaimed<Write>(
  run: CallRun,
  { scope }: Question,
  look: () => Write | undefined,
): Promise<Write | undefined> {
  if (look() === undefined) return undefined;
  const waiting = run.journal.waitingAt(scope.gate);
  waiting.count++;
  try {
    for (let looks = 0, entries = -1; looks < LOOKS; looks++) {
      if (scope.gate.entries !== entries || scope.gate.inFlight > waiting.count) looks = 0;
      ({ entries } = scope.gate);
      await sleep(run.process.clock, LOOK_MS, run.halt);
      if (look() === undefined) return undefined;
    }
  } finally {
    waiting.count--;
  }
  return look();
}

function unclaimed(run: CallRun, { scope, site, inputDigest, tool }: Question): OperationRecord | undefined {
  if (site === undefined) return undefined;
  // Under a label that varies its place is another one; what is in doubt of the tool is a reason not to send more.
  const before = run.journal.writeAt(scope.place, site) ?? run.journal.unclaimedDoubt(scope.place, tool.id);
  // What somebody says was not done leaves the place free.
  return before?.inputDigest === inputDigest || before?.state === 'notDone' ? undefined : before;
}

/** The run-fatal end of a play that asks for another write than the one that is recorded. */
export function changedWrite(run: CallRun, question: Question): NonDeterministicPlayError {
  const { label, tool, scope, callId } = question;
  const error = new NonDeterministicPlayError(
    `Call '${label}' of ${tool.id}${scope.path === '' ? '' : ` in ${scope.path}`} is a write that an earlier attempt of this run made, or was about to make, with another input. It is not sent a second time.`,
    {
      details: { tool: tool.id, call: label, path: scope.path, callId },
      next: [
        `callsheet runs errors ${run.runId}   (what is in doubt there, and how to say what became of it)`,
        'Take what varies (time, chance, an unrecorded answer) out of the input, or record it: ctx.now, ctx.random, ctx.step.',
        `callsheet runs resume ${run.runId} --code <the mended play>`,
      ],
    },
  );
  run.raiseFatal(error);
  return error;
}
