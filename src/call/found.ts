import type { AnswerSource } from '../sdk/index.ts';
import type { CallSource } from '../store/index.ts';
import type { Failure } from '../tool/index.ts';
import type { Answer } from './answer.ts';
import type { Reading } from './contract.ts';
import type { Bill } from './open-tries.ts';

/** An answer and how this call came by it. */
export interface Found {
  readonly answer: Answer;
  readonly source: AnswerSource;
  /** Where the answer had to be read on the way here. */
  readonly reading?: Reading;
  /** Takes the real cost off what was reserved, once the record of it is durable; nothing where the answer cost nothing. */
  readonly bill?: Bill;
  /** True where another run has paid for it. */
  readonly isPaidElsewhere?: boolean;
}

/** An operation ended without an answer. */
export class NotAnswered extends Error {
  readonly failure: Failure;
  readonly tries: number;
  readonly durationMs: number;
  readonly source: CallSource;
  /** How often the provider has definitely refused it. */
  readonly refusals: number;
  /** Where the provider answered, but not this question: the receipt that says so. */
  readonly receiptId: number | null;
  constructor(
    failure: Failure,
    facts: { tries: number; refusals: number; durationMs: number; source: CallSource; receiptId?: number },
  ) {
    super(failure.message);
    this.failure = failure;
    this.tries = facts.tries;
    this.durationMs = facts.durationMs;
    this.source = facts.source;
    this.refusals = facts.refusals;
    this.receiptId = facts.receiptId ?? null;
  }
}
