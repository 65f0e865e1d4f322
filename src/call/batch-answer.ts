import type { Digest } from '../scope/index.ts';
import type { BatchMember, JsonValue } from '../sdk/index.ts';
import { answerView, batchOf, type CatalogueTool, type RawAnswer } from '../tool/index.ts';
import { ContractBroken } from './contract-broken.ts';

/** What a provider answered to a batch, as its receipt keeps it; every member's own receipt points at it. */
export interface KeptBatch {
  readonly kind: 'batch';
  readonly answer: RawAnswer;
  readonly inputs: readonly JsonValue[];
}

/** A member's own receipt: which place in which answer. */
interface KeptPart {
  readonly kind: 'part';
  /** The receipt key of the whole answer. */
  readonly whole: Digest;
  readonly index: number;
}

const PART_BEGINS = '{"kind":"part",';

export function partText(whole: Digest, index: number): string {
  return `${PART_BEGINS}"whole":${JSON.stringify(whole)},"index":${index}}`;
}

/** What a receipt of a batch's member says; undefined for any other. */
export function keptPart(rawText: string): KeptPart | undefined {
  return rawText.startsWith(PART_BEGINS) ? (JSON.parse(rawText) as KeptPart) : undefined;
}

/** What of the whole answer every member shares. */
export interface BatchHead {
  /** Null where a function answered. */
  readonly status: number | null;
  readonly headers: Readonly<Record<string, string>>;
}

/** One member's place in a batch's answer. */
export class BatchPart {
  readonly kind = 'part';
  readonly whole: BatchAnswer;
  readonly index: number;

  constructor(whole: BatchAnswer, index: number) {
    this.whole = whole;
    this.index = index;
  }
}

interface Split {
  readonly tool: CatalogueTool['definition'];
  readonly head: BatchHead;
  readonly members: readonly unknown[] | ContractBroken;
}

/**
 * A batch's answer in memory.
 *
 * Owns: its text, and what the tool of today makes of it.
 *
 * Invariant: it is parsed and split once, however many members are read from it.
 */
export class BatchAnswer {
  readonly #text: string;
  #fresh: KeptBatch | undefined;
  #split: Split | undefined;

  /** @param fresh what the text says, where it has just been written */
  constructor(text: string, fresh?: KeptBatch) {
    this.#text = text;
    this.#fresh = fresh;
  }

  /** Characters of its text. */
  get size(): number {
    return this.#text.length;
  }

  /** What the answer says of one member, unchecked. Throws `ContractBroken` where the tool cannot split it. */
  member(tool: CatalogueTool, index: number): { readonly head: BatchHead; readonly said: unknown } {
    const { head, members } = this.#splitBy(tool);
    if (members instanceof ContractBroken) throw members;
    return { head, said: members[index] };
  }

  #splitBy(tool: CatalogueTool): Split {
    if (this.#split?.tool === tool.definition) return this.#split;
    const kept = this.#fresh ?? (JSON.parse(this.#text) as KeptBatch);
    this.#fresh = undefined;
    const { answer } = kept;
    const head = answer.kind === 'http' ? answer : { status: null, headers: {} };
    this.#split = {
      tool: tool.definition,
      head: { status: head.status, headers: head.headers },
      members: membersOf(tool, kept),
    };
    return this.#split;
  }
}

function membersOf(tool: CatalogueTool, { answer, inputs }: KeptBatch): readonly unknown[] | ContractBroken {
  let members: unknown;
  try {
    members = split(tool, answer, inputs);
  } catch (error) {
    if (error instanceof ContractBroken) return error;
    return new ContractBroken('split', error instanceof Error ? `${error.name}: ${error.message}` : String(error), {
      cause: error,
    });
  }
  if (!Array.isArray(members)) return new ContractBroken('split', `returned ${typeof members} instead of a list`);
  if (members.length === inputs.length) return members;
  return new ContractBroken('split', `returned ${members.length} outcomes for ${inputs.length} inputs`);
}

function split(tool: CatalogueTool, answer: RawAnswer, inputs: readonly JsonValue[]): unknown {
  const batch = batchOf(tool);
  if (batch === undefined) throw new ContractBroken('split', 'the tool has no `batch` any more');
  if (answer.kind === 'value')
    return batch.split === undefined ? plainMembers(answer.value) : run(batch, answer.value, inputs);
  return run(batch, answerView(answer), inputs);
}

function run(batch: NonNullable<ReturnType<typeof batchOf>>, answer: unknown, inputs: readonly JsonValue[]): unknown {
  return (batch.split as ((answer: unknown, inputs: readonly never[]) => unknown) | undefined)?.(
    answer,
    inputs as never[],
  );
}

/** Without `split` a function returns one item for each input. */
function plainMembers(value: JsonValue): unknown {
  if (!Array.isArray(value)) return value;
  return value.map((data): BatchMember => (data === null ? { status: 'no_result' } : { status: 'completed', data }));
}
