import { CallsheetError } from '../sdk/index.ts';
import type { CallRun } from './env.ts';
import type { Question } from './question.ts';
import type { SentIn } from './relatives.ts';

/**
 * A write as it may go out now. One that another run of the family has begun under an idempotency key is the same operation
 * here, where it goes out by itself (`sentAlone`). Throws WRITE_ALREADY_DONE where another run has sent it, or may have; a
 * refresh by name and `--resend` send it.
 */
export async function unsentInFamily(run: CallRun, question: Question, sentAlone: boolean): Promise<Question> {
  const { relatives } = run;
  if (relatives === undefined || run.resend === true || question.refreshed) return question;
  const { tool, scope, callId } = question;
  const call = { place: scope.place, callId };
  const keyed = tool.sendsIdempotencyKey;
  const known = await relatives.standing(run.process.clock.monotonic(), call);
  const sent = relatives.sender(known, keyed && !sentAlone) ?? (keyed ? undefined : await relatives.sentSince(call));
  if (sent !== undefined) throw sentBy(run, question, sent);
  if (!sentAlone || question.operationKey !== undefined) return question;
  const begun = known.find(({ operation }) => operation?.state === 'retrying')?.operation;
  return begun == null ? question : { ...question, operationKey: begun.operationKey };
}

function sentBy(run: CallRun, { tool, label, scope, callId }: Question, { run: by, made }: SentIn): CallsheetError {
  const here = `call '${label}'${scope.path === '' ? '' : ` in ${scope.path}`}`;
  const told = made ? `was made by ${by.id}` : `may have been made by ${by.id}, and nobody knows what became of it`;
  return new CallsheetError(
    'WRITE_ALREADY_DONE',
    `The write of ${tool.id} by ${here} ${told}: that is another run of these rows. It is not sent by ${run.runId} as well.`,
    {
      details: { tool: tool.id, call: label, path: scope.path, callId, runId: run.runId, madeBy: by.id },
      next: [
        made
          ? `callsheet runs show ${by.id}   (the run that has made it)`
          : `callsheet runs errors ${by.id}   (what is in doubt there, and how to say what became of it)`,
        `To send it again on purpose: callsheet runs rerun ${run.runId} --failed --resend`,
      ],
    },
  );
}
