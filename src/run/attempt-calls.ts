import { Batches, type CallRun, OpenJobs, Rereads, Settlements } from '../call/index.ts';
import { createRetryBudget } from '../governor/index.ts';
import type { CallCounters, Timings } from '../observe/index.ts';
import type { RunRecord } from '../store/index.ts';
import type { AttemptContext, RunDeps } from './attempt-context.ts';
import type { AttemptState } from './attempt-state.ts';
import type { Ending, Lease } from './ending.ts';
import { putOffCall } from './put-off.ts';
import type { Suspension } from './suspension.ts';

export interface CallParts extends Pick<AttemptContext, 'options' | 'emit'> {
  readonly run: RunRecord;
  readonly ending: Ending;
  readonly lease: Lease;
  readonly counters: CallCounters;
  readonly state: AttemptState;
  readonly suspension: Suspension;
  readonly timings: Timings;
}

/** What the calls of one attempt share. */
export function attemptCalls(deps: RunDeps, parts: CallParts): CallRun {
  const { run, ending, lease, options, emit, state, suspension, timings } = parts;
  return {
    process: deps.calls,
    runId: run.id,
    runNo: run.no,
    play: run.play,
    fence: { runNo: run.no, attempt: run.attempt },
    startedAt: run.startedAt ?? deps.clock.now(),
    refresh: options.refresh === 'all' ? 'all' : new Set(options.refresh),
    journal: state.journal,
    source: state.source,
    relatives: state.relatives,
    recorded: state.recorded,
    retriesFailed: options.retryFailed === true,
    codeChanged: options.codeChanged === true,
    resend: options.resend === true,
    batches: new Batches(),
    openJobs: new OpenJobs(),
    tries: state.tries,
    settlements: new Settlements(),
    budget: state.budget.budget,
    retries: createRetryBudget(),
    rereads: new Rereads(deps.calls.rereadSecret),
    signal: ending.kill,
    halt: ending.halt,
    assertGoing: () => {
      ending.assertGoing();
      lease.assertHeld(run.id);
    },
    putOff: (question, until) => putOffCall({ deps, ...state, suspension }, question, until),
    raiseFatal: (error) => ending.fatal(error),
    event: emit,
    timed: (tool, phase, ms) => timings.add(tool, phase, ms),
    ended: endedCalls(parts),
  };
}

/** Counts the calls that end, and tells of a failure that the play can no longer see. */
function endedCalls({ counters, ending, emit }: CallParts): CallRun['ended'] {
  return (call) => {
    counters.add(call);
    if (call.outcome !== 'failed' || !ending.finished || ending.reason !== undefined) return;
    const message = `A call of ${call.tool} that the play did not await failed.`;
    emit({ type: 'play.unawaited', level: 'warn', message });
  };
}
