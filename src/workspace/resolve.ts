import { type DoubtJson, operationsInDoubt } from '../report/index.ts';
import { CallsheetError, type JsonValue } from '../sdk/index.ts';
import { type RunRecord, StoreConflict, typedCall } from '../store/index.ts';
import type { Workspace } from './open.ts';
import { reportSource } from './report-source.ts';

export interface Resolution {
  /** A call's id, or the beginning of it. */
  readonly call: string;
  readonly as: 'done' | 'notDone';
  /** What the call answers with, where it was done. */
  readonly data: JsonValue;
}

/**
 * Says what became of an operation in doubt; the next attempt goes by it. Throws OPERATION_NOT_FOUND, also where several
 * fit, and USAGE for data that a strict tool could not answer with.
 */
export async function resolveOperation(
  workspace: Workspace,
  run: RunRecord,
  resolution: Resolution,
): Promise<DoubtJson> {
  const { committer, clock } = workspace;
  const { as, data } = resolution;
  const doubts = await operationsInDoubt(reportSource(workspace), run);
  const typed = typedCall(resolution.call);
  const fitting = doubts.filter((doubt) => typedCall(doubt.call).startsWith(typed));
  const [doubt] = fitting;
  if (doubt === undefined || fitting.length > 1 || typed === '')
    throw notFound(run, resolution.call, { doubts, fitting });
  if (as === 'done') await checkData(workspace, doubt, data);
  const callId = typedCall(doubt.call);
  const at = clock.now();
  const message = `Call '${doubt.label}' of ${doubt.tool} was said to be ${as === 'done' ? 'done' : 'not done'}.`;
  const event = { at, type: 'call.resolved', level: 'info', datasetNo: null, ordinal: null, message } as const;
  try {
    await committer.commit([
      { kind: 'resolve', runId: run.id, callId, as, answer: as === 'done' ? JSON.stringify(data) : null, at },
      { kind: 'event', runNo: run.no, event: { ...event, data: JSON.stringify({ callId, as }) } },
    ]);
  } catch (error) {
    // Somebody else has resolved it in this very moment.
    if (error instanceof StoreConflict) throw notFound(run, resolution.call, { doubts: [], fitting: [] });
    throw error;
  }
  return doubt;
}

async function checkData({ catalogue }: Workspace, { tool: id }: DoubtJson, data: JsonValue): Promise<void> {
  if (data === null || !catalogue.has(id)) return;
  const tool = catalogue.get(id);
  const verdict = tool.definition.strict === true ? await tool.validateOutput(data) : undefined;
  if (verdict === undefined || verdict.ok) return;
  const told = verdict.issues.map(({ path, message }) => `${path === '' ? 'the data' : path}: ${message}`).join('; ');
  throw new CallsheetError('USAGE', `--data does not fit the output of tool ${id}. ${told}.`, {
    details: { tool: id, issues: verdict.issues },
    next: [`callsheet tools describe ${id}`],
  });
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
