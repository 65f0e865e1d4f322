import type { Place } from '../scope/index.ts';
import { CallsheetError } from '../sdk/index.ts';
import type { OperationRecord } from '../store/index.ts';
import type { CallRun } from './env.ts';
import type { MadeWrite } from './journal.ts';
import type { Question } from './question.ts';
import { stillUnclaimed } from './same-write.ts';

/**
 * Why a write may not go out: the run, or one it comes from, has made it in another place, or in another form in the same
 * place, and whether code that has changed, or an answer that was asked for anew, means another one by it cannot be told. Its row fails, and no other does; `--resend` and a refresh by name send it.
 */
export async function madeAlready(run: CallRun, question: Question): Promise<CallsheetError | undefined> {
  if (run.resend === true || question.refreshed) return undefined;
  const { recorded } = run;
  const moved = recorded && (await stillUnclaimed(run, question, () => recorded.movedFrom(question)));
  if (moved !== undefined)
    return refused(question, `${placeOf(question, moved)}${where(moved)} with the same input`, moved);
  if (run.source === undefined && run.codeChanged !== true) return undefined;
  const other = await stillUnclaimed(run, question, () => madeOtherwise(run, question));
  return other === undefined ? undefined : madeOther(question, other);
}

/** The answer of a write does not serve, and sending it again would make it twice. */
export function madeBefore(question: Question): CallsheetError {
  return refused(question, 'this very place, by another version or account of the tool', question);
}

/** Another write was made, or may have been, where this one is asked for. */
export function madeOther(question: Question, other: OperationRecord): CallsheetError {
  return refused(question, 'this very place with another input', other);
}

function madeOtherwise(run: CallRun, question: Question): OperationRecord | undefined {
  const { scope, site, tool, inputDigest } = question;
  if (site === undefined) return undefined;
  const keyed = tool.sendsIdempotencyKey;
  const own = run.codeChanged === true ? run.journal.madeAt(scope.place, site, keyed) : undefined;
  const before = own ?? run.source?.madeAt(scope.place, site, keyed);
  return before === undefined || before.inputDigest === inputDigest ? undefined : before;
}

/** Which rows a write was made for that were not those of the question. */
function placeOf({ scope }: Question, { place }: { readonly place: Place | null }): string {
  if (place === null) return 'a run above this one, by ';
  const { datasetNo, ordinal } = place;
  if (datasetNo === scope.place.datasetNo) return '';
  return datasetNo === 0 ? 'outside rows, by ' : `row ${ordinal + 1} of dataset ${datasetNo}, by `;
}

function where({ path, label }: Pick<MadeWrite, 'path' | 'label'>): string {
  return path === '' ? `call '${label}'` : `call '${label}' in ${path}`;
}

function refused(
  { tool, label, scope, callId }: Question,
  before: string,
  made: Pick<MadeWrite, 'callId'>,
): CallsheetError {
  const here = where({ path: scope.path, label });
  return new CallsheetError(
    'WRITE_ALREADY_DONE',
    `The write of ${tool.id} by ${here} was made before, or may have been: from ${before}. It is not sent again.`,
    {
      details: { tool: tool.id, call: label, path: scope.path, callId, madeAs: made.callId },
      next: [
        'Keep the dataset, the column and the label of a write when its code changes, so that what was sent is known again.',
        `To send it again on purpose: add --resend, or --refresh=${tool.id} to a rerun.`,
      ],
    },
  );
}
