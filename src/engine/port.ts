import type { EventHub } from '../observe/index.ts';
import type { AttemptView, Outcome } from '../run/index.ts';

/** A run that this process works on. */
export interface RunInProgress {
  readonly runId: string;
  readonly outcome: Promise<Outcome>;
  readonly hub: EventHub;
  /** What can be seen of the attempt; undefined before the play is loaded. */
  view(): AttemptView | undefined;
  /** Stops admitting, lets calls in flight end. A second time: ends those, too. */
  interrupt(): void;
}

/** Who works on what, and when. It owns leases and due work; the truth is in the store. */
export interface Engine {
  /** Works on a run in this process. Rejects with RUN_HELD where somebody else does. */
  start(runId: string): Promise<RunInProgress>;
  /** Asks whoever works on the run to stop, or ends it where nobody does. */
  cancel(runId: string): Promise<'asked' | 'cancelled'>;
}
