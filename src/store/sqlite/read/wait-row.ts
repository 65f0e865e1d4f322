import type { Place } from '../../../scope/index.ts';
import type { TimeoutPolicy, WaitRecord } from '../../records.ts';
import { waitState } from '../codes.ts';

/** A wait as the table holds it. */
export interface WaitRow {
  readonly no: number;
  readonly place: number;
  readonly run_no: number;
  readonly state: number;
  readonly kind: string;
  readonly policy: string;
  readonly armed_at: number;
  readonly deadline: number | null;
  readonly settled_at: number | null;
  readonly signal_no: number | null;
  readonly key: string;
  readonly input_digest: string;
  readonly event: string | null;
  readonly row_key: string | null;
  readonly label: string;
  readonly path: string;
  readonly payload: string | null;
}

export function waitRecord(row: WaitRow, place: Place): WaitRecord {
  return {
    key: row.key,
    kind: row.kind as WaitRecord['kind'],
    label: row.label,
    path: row.path,
    inputDigest: row.input_digest,
    event: row.event,
    rowKey: row.row_key,
    deadline: row.deadline,
    policy: row.policy as TimeoutPolicy,
    armedAt: row.armed_at,
    no: row.no,
    place,
    state: waitState.name(row.state),
    payload: row.payload,
    signalNo: row.signal_no,
    settledAt: row.settled_at,
  };
}
