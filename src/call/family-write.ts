import { CallsheetError } from '../sdk/index.ts';
import type { OperationRecord } from '../store/index.ts';
import type { CallRun } from './env.ts';
import type { Question } from './question.ts';
import type { SentIn } from './relatives.ts';

/** A write that was free when it was looked at and is not any more: another run of the family was first. */
export class Overtaken extends Error {}

/**
 * A write as it may go out now. One that another run of the family has begun under an idempotency key is the same operation
 * here, where it goes out by itself (`sentAlone`). Throws WRITE_ALREADY_DONE where another run has sent it, or may have; a
 * refresh by name and `--resend` send it.
 */
export async function unsentInFamily(
  run: CallRun,
  question: Question,
  { before, sentAlone }: { readonly before: OperationRecord | undefined; readonly sentAlone: boolean },
): Promise<Question> {
  const { relatives } = run;
  if (relatives === undefined || run.resend === true || question.refreshed) return question;
  const { tool, scope, callId } = question;
  const known = await relatives.known({ place: scope.place, callId });
  const sent = relatives.sender(known, { keyed: tool.sendsIdempotencyKey && !sentAlone, before });
  if (sent !== undefined) {
    if (before !== undefined && relatives.isPaidUnder(known, before.operationKey)) run.tries.billOf(callId)?.charge(0);
    throw sentBy(run, question, sent);
  }
  const begunBy = sentAlone && before === undefined ? relatives.keyOf(known) : undefined;
  const operationKey = question.operationKey ?? begunBy;
  const { root, standing } = known;
  return { ...question, known: { root, standing }, ...(operationKey === undefined ? {} : { operationKey }) };
}

/** A keyed write that another run has the answer of: what an earlier try of this run may have been charged is that very charge. */
export async function answeredInFamily(
  run: CallRun,
  { tool, scope, callId }: Question,
  before: OperationRecord | undefined,
): Promise<void> {
  const { relatives, tries } = run;
  if (relatives === undefined || before === undefined || !tool.sendsIdempotencyKey || tries.isEmpty) return;
  const known = await relatives.known({ place: scope.place, callId });
  if (relatives.isPaidUnder(known, before.operationKey)) tries.billOf(callId)?.charge(0);
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
