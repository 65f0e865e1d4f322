import { resolve } from 'node:path';
import { exportCommands, exportDataset, type RunReport, runReport, type ShownStatus } from '../report/index.ts';
import { CallsheetError, ERROR_CODES } from '../sdk/index.ts';
import {
  existingRun,
  type Outcome,
  type RunRecord,
  reportSource,
  sourceAfterWork,
  type Workspace,
} from '../workspace/index.ts';
import { aboutRun } from './about-run.ts';
import { type Attended, attend } from './attend.ts';
import { errorJson, failureLines, failureOf } from './failure.ts';
import { type SandboxTotals, type SummaryFacts, summaryLines } from './summary.ts';
import { counted } from './table.ts';
import type { Terminal } from './terminal.ts';

export interface OutputFlags {
  readonly output?: string;
  readonly dataset?: string;
  readonly excel?: boolean;
}

const WAITS = 5;
const SOME_ROWS_FAILED = 6;

/** Works on a run until its attempt ends, writes its output and tells how it stands; resolves to the exit code. */
export async function workOn(
  terminal: Terminal,
  workspace: Workspace,
  order: { readonly run: RunRecord; readonly output: OutputFlags; readonly progress: boolean },
): Promise<number> {
  const before = totalsOf(workspace);
  const attended = await attend(terminal, workspace, order).catch((error: unknown) => {
    throw aboutRun(error, order.run.id);
  });
  const after = totalsOf(workspace);
  const sandbox = before === undefined || after === undefined ? undefined : { before, after };
  return finishRun(terminal, workspace, { runId: order.run.id, output: order.output, attended, sandbox });
}

function totalsOf(workspace: Workspace): SandboxTotals | undefined {
  return workspace.sandbox?.totals();
}

/** Tells how a run stands after its attempt, or after an earlier one. */
export async function finishRun(
  terminal: Terminal,
  workspace: Workspace,
  ended: {
    readonly runId: string;
    readonly output: OutputFlags;
    readonly attended?: Attended;
    readonly sandbox?: SummaryFacts['sandbox'];
  },
): Promise<number> {
  const run = await existingRun(workspace, ended.runId);
  const source = ended.attended === undefined ? reportSource(workspace) : sourceAfterWork(workspace);
  const report = await runReport(source, run, ended.attended?.live);
  const end = ended.attended === undefined ? recordedError(report) : errorOf(ended.attended.outcome, report);
  const lines = summaryLines(report, { took: ended.attended?.took, sandbox: ended.sandbox });
  for (const line of lines) terminal.note(line);
  const { output } = ended;
  const unwritten =
    end === undefined ? await writeOutput(terminal, workspace, { run, report, flags: output }) : undefined;
  const error = end ?? unwritten;
  await tell(terminal, report, { error, isWritten: error === undefined && output.output !== undefined });
  return exitOf(error, report);
}

/** The exit code of a run that ended so. */
export function exitOf(error: CallsheetError | undefined, report: RunReport): number {
  if (error !== undefined) return ERROR_CODES[error.code].exit;
  if (report.run.status !== 'completed') return WAITS;
  return report.datasets.some((dataset) => dataset.failed > 0) ? SOME_ROWS_FAILED : 0;
}

async function tell(
  terminal: Terminal,
  report: RunReport,
  { error, isWritten }: { readonly error: CallsheetError | undefined; readonly isWritten: boolean },
): Promise<void> {
  const failure = error === undefined ? undefined : failureOf(error);
  if (terminal.json) {
    await terminal.document({ ...(failure !== undefined && { error: errorJson(failure) }), ...report });
    return;
  }
  if (failure !== undefined) for (const line of failureLines(failure)) terminal.note(line);
  const told = new Set(failure?.next);
  const next = report.next.filter((step) => !told.has(step) && !(isWritten && step.includes(' runs export ')));
  for (const step of next) terminal.note(`  → ${step}`);
  if (error === undefined && report.result !== null) await terminal.line(JSON.stringify(report.result, null, 2));
}

/** Writes what `-o` asks for; the error where that cannot be done, since the run itself has not failed by it. */
async function writeOutput(
  terminal: Terminal,
  workspace: Workspace,
  { run, report, flags }: { readonly run: RunRecord; readonly report: RunReport; readonly flags: OutputFlags },
): Promise<CallsheetError | undefined> {
  const { output, dataset, excel } = flags;
  if (output === undefined) return undefined;
  if (report.run.status !== 'completed') {
    const [later, now] = [
      `callsheet runs resume ${run.id} -o ${output}`,
      `callsheet runs export ${run.id} -o ${output}`,
    ];
    terminal.note(`  not yet  ${output} is written by: ${later}; or at any time by: ${now}`);
    return undefined;
  }
  try {
    const path = resolve(terminal.cwd, output);
    const written = await exportDataset(reportSource(workspace), run, { path, dataset, excel });
    terminal.note(`  wrote    ${output} (${writtenText(written)})`);
    return undefined;
  } catch (error) {
    if (!(error instanceof CallsheetError)) throw error;
    const { code, message, details } = error;
    const datasets = report.datasets.map(({ key }) => key);
    return new CallsheetError(code, `The run is completed, but ${output} was not written. ${message}`, {
      details,
      next: exportCommands(run.id, datasets, output),
      cause: error,
    });
  }
}

/** What was written, and what was changed for the sake of spreadsheets. */
export function writtenText({ rows, inertCells }: { readonly rows: number; readonly inertCells: number }): string {
  const inert = inertCells === 0 ? '' : `; ${counted(inertCells, 'cell')} made inert`;
  return `${counted(rows, 'row')}${inert}`;
}

/** The outcome as an error; undefined where the run completed, or waits. */
export function errorOf(outcome: Outcome, report: RunReport): CallsheetError | undefined {
  const { id } = report.run;
  if (outcome.kind === 'completed') return undefined;
  // It waits; or somebody else has taken it up since, and it is as they have left it.
  if (outcome.kind === 'suspended') return recordedError(report);
  if (outcome.kind === 'failed') return aboutRun(outcome.error, id);
  if (outcome.kind === 'cancelled')
    return new CallsheetError('RUN_CANCELLED', `The run ${id} was cancelled; what is finished stays.`, {
      details: { runId: id },
      next: report.next,
    });
  return new CallsheetError('RUN_INTERRUPTED', `The run ${id} was interrupted; all that was answered is recorded.`, {
    details: { runId: id },
    next: [`callsheet runs resume ${id}`],
  });
}

const GOING_OR_DONE: readonly ShownStatus[] = ['completed', 'waiting', 'queued', 'running'];

/** How an earlier attempt left the run; undefined where that is no error. */
export function recordedError({ run, next }: RunReport): CallsheetError | undefined {
  if (GOING_OR_DONE.includes(run.status)) return undefined;
  if (run.error !== null && Object.hasOwn(ERROR_CODES, run.error.code)) {
    const { code, message, details } = run.error;
    return new CallsheetError(code as keyof typeof ERROR_CODES, message, {
      details: (details ?? {}) as Record<string, unknown>,
      next: run.error.next,
    });
  }
  const code = run.status === 'cancelled' ? 'RUN_CANCELLED' : 'RUN_INTERRUPTED';
  return new CallsheetError(code, `The run ${run.id} is ${run.status}.`, { details: { runId: run.id }, next });
}
