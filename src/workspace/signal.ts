import { knownRow, shellWord } from '../report/index.ts';
import { CallsheetError, type JsonValue } from '../sdk/index.ts';
import { type NewSignal, type SignalOutcome, StoreConflict } from '../store/index.ts';
import type { Workspace } from './open.ts';
import { reportSource } from './report-source.ts';

export interface SignalOrder {
  /** Null for whichever run waits for the event. */
  readonly runId: string | null;
  readonly event: string;
  /** Only waits of the row with this key. */
  readonly row: string | null;
  /** Only the wait of this number. */
  readonly wait: number | null;
  readonly all: boolean;
  /** For a wait to come, although an earlier one of that event is over, or no dataset has that row yet. */
  readonly keep?: boolean;
  readonly data: JsonValue;
}

/** More waits than anybody reads in an error. */
const LISTED = 20;
const LOOKED_AT = 1_000;

/**
 * Delivers an event; it is durable when this resolves. Throws RUN_NOT_FOUND, RUN_FINISHED, SIGNAL_AMBIGUOUS (several rows
 * or runs match and not `all`), SIGNAL_UNAWAITED (no run is named and nothing waits), WAIT_SETTLED (answered before),
 * WAIT_NOT_FOUND, ROW_NOT_FOUND (all datasets of the run are read, and none has that row).
 */
export async function sendSignal(workspace: Workspace, order: SignalOrder): Promise<SignalOutcome> {
  const { runId, event, wait, all, keep = false, data } = order;
  const row = await rowOf(workspace, order);
  const at = workspace.clock.now();
  const signal: NewSignal = { runId, event, rowKey: row, waitNo: wait, all, keep, data: JSON.stringify(data), at };
  const write: { kind: 'signal'; signal: NewSignal; outcome?: SignalOutcome } = { kind: 'signal', signal };
  try {
    await workspace.committer.commit([write]);
  } catch (error) {
    throw error instanceof StoreConflict ? await refusal(workspace, order, error) : error;
  }
  if (write.outcome === undefined) throw new Error('the store did not say what became of a signal');
  return write.outcome;
}

/** The row as its waits name it. */
async function rowOf(workspace: Workspace, { runId, event, row, keep }: SignalOrder): Promise<string | null> {
  const run = runId === null || row === null ? undefined : await workspace.store.runs.run(runId);
  if (run === undefined || row === null || keep === true) return row;
  const open = await workspace.store.report.waitsOfRuns({ runNo: run.no, limit: LOOKED_AT });
  if (open.some((wait) => wait.event === event && wait.rowKey === row)) return row;
  return knownRow(reportSource(workspace), run, row);
}

async function refusal(workspace: Workspace, order: SignalOrder, conflict: StoreConflict): Promise<Error> {
  const { runId, event, wait } = order;
  const details = { runId, event, row: order.row };
  const { message } = conflict;
  const shown = runId === null ? 'callsheet runs list' : `callsheet runs show ${runId}`;
  switch (conflict.what) {
    case 'run-missing':
      return new CallsheetError('RUN_NOT_FOUND', message, { details, next: ['callsheet runs list'] });
    case 'run-finished':
      return new CallsheetError('RUN_FINISHED', message, {
        details,
        next: [shown],
      });
    case 'wait-settled':
      return new CallsheetError('WAIT_SETTLED', settledMessage(order, message), {
        details: { ...details, wait },
        next: [shown, ...(wait === null ? [keepCommand(order)] : [])],
      });
    case 'wait-missing':
      return new CallsheetError('WAIT_NOT_FOUND', message, { details: { ...details, wait }, next: [shown] });
    case 'signal-several':
      return ambiguous(workspace, order, message);
    case 'signal-unawaited':
      return new CallsheetError('SIGNAL_UNAWAITED', message, {
        details,
        next: [
          'callsheet runs list',
          `callsheet signal last --event ${shellWord(event)} --data '…' (a run that is named keeps it for a wait to come)`,
        ],
      });
    default:
      return conflict;
  }
}

function settledMessage({ wait }: SignalOrder, message: string): string {
  if (wait !== null) return `${message} The first answer stands.`;
  return `${message} Nothing waits for another one now, so this one was not kept.`;
}

const SHORT = 200;

/** The same command, meant for a wait to come. */
function keepCommand({ runId, event, row, all, data }: SignalOrder): string {
  const text = JSON.stringify(data);
  const words = ['callsheet signal', runId ?? 'last', '--event', shellWord(event)];
  if (row !== null) words.push('--row', shellWord(row));
  if (all) words.push('--all');
  return [...words, '--data', text.length > SHORT ? "'…'" : shellWord(text), '--keep'].join(' ');
}

/** Says between what there is to choose, each with what chooses it. */
async function ambiguous(workspace: Workspace, order: SignalOrder, message: string): Promise<CallsheetError> {
  const { runId, event, row } = order;
  const runNo = runId === null ? undefined : (await workspace.store.runs.run(runId))?.no;
  const open = await workspace.store.report.waitsOfRuns({ runNo, limit: LOOKED_AT });
  const waits = open
    .filter((wait) => wait.event === event && (row === null || wait.rowKey === row))
    .slice(0, LISTED)
    .map((wait) => ({ wait: `wait_${wait.no}`, run: wait.runId, row: wait.rowKey }));
  const [first] = waits;
  const to = `--event ${shellWord(event)} --data '…'`;
  return new CallsheetError('SIGNAL_AMBIGUOUS', message, {
    details: { runId, event, row, waits },
    next: [
      ...(first === undefined
        ? []
        : [
            first.row === null
              ? `callsheet signal ${first.run} ${to}`
              : `callsheet signal ${first.run} --row ${shellWord(first.row)} ${to}`,
          ]),
      `callsheet signal ${runId === null ? '' : `${runId} `}--all ${to}`,
    ],
  });
}
