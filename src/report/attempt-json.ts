import { type CallEntry, receiptName } from '../store/index.ts';
import type { Attempt } from './provenance.ts';
import { iso } from './run-json.ts';
import { saidBy } from './said.ts';

/** One attempt at a value: a call, or a leg of a cell that made none. */
export interface AttemptJson {
  readonly leg: string;
  readonly tool: string | null;
  readonly outcome: string;
  readonly source: string | null;
  readonly receiptId: string | null;
  readonly credits: number;
  readonly at: string | null;
  /** `said` has the provider's own words, cut short. */
  readonly error: { readonly code: string; readonly message: string; readonly said: string | null } | null;
}

export function attemptJson({ leg, call, traced, outcome }: Attempt): AttemptJson {
  return {
    leg,
    tool: call?.tool ?? null,
    outcome,
    source: call?.source ?? null,
    receiptId: call?.receiptId == null ? null : receiptName(call.receiptId),
    credits: call?.credits ?? 0,
    at: call === undefined ? null : iso(call.at),
    error: call === undefined ? tracedError(traced) : callError(call),
  };
}

function callError({ error }: CallEntry): AttemptJson['error'] {
  if (error === null) return null;
  const told = JSON.parse(error) as { code: string; message: string; details?: unknown };
  return { code: told.code, message: told.message, said: saidBy(told) };
}

function tracedError(traced: Attempt['traced']): AttemptJson['error'] {
  const error = traced?.error;
  return error == null ? null : { code: error.code, message: error.message, said: null };
}
