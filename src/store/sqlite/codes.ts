import type { CallEntry, CallSource, OperationRecord, RowState, RunStatus, WaitRecord } from '../records.ts';

/** What the small integers in the tables mean. Only ever appended to: databases hold them. */
const RUN_STATUS = ['queued', 'running', 'waiting', 'completed', 'failed', 'cancelled'] as const satisfies RunStatus[];
const OUTCOME = ['completed', 'no_result', 'failed'] as const satisfies CallEntry['outcome'][];
const SOURCE = ['live', 'receipt', 'coalesced', 'source_run', 'journal', 'unsent'] as const satisfies CallSource[];
/** 0 is left free: `rowStates` has it for rows without a record. */
const ROW_STATE = ['none', 'completed', 'failed', 'parked'] as const satisfies ('none' | RowState)[];
const WAIT_STATE = ['open', 'answered', 'timedOut'] as const satisfies WaitRecord['state'][];
const OPERATION_STATE = ['intended', 'retrying', 'done', 'notDone'] as const satisfies OperationRecord['state'][];

/** Both directions of one list. */
export interface Code<Name extends string> {
  readonly number: (name: Name) => number;
  readonly name: (number: number) => Name;
}

export const runStatus: Code<RunStatus> = code(RUN_STATUS);
export const outcome: Code<CallEntry['outcome']> = code(OUTCOME);
export const source: Code<CallSource> = code(SOURCE);
export const rowState: Code<RowState> = code(ROW_STATE as unknown as readonly RowState[]);
export const waitState: Code<WaitRecord['state']> = code(WAIT_STATE);
export const operationState: Code<OperationRecord['state']> = code(OPERATION_STATE);

function code<Name extends string>(names: readonly Name[]): Code<Name> {
  return {
    number: (name) => names.indexOf(name),
    name(number) {
      const name = names[number];
      if (name === undefined)
        throw new RangeError(`The store holds the unknown code ${number} beside ${names.join(', ')}.`);
      return name;
    },
  };
}
