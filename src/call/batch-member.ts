import type { BatchMember, JsonValue } from '../sdk/index.ts';
import { ContractBroken } from './contract-broken.ts';
import type { CallFailure } from './failure.ts';

/** The provider answered the batch, but not this member. */
export class MemberFailed extends Error {
  readonly failure: CallFailure;
  constructor(failure: CallFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** What a batch's answer says of a member that it answers. */
export interface MemberReading {
  readonly status: 'completed' | 'no_result';
  readonly data: JsonValue;
  readonly meta: JsonValue | undefined;
}

const ENDINGS: readonly unknown[] = ['rejected', 'deferred', 'ambiguous'];

/** Checks what `split` said of one member, and copies it: members may share objects. Throws `ContractBroken` and `MemberFailed`. */
export function memberReading(said: unknown, index: number): MemberReading {
  const member = (typeof said === 'object' && said !== null ? said : {}) as Partial<BatchMember>;
  if (member.status === 'completed' || member.status === 'no_result') {
    const { status, data, meta } = member;
    return { status, data: copied(data, index) ?? null, meta: copied(meta, index) };
  }
  if (member.status === 'failed') {
    const { message, ending = 'rejected' } = member;
    if (typeof message === 'string' && ENDINGS.includes(ending))
      throw new MemberFailed({ ending, message, isMember: true });
  }
  throw new ContractBroken(
    'split',
    `returned for input ${index} what is none of { status: 'completed' | 'no_result', data? } and { status: 'failed', message, ending? }`,
  );
}

function copied(value: unknown, index: number): JsonValue | undefined {
  try {
    const text = JSON.stringify(value) as string | undefined;
    return text === undefined ? undefined : (JSON.parse(text) as JsonValue);
  } catch (error) {
    throw new ContractBroken('split', `returned for input ${index} what is not JSON: ${String(error)}`, {
      cause: error,
    });
  }
}
