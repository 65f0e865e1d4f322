import type { JsonValue } from './json.ts';

export type AnswerSource = 'live' | 'receipt' | 'coalesced' | 'source_run' | 'journal';

export interface Execution {
  /** Where the answer came from when the call first ended; a replay keeps it. */
  readonly source: AnswerSource;
  readonly receiptId: string | null;
  readonly receiptKey: string;
  readonly callId: string;
  /** What this call cost this run; 0 where a stored answer served it. */
  readonly credits: number;
  readonly durationMs: number;
  readonly provider: string;
  /** ISO 8601 instant at which the answer was recorded. */
  readonly at: string;
}

export interface ExtractedValue {
  get(): JsonValue;
}

export interface ExtractedList {
  get(): readonly JsonValue[];
}

/** What `ctx.tools.execute` resolves to. Accessors are lazy: nothing is parsed before it is read. */
export interface ToolResult<Data = unknown> {
  readonly status: 'completed' | 'no_result';
  /** The one place to read a response. */
  readonly data: Data;
  /** What the tool's `extract` found, by name; null where it found nothing. */
  readonly values: Readonly<Record<string, JsonValue>>;
  readonly execution: Execution;
  /** The forms that plays of the hosted product read. */
  readonly toolResponse: {
    readonly raw: JsonValue;
    readonly rawV2: {
      readonly data: JsonValue;
      readonly status: number | null;
      readonly headers: Readonly<Record<string, string>>;
    };
    readonly meta: JsonValue;
    readonly view: Data;
  };
  readonly extractedValues: Readonly<Record<string, ExtractedValue>>;
  readonly extractedLists: Readonly<Record<string, ExtractedList>>;
  readonly job_id?: string;
  readonly meta?: JsonValue;
  readonly _metadata: {
    readonly tool: string;
    readonly provider: string;
    readonly status: 'completed' | 'no_result';
    readonly source: AnswerSource;
    readonly credits: number;
  };
}
