import type { OperationRecord } from '../store/index.ts';
import { joined, recalled } from './batch-gather.ts';
import { MemberFailed } from './batch-member.ts';
import type { MemberEnd } from './batch-seat.ts';
import { ContractBroken } from './contract.ts';
import { type Bought, deliverQuestion, failedTry, passesOver, wentOn } from './deliver.ts';
import type { CallRun } from './env.ts';
import { costOfFailed, evictFailed } from './failed-part.ts';
import { type CallFailure, doubtError } from './failure.ts';
import { type Found, NotAnswered } from './found.ts';
import { keepOperation } from './intent.ts';
import { isParkable, stillGoing } from './permit.ts';
import { operationKeyOf, type Question } from './question.ts';
import { type Tries, triesAfter } from './tries.ts';

/**
 * The answer to a question that goes out together with others; what was bought for it alone where there are none and its
 * tool has a request for one. Rejects with `NotAnswered`.
 *
 * @param before how far an earlier attempt had come with it
 */
export async function buyInBatch(
  run: CallRun,
  question: Question,
  before: OperationRecord | undefined,
): Promise<Found | Bought> {
  const began = run.process.clock.monotonic();
  let so = before === undefined ? undefined : await wentOn(run, question.scope, before);
  const sent = sentBefore(run, question, before);
  let end = sent === undefined ? undefined : await recalled(run, question, sent);
  for (;;) {
    end ??= await joined(run, question, so);
    if (end.kind === 'alone') {
      const { so: before, granted } = end;
      return deliverQuestion(run, question, { before, granted: granted && stillGoing(run, question, granted) });
    }
    if (end.kind === 'failed') throw new NotAnswered(end.failure, { ...end, source: 'live' });
    if (!(end.read instanceof MemberFailed)) return foundIn(end);
    so ??= triesAfter({ tries: 0, refusals: 0 });
    so.refusals = Math.max(so.refusals, end.refusals);
    const refused = { failure: end.read.failure, answer: end.answer };
    const failure = await failedMember(run, question, { so, failure: refused.failure }).catch(
      async (error: unknown) => {
        // The run ends before it is asked again: what was charged nothing must not look as if it were not settled.
        if (costOfFailed(refused.failure) === 0) await evictFailed(run, refused.answer);
        throw error;
      },
    );
    if (failure !== undefined) {
      const durationMs = run.process.clock.monotonic() - began;
      const { receiptId } = end.answer;
      throw new NotAnswered(failure, { tries: so.sent, refusals: so.refusals, durationMs, source: 'live', receiptId });
    }
    run.assertGoing();
    await evictFailed(run, end.answer);
    end = undefined;
  }
}

/** The record of a batch that an attempt which died may have sent with this question in it. */
function sentBefore(
  run: CallRun,
  { shared, tool, inputDigest }: Question,
  before: OperationRecord | undefined,
): OperationRecord | undefined {
  if (before?.batch != null) return before.state === 'retrying' ? before : undefined;
  // Another row may have asked it there; it must be the same request to the provider.
  return shared ? run.journal.takeSent(tool.id, inputDigest) : undefined;
}

function foundIn({ answer, read, bill }: MemberEnd & { kind: 'answered' }): Found {
  const found = { answer, source: 'live', bill } as const;
  // Whoever finishes the call says what is wrong with it.
  return read instanceof MemberFailed || read instanceof ContractBroken ? found : { ...found, reading: read };
}

/** Undefined once it may be asked again. */
async function failedMember(
  run: CallRun,
  question: Question,
  { so, failure }: { readonly so: Tries; readonly failure: CallFailure },
): Promise<CallFailure | undefined> {
  // It would go out with others, and so under another key: nothing protects it from being done twice.
  if (failure.ending === 'ambiguous' && question.effect === 'write')
    return { ...failure, error: doubtError(question, `${failure.message}.`) };
  const { changes: secretChanges } = run.rereads;
  return failedTry(run, question, {
    carrier: { keep: keepOperation, operationKey: operationKeyOf, passesOver, isParkable },
    so,
    delivered: failure,
    secretChanges,
    // The provider took the batch, so that no gate holds the member back.
    waits: 'backoff',
  });
}
