import type { Permit } from '../governor/index.ts';
import type { Digest, Place, Scope } from '../scope/index.ts';
import type { JsonValue } from '../sdk/index.ts';
import type { KnownInFamily, OperationRecord } from '../store/index.ts';
import type { Answer } from './answer.ts';
import type { MemberFailed } from './batch-member.ts';
import type { ContractBroken, Reading } from './contract.ts';
import type { CallFailure } from './failure.ts';
import type { Bill } from './open-tries.ts';
import type { Tries } from './tries.ts';

/** What a batch must know of a question, also of one whose row is not there (again). */
export interface Asked extends Pick<OperationRecord, 'callId' | 'site' | 'path' | 'label' | 'inputDigest'> {
  readonly place: Place;
  readonly input: JsonValue;
  readonly inputText: string;
  readonly receiptKey: Digest;
  /** What it contributes to the operation key. */
  readonly subject: Digest;
  readonly timeoutMs: number;
  /** Undefined where its row is not there. */
  readonly scope: Scope | undefined;
  /** Of a write: how it stood in the family when it was free to go out. */
  readonly known: KnownInFamily | undefined;
}

/** How a batch ended for one of its members. */
export type MemberEnd =
  | {
      readonly kind: 'answered';
      readonly answer: Answer;
      /** How its tool reads it. */
      readonly read: Reading | MemberFailed | ContractBroken;
      readonly bill: Bill;
      /** Definite refusals of the batch before it was answered. */
      readonly refusals: number;
    }
  | {
      readonly kind: 'failed';
      readonly failure: CallFailure;
      readonly tries: number;
      readonly refusals: number;
      readonly durationMs: number;
    }
  /** Nobody joined it: it goes out by the tool's own request. */
  | {
      readonly kind: 'alone';
      readonly so: Tries | undefined;
      /** Where its turn has come already. */
      readonly granted: Permit | undefined;
    };

/** One question of a batch, and the promise of how it ends. */
export class Member {
  readonly asked: Asked;
  readonly ended: Promise<MemberEnd>;
  /** True once a call waits for it. */
  isAwaited: boolean;
  end: (how: MemberEnd) => void = () => {};
  fail: (error: unknown) => void = () => {};

  constructor(asked: Asked) {
    this.asked = asked;
    this.isAwaited = asked.scope !== undefined;
    this.ended = new Promise((resolve, reject) => {
      this.end = resolve;
      this.fail = reject;
    });
    // Where its row is not there, nobody hears of it.
    this.ended.catch(() => {});
  }
}
