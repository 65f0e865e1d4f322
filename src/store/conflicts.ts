import { StoreConflict } from './port.ts';
import type { NewSignal, RunStatus, WaitRecord } from './records.ts';

const NAMED_PLACES = 5;

/** The errors of the conditions that every adapter checks, in the same words. */
export function runMissing(id: string): StoreConflict {
  return new StoreConflict('run-missing', `There is no run ${id}.`);
}

export function runNumberMissing(no: number): StoreConflict {
  return new StoreConflict('run-missing', `There is no run of number ${no}.`);
}

export function runStarted(id: string): StoreConflict {
  return new StoreConflict('run-missing', `There is no run ${id} that was never worked on: it has had an attempt.`);
}

export function runFinished(id: string, status: RunStatus): StoreConflict {
  return new StoreConflict('run-finished', `Run ${id} is ${status}: nothing in it waits any more.`);
}

export function waitSettled(no: number, wait: Ending): StoreConflict {
  return new StoreConflict('wait-settled', `wait_${no} ${endText(wait)}.`);
}

/** For a signal that may have been sent twice. */
export function eventSettled({ event, rowKey }: NewSignal, wait: Ending): StoreConflict {
  const where = rowKey === null ? '' : ` of row ${rowKey}`;
  return new StoreConflict('wait-settled', `The wait for the event "${event}"${where} ${endText(wait)}.`);
}

/** For another one where a kept one has not been taken yet: both together would answer two questions. */
export function signalKept({ event, rowKey }: NewSignal, keptAt: number): StoreConflict {
  const where = rowKey === null ? '' : ` for row ${rowKey}`;
  const at = new Date(keptAt).toISOString();
  const message = `A signal "${event}"${where} that came at ${at} is kept already, and no wait has taken it yet.`;
  return new StoreConflict('wait-settled', message);
}

export function eventWaitMissing(no: number, runId: string | null): StoreConflict {
  const where = runId === null ? 'here' : `in run ${runId}`;
  return new StoreConflict('wait-missing', `There is no wait_${no} ${where} that a signal could answer.`);
}

type Ending = Pick<WaitRecord, 'state' | 'settledAt'>;

function endText({ state, settledAt }: Ending): string {
  const at = settledAt === null ? 'before' : new Date(settledAt).toISOString();
  return state === 'timedOut' ? `has been over since ${at}: its time was up` : `was answered at ${at}`;
}

export function waitMissing(key: string): StoreConflict {
  return new StoreConflict('wait-settled', `There is no wait of the key ${key} whose time could be over.`);
}

export function signalUnawaited(event: string): StoreConflict {
  return new StoreConflict('signal-unawaited', `No run waits for the event "${event}".`);
}

/** `places` are all that match, or more of them than are named. */
export function signalSeveral(
  event: string,
  places: readonly { readonly runId: string; readonly rowKey: string | null }[],
): StoreConflict {
  const named = places
    .slice(0, NAMED_PLACES)
    .map(({ runId, rowKey }) => (rowKey === null ? `run ${runId}` : `row ${rowKey} of run ${runId}`));
  const more = places.length > NAMED_PLACES ? ', and others' : '';
  return new StoreConflict('signal-several', `Several wait for the event "${event}": ${named.join(', ')}${more}.`);
}

/** As many places as `signalSeveral` can make use of. */
export const SEVERAL_PLACES: number = NAMED_PLACES + 1;

export function operationMissing(runId: string, callId: string): StoreConflict {
  return new StoreConflict('operation-missing', `Run ${runId} has no operation in doubt of the call ${callId}.`);
}
