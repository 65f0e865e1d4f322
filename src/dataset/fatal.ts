import { fatalForm } from '../scope/index.ts';
import { RunFatalError } from '../sdk/index.ts';
import type { Unit } from '../store/index.ts';
import type { DatasetHost } from './host.ts';

/** The run-fatal form of an error of the store: rows that cannot be written must not be run. */
export function asFatal(error: unknown): RunFatalError {
  return fatalForm(
    error,
    (told) =>
      new RunFatalError('STORE_FAILED', `Rows could not be written: ${told}`, {
        next: ['Mend the database or its disk, then: callsheet runs resume <run>'],
        cause: error,
      }),
  );
}

/** Tells the run that it ends with this error, and throws it. */
export function endRun(host: DatasetHost, error: RunFatalError): never {
  host.raiseFatal(error);
  throw error;
}

/** Commits, or ends the run. */
export async function commitOrEnd(host: DatasetHost, unit: Unit): Promise<void> {
  try {
    await host.committer.commit(unit);
  } catch (error) {
    endRun(host, asFatal(error));
  }
}

/** A promise that never settles: what author's code waits on when the attempt is over without it. */
export function never<T>(): Promise<T> {
  return new Promise<T>(() => {});
}
