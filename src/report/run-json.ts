import type { RunOptions } from '../run/index.ts';
import type { JsonValue } from '../sdk/index.ts';
import type { RunRecord } from '../store/index.ts';

/** `interrupted`: begun, not ended, and nobody is working on it. */
export type ShownStatus = RunRecord['status'] | 'interrupted';

/** The `run` object of every `--json` output. */
export interface RunJson {
  readonly id: string;
  readonly play: string;
  readonly artifact: string;
  readonly status: ShownStatus;
  readonly attempt: number;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly details: JsonValue;
    readonly next: readonly string[];
  } | null;
  readonly replayedFrom: string | null;
}

/** `isGone` tells owners that certainly no longer exist: their leases say nothing. */
export function shownStatus(
  run: RunRecord,
  now: number,
  isGone: (owner: string) => boolean = () => false,
): ShownStatus {
  const worked = run.owner !== null && run.leaseUntil !== null && run.leaseUntil > now && !isGone(run.owner);
  return run.status === 'running' && !worked ? 'interrupted' : run.status;
}

export function runJson(run: RunRecord, status: ShownStatus): RunJson {
  const error = run.error === null ? null : (JSON.parse(run.error) as RunJson['error'] & { fatal?: boolean });
  return {
    id: run.id,
    play: run.play,
    artifact: `sha256-${run.artifact.replace(/^sha256-/, '')}`,
    status,
    attempt: run.attempt,
    createdAt: iso(run.createdAt) ?? '',
    startedAt: iso(run.startedAt),
    finishedAt: iso(run.finishedAt),
    error:
      error === null ? null : { code: error.code, message: error.message, details: error.details, next: error.next },
    replayedFrom: run.replayedFrom,
  };
}

export function iso(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

export function optionsOf(run: RunRecord): RunOptions {
  return JSON.parse(run.options) as RunOptions;
}

/** What one would type next, by how the run stands. */
export function nextCommands(
  { id }: RunRecord,
  status: ShownStatus,
  facts: { readonly datasets: number; readonly failed: number },
): string[] {
  if (status === 'running') return [`callsheet runs watch ${id}`, `callsheet runs cancel ${id}`];
  if (status === 'interrupted' || status === 'queued') return [`callsheet runs resume ${id}`];
  const next: string[] = [];
  if (status === 'failed') next.push(`callsheet runs resume ${id}`);
  if (facts.failed > 0) next.push(`callsheet runs errors ${id}`);
  if (facts.datasets > 0) next.push(`callsheet runs export ${id} -o out.csv`);
  return next;
}
