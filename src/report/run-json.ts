import type { RunOptions } from '../run/index.ts';
import type { JsonValue } from '../sdk/index.ts';
import type { RunRecord } from '../store/index.ts';
import type { ReportSource } from './reads.ts';

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

/** How a run stands as far as this machine can tell. */
export function statusIn(source: ReportSource, run: RunRecord): ShownStatus {
  return shownStatus(run, source.now(), source.isGone);
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
      error === null
        ? null
        : { code: error.code, message: error.message, details: error.details, next: ofRun(error.next, run.id) },
    replayedFrom: run.replayedFrom,
  };
}

/** What to do next, with the run's id where whoever wrote it down could not know that. */
export function ofRun(next: readonly string[], runId: string): readonly string[] {
  return next.map((step) => step.replaceAll('<run>', runId));
}

export function iso(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

export function optionsOf(run: RunRecord): RunOptions {
  return JSON.parse(run.options) as RunOptions;
}
