import type { EventHub } from '../observe/index.ts';
import type { AttemptView, Outcome } from '../run/index.ts';

/** A run that this process works on. */
export interface RunInProgress {
  readonly runId: string;
  readonly outcome: Promise<Outcome>;
  readonly hub: EventHub;
  /** Resolves once the run is this process's and its play is loaded, or has ended before; never where somebody else has it. */
  readonly begun: Promise<void>;
  /** What can be seen of the attempt; undefined before the play is loaded. */
  view(): AttemptView | undefined;
  /** Stops admitting, lets calls in flight end. A second time: ends those, too. */
  interrupt(): void;
}

export interface StartOrder {
  /** The number of the run's last attempt as far as the caller knows; RUN_HELD where there has been another since. */
  readonly after?: number;
  /** A run that is interrupted goes back to whoever works on due runs, instead of being left to who stopped it. */
  readonly handsBack?: boolean;
}

/** Who works on what, and when. It owns leases and due work; the truth is in the store. */
export interface Engine {
  /** Works on a run in this process. Rejects, or its outcome does, with RUN_HELD where somebody else does. */
  start(runId: string, order?: StartOrder): Promise<RunInProgress>;
  /** Asks whoever works on the run to stop, or ends it where nobody does. Throws RUN_NOT_RESUMABLE for a finished one. */
  cancel(runId: string): Promise<'asked' | 'cancelled'>;
}
