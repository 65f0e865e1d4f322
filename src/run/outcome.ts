import { authorPlace } from '../play/index.ts';
import { CallsheetError, type JsonValue } from '../sdk/index.ts';
import type { EndingReason } from './ending.ts';

export type Outcome =
  | { readonly kind: 'completed'; readonly result: JsonValue }
  | { readonly kind: 'failed'; readonly error: CallsheetError }
  /** `lapsed`: nobody wanted it so; the lease ran out by time, and the run may be taken up again at once. */
  | { readonly kind: 'interrupted'; readonly lapsed?: true }
  | { readonly kind: 'cancelled' }
  | Suspended;

/** The attempt waits: until an instant, for events by name, or for either. */
export interface Suspended {
  readonly kind: 'suspended';
  readonly wakeAt: number | null;
  readonly events: readonly { readonly event: string; readonly count: number }[];
  /** The newest signal that the attempt knew of. */
  readonly seenSignal: number;
}

export type Settled =
  | { readonly kind: 'returned'; readonly result: JsonValue }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'pending' };

/**
 * How an attempt ended, from how its function settled and why it was ended. Pure. A reason to end stands over whatever
 * the function returned or threw: a play that catches everything cannot make a run look finished.
 */
export function outcomeOf(settled: Settled, reason: EndingReason | undefined, suspended?: Suspended): Outcome {
  if (reason?.kind === 'fatal') return { kind: 'failed', error: reason.error };
  if (reason?.kind === 'suspended') return suspended ?? { kind: 'interrupted' };
  if (reason?.kind === 'lapsed') return { kind: 'interrupted', lapsed: true };
  if (reason !== undefined) return { kind: reason.kind };
  if (settled.kind === 'returned') return { kind: 'completed', result: settled.result };
  if (settled.kind === 'threw') return { kind: 'failed', error: errorOf(settled.error) };
  return { kind: 'interrupted' };
}

function errorOf(error: unknown): CallsheetError {
  if (error instanceof CallsheetError) return error;
  const told = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const line = placeOf(error);
  return new CallsheetError('PLAY_THREW', `The play threw ${told}${line === undefined ? '' : ` (${line})`}.`, {
    details: line === undefined ? {} : { at: line },
    next: ['Mend the play and run it again: what is recorded is not bought again.'],
    cause: error,
  });
}

/** `file:line:column` of the author's code that threw. */
export function placeOf(error: unknown): string | undefined {
  const place = authorPlace(error);
  return place === undefined ? undefined : `${place.file}:${place.line}:${place.column}`;
}
