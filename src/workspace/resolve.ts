import { Relatives } from '../call/index.ts';
import { type DoubtJson, doubtsOf } from '../report/index.ts';
import { CallsheetError, type JsonValue } from '../sdk/index.ts';
import { type RunRecord, StoreConflict, typedCall } from '../store/index.ts';
import type { Workspace } from './open.ts';
import { reportSource } from './report-source.ts';

export interface Resolution {
  /** A call's id, or the beginning of it. */
  readonly call: string;
  readonly as: 'done' | 'notDone';
  /** What the call answers with, where it was done; undefined where nobody said. */
  readonly data?: JsonValue | undefined;
}

/**
 * Says what became of an operation in doubt; the next attempt goes by it. Throws OPERATION_NOT_FOUND, also where several
 * fit, USAGE where it was done and no data says what was answered, or data that a strict tool could not answer with, and WRITE_ALREADY_DONE where another run of its family of reruns has sent it.
 */
export async function resolveOperation(
  workspace: Workspace,
  run: RunRecord,
  resolution: Resolution,
): Promise<DoubtJson> {
  const { committer, clock } = workspace;
  const { as, data } = resolution;
  const { operations: doubts, answeredLate } = await doubtsOf(reportSource(workspace), run);
  const typed = typedCall(resolution.call);
  const late = answeredLate.find(({ call }) => typed !== '' && typedCall(call).startsWith(typed));
  if (late !== undefined) throw answered(run, late);
  const fitting = doubts.filter((doubt) => typedCall(doubt.call).startsWith(typed));
  const [doubt] = fitting;
  if (doubt === undefined || fitting.length > 1 || typed === '')
    throw notFound(run, resolution.call, { doubts, fitting });
  const answer = as === 'done' ? await checkedAnswer(workspace, run, { doubt, data }) : null;
  const callId = typedCall(doubt.call);
  if (as === 'notDone') await refuseIfSentBy(workspace, run, { doubt, callId });
  const at = clock.now();
  const message = `Call '${doubt.label}' of ${doubt.tool} was said to be ${as === 'done' ? 'done' : 'not done'}.`;
  const event = { at, type: 'call.resolved', level: 'info', datasetNo: null, ordinal: null, message } as const;
  try {
    await committer.commit([
      { kind: 'resolve', runId: run.id, callId, as, answer, at },
      { kind: 'event', runNo: run.no, event: { ...event, data: JSON.stringify({ callId, as }) } },
    ]);
  } catch (error) {
    // Somebody else has resolved it in this very moment.
    if (error instanceof StoreConflict) throw notFound(run, resolution.call, { doubts: [], fitting: [] });
    throw error;
  }
  if (as === 'notDone') await workspace.calls.tryLog?.undone(run.id, callId);
  return doubt;
}

/** A doubt is that of a whole family of reruns: what another of them has sent, or may have, is not to be sent by this one. */
async function refuseIfSentBy(
  { store }: Workspace,
  run: RunRecord,
  { doubt, callId }: { readonly doubt: DoubtJson; readonly callId: string },
): Promise<void> {
  const operations = await store.report.operationsOfRun(run.no, Number.MAX_SAFE_INTEGER);
  const operation = operations.find((each) => each.callId === callId);
  if (operation === undefined) return;
  const relatives = await Relatives.open(store, run);
  const known = await relatives.known({ place: operation.place, callId });
  const sent = relatives.sender(known, { keyed: false, before: operation });
  // What a run that it comes from was answered since answers this one, too.
  if (sent === undefined || (sent.isAbove && sent.made)) return;
  const { run: by, made } = sent;
  const told = made ? `has been made since by ${by.id}` : `may have been made since by ${by.id}, where it is in doubt`;
  throw new CallsheetError(
    'WRITE_ALREADY_DONE',
    `Call '${doubt.label}' of ${doubt.tool} ${told}, another run of the rows of ${run.id}: said to be not done, it would be sent again.`,
    {
      details: { runId: run.id, rerun: by.id, call: doubt.call, tool: doubt.tool },
      next: [
        ...(made ? [] : [`callsheet runs errors ${by.id}`]),
        `callsheet runs resolve ${run.id} ${doubt.call} --as done --data '<its answer as JSON>'`,
      ],
    },
  );
}

/** The answer as JSON. A play would take nothing that was said for an answer of null, and go on with it. */
async function checkedAnswer(
  { catalogue }: Workspace,
  run: RunRecord,
  { doubt, data }: { readonly doubt: DoubtJson; readonly data: JsonValue | undefined },
): Promise<string> {
  const { tool: id, label, call } = doubt;
  const resolve = `callsheet runs resolve ${run.id} ${call} --as done --data`;
  if (data === undefined)
    throw new CallsheetError(
      'USAGE',
      `Call '${label}' of ${id} was done, and --data does not say what it answered: the play goes on with that.`,
      {
        details: { runId: run.id, call, tool: id },
        next: [
          `${resolve} '<its answer as JSON>'`,
          `${resolve} null   (the play does without its answer)`,
          `callsheet tools describe ${id}`,
        ],
      },
    );
  const text = JSON.stringify(data);
  if (data === null || !catalogue.has(id)) return text;
  const tool = catalogue.get(id);
  const verdict = tool.definition.strict === true ? await tool.validateOutput(data) : undefined;
  if (verdict === undefined || verdict.ok) return text;
  const told = verdict.issues.map(({ path, message }) => `${path === '' ? 'the data' : path}: ${message}`).join('; ');
  throw new CallsheetError('USAGE', `--data does not fit the output of tool ${id}. ${told}.`, {
    details: { tool: id, issues: verdict.issues },
    next: [`callsheet tools describe ${id}`],
  });
}

function answered(run: RunRecord, late: DoubtJson): CallsheetError {
  return new CallsheetError(
    'OPERATION_NOT_FOUND',
    `Call '${late.label}' of ${late.tool} in the run ${run.id} is not in doubt: its answer came late and is recorded.`,
    { details: { runId: run.id, call: late.call }, next: late.next },
  );
}

function notFound(
  run: RunRecord,
  call: string,
  { doubts, fitting }: { readonly doubts: readonly DoubtJson[]; readonly fitting: readonly DoubtJson[] },
): CallsheetError {
  const shown = (fitting.length > 1 ? fitting : doubts).slice(0, 5).map((doubt) => doubt.call);
  const problem =
    fitting.length > 1 ? 'Several operations in doubt begin with' : 'There is no operation in doubt with the id';
  const others = shown.length === 0 ? ' Nothing of the run is in doubt.' : ` In doubt: ${shown.join(', ')}.`;
  return new CallsheetError('OPERATION_NOT_FOUND', `${problem} '${call}' in the run ${run.id}.${others}`, {
    details: { runId: run.id, call, inDoubt: shown },
    next: [`callsheet runs errors ${run.id}`],
  });
}
