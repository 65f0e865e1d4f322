import type { AnswerSource, Execution, ExtractedList, ExtractedValue, JsonValue, ToolResult } from '../sdk/index.ts';
import { receiptName } from '../store/index.ts';
import { answerText, type CatalogueTool, type RawAnswer } from '../tool/index.ts';
import type { BatchPart } from './batch-answer.ts';
import type { Reading } from './contract.ts';

interface ResultParts<Raw = RawAnswer> {
  readonly tool: CatalogueTool;
  readonly reading: Reading;
  readonly raw: Raw;
  readonly facts: ExecutionFacts;
}

/** Where an answer came from, as it is kept. */
interface ExecutionFacts {
  readonly source: AnswerSource;
  readonly receiptId: number | null;
  readonly receiptKey: string;
  readonly callId: string;
  readonly credits: number;
  readonly durationMs: number;
  readonly provider: string;
  readonly at: number;
}

const NO_HEAD = { status: null, headers: {} } as const;

/** The author's view of an answer. The forms of the hosted product are built when they are read. */
export class CallResult implements ToolResult {
  readonly #parts: ResultParts;
  #execution: Execution | undefined;

  constructor(parts: ResultParts<RawAnswer | BatchPart>) {
    // A result must not hold what the provider said to others: of a batch, its own data are what it was answered.
    const own = parts.raw.kind === 'part' ? { ...parts, raw: { kind: 'value', value: parts.reading.data } } : parts;
    this.#parts = own as ResultParts;
  }

  get status(): 'completed' | 'no_result' {
    return this.#parts.reading.status === 'completed' ? 'completed' : 'no_result';
  }
  get data(): unknown {
    return this.#parts.reading.data;
  }
  get values(): Readonly<Record<string, JsonValue>> {
    return this.#parts.reading.values;
  }
  get execution(): Execution {
    this.#execution ??= executionOf(this.#parts.facts);
    return this.#execution;
  }

  get toolResponse(): ToolResult['toolResponse'] {
    const { reading, raw } = this.#parts;
    const body = raw.kind === 'value' ? raw.value : bodyOf(raw);
    const { status, headers } = raw.kind === 'http' ? raw : (reading.batch ?? NO_HEAD);
    return {
      raw: body,
      rawV2: { data: body, status, headers },
      meta: reading.meta ?? null,
      view: reading.data,
    };
  }

  get extractedValues(): Readonly<Record<string, ExtractedValue>> {
    return this.#accessors((value) => ({ get: () => value }));
  }

  get extractedLists(): Readonly<Record<string, ExtractedList>> {
    return this.#accessors((value) => ({ get: () => listOf(value) }));
  }

  // Plays ask `if (result.job_id)`, so the property must be absent in effect where there is no job.
  get job_id(): string {
    return this.#parts.reading.jobId as string;
  }
  get meta(): JsonValue {
    return this.#parts.reading.meta as JsonValue;
  }

  get _metadata(): ToolResult['_metadata'] {
    const { tool, facts } = this.#parts;
    return {
      tool: tool.id,
      provider: tool.provider,
      status: this.status,
      source: facts.source,
      credits: facts.credits,
    };
  }

  toJSON(): { status: string; data: unknown; values: unknown; execution: Execution } {
    return { status: this.status, data: this.data, values: this.values, execution: this.execution };
  }

  #accessors<Accessor>(make: (value: JsonValue) => Accessor): Readonly<Record<string, Accessor>> {
    const { values } = this.#parts.reading;
    return Object.fromEntries(Object.keys(values).map((name) => [name, make(values[name] ?? null)]));
  }
}

function bodyOf(raw: RawAnswer & { kind: 'http' }): JsonValue {
  try {
    return JSON.parse(answerText(raw)) as JsonValue;
  } catch {
    return answerText(raw);
  }
}

function listOf(value: JsonValue): readonly JsonValue[] {
  if (Array.isArray(value)) return value;
  return value === null ? [] : [value];
}

/** The facts of where an answer came from, as the author sees them. */
function executionOf(facts: ExecutionFacts): Execution {
  return {
    ...facts,
    receiptId: facts.receiptId === null ? null : receiptName(facts.receiptId),
    at: new Date(facts.at).toISOString(),
  };
}
