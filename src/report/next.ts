import type { RunRecord } from '../store/index.ts';
import { ofRun, type ShownStatus } from './run-json.ts';
import type { WaitingJson } from './waiting.ts';

/** What one would type next, by how the run stands. */
export function nextCommands(
  run: RunRecord,
  status: ShownStatus,
  facts: {
    readonly datasets: readonly string[];
    readonly failed: number;
    readonly inDoubt: number;
    readonly waiting: WaitingJson | null;
  },
): string[] {
  const { id } = run;
  if (status === 'running') return [`callsheet runs watch ${id}`, `callsheet runs cancel ${id}`];
  const doubts = facts.inDoubt > 0 ? [`callsheet runs errors ${id}`] : [];
  if (facts.waiting !== null) return [...doubts, ...waitingCommands(run, facts.waiting)];
  if (status === 'queued' && run.wakeAt !== null) return ['callsheet worker', `callsheet runs watch ${id}`];
  if (status === 'interrupted' || status === 'queued') return [...doubts, `callsheet runs resume ${id}`];
  const next: string[] = [];
  if (status === 'failed') next.push(...goOnCommands(run));
  if (facts.failed > 0 || facts.inDoubt > 0) next.push(`callsheet runs errors ${id}`);
  return [...next, ...exportCommands(id, facts.datasets, 'out.csv')];
}

/** What a failed run goes on with. A budget that is used up refuses the next call again until it is another one. */
export function goOnCommands({ id, error }: RunRecord): readonly string[] {
  const plain = `callsheet runs resume ${id}`;
  if (error === null) return [plain];
  const { code, next } = JSON.parse(error) as { readonly code?: string; readonly next?: readonly string[] };
  return code === 'OUT_OF_CREDITS' && next !== undefined && next.length > 0 ? ofRun(next, id) : [plain];
}

const NAMED_DATASETS = 3;

/** What writes each of these datasets. */
export function exportCommands(runId: string, datasets: readonly string[], output: string): string[] {
  return datasets.slice(0, NAMED_DATASETS).map((key) => {
    const which = datasets.length === 1 ? '' : ` --dataset ${shellWord(key)}`;
    return `callsheet runs export ${runId}${which} -o ${shellWord(output)}`;
  });
}

const NAMED_EVENTS = 3;

/** What answers a waiting run, and what goes on with it. */
function waitingCommands({ id }: RunRecord, { events, open }: WaitingJson): string[] {
  const signals = events.slice(0, NAMED_EVENTS).map(({ event, count }) => {
    const row = open.find((wait) => wait.event === event)?.row ?? null;
    const which = count === 1 || row === null ? '' : ` --row ${shellWord(row)}`;
    return `callsheet signal ${id} --event ${shellWord(event)}${which} --data '{…}'`;
  });
  return [...signals, 'callsheet worker', `callsheet runs resume ${id}`];
}

/** A word as a shell takes it. */
export function shellWord(text: string): string {
  return /^[\w./:@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
