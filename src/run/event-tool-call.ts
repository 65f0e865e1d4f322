import type { Question } from '../call/index.ts';
import type { Scope } from '../scope/index.ts';
import type { ArmedWait, EventOptions, Execution, JsonValue } from '../sdk/index.ts';
import type { WaitRecord } from '../store/index.ts';

/** One call of an event tool. */
export interface EventCall {
  readonly scope: Scope;
  readonly question: Question;
  readonly event: EventOptions<JsonValue>;
}

/** What asking brought back. `armed` is null where nothing was sent, or nobody knows. */
export interface Asked {
  readonly armed: JsonValue;
  /** Of the call that asked; undefined where there was none. */
  readonly execution: Execution | undefined;
}

/** The wait as a message and the tool's author see it. */
export function armedWait({ question }: EventCall, { no, event, rowKey, deadline }: WaitRecord): ArmedWait {
  return { id: no, runId: question.scope.runId, event: event ?? '', row: rowKey, deadline };
}

/** Where an event of a call belongs. */
export function placeOf(scope: Scope): { readonly datasetNo: number | null; readonly ordinal: number | null } {
  const { datasetNo, ordinal } = scope.place;
  return scope.inRow ? { datasetNo, ordinal } : { datasetNo: null, ordinal: null };
}
