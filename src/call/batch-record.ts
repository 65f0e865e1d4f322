import type { Permit } from '../governor/index.ts';
import type { Digest } from '../scope/index.ts';
import type { RawAnswer } from '../tool/index.ts';
import { BatchAnswer, BatchPart, type KeptBatch, partText } from './batch-answer.ts';
import { type BatchLoad, wholeKey } from './batch-load.ts';
import { MemberFailed } from './batch-member.ts';
import type { Member, MemberEnd } from './batch-seat.ts';
import { ContractBroken, readAnswer } from './contract.ts';
import type { CallRun } from './env.ts';
import { costOfFailed } from './failed-part.ts';
import type { Bill } from './open-tries.ts';
import { type ReceiptWrite, unrecorded } from './record.ts';

interface Answered {
  readonly raw: RawAnswer;
  readonly permit: Permit;
  readonly durationMs: number;
}

/**
 * Makes a batch's answer durable, in one unit: the whole as the provider gave it, and for each member a receipt that points
 * into it. Only then does code of the tool's author run over it, and each member has its ending, with a bill of its own.
 */
export async function keepBatch(run: CallRun, load: BatchLoad, bought: Answered): Promise<void> {
  const { members, of: tool } = load;
  const key = wholeKey(run);
  const kept: KeptBatch = { kind: 'batch', answer: bought.raw, inputs: members.map(({ asked }) => asked.input) };
  const text = JSON.stringify(kept);
  const { whole, parts } = receiptsOf(run, load, { key, text, durationMs: bought.durationMs });
  const began = run.process.clock.monotonic();
  try {
    await run.process.committer.commit([whole, ...parts]);
    run.timed(load.tool.id, 'record', run.process.clock.monotonic() - began);
  } catch (error) {
    const rescued = run.process.rescue.save(
      run.runId,
      whole.receipt,
      parts.map(({ receipt }) => receipt),
    );
    bought.permit.leave();
    const said = `A batch of ${members.length} calls`;
    throw unrecorded(run, { said, tool: load.of, callId: whole.receipt.callId }, { error, kept: rescued });
  }
  const answer = new BatchAnswer(text, kept);
  run.process.lookup.batches.keep(key, answer);
  const bills = members.map(({ asked: { callId }, isAwaited }) =>
    run.tries.part(run.budget, bought.permit, { callId, most: tool.maxCredits, isAwaited }),
  );
  const ends = members.map((member, index) =>
    endOf(load, member, { write: parts[index], part: new BatchPart(answer, index), bill: bills[index] }),
  );
  for (const [index, end] of ends.entries()) settleMember(run, { member: members[index], end, write: parts[index] });
}

/** Where nobody waits for it, whoever asks later finds that it is paid. */
function settleMember(
  run: CallRun,
  of: { readonly member: Member | undefined; readonly end: MemberEnd; readonly write: ReceiptWrite | undefined },
): void {
  const { member, end, write } = of;
  member?.end(end);
  if (end.kind !== 'answered') return;
  const failed = end.read instanceof MemberFailed ? end.read : undefined;
  if (failed !== undefined) end.bill.charge(costOfFailed(failed.failure));
  if (member?.isAwaited !== false || write === undefined) return;
  const { input: _, raw, ...receipt } = write.receipt;
  const stored = { ...receipt, id: write.id ?? 0, raw, rawBytes: Buffer.byteLength(raw) };
  run.journal.paidAhead({ receipt: stored, settled: undefined, owed: failed === undefined ? end.bill : undefined });
}

function receiptsOf(
  run: CallRun,
  { of: tool, tool: batch, effect, members }: BatchLoad,
  { key, text, durationMs }: { readonly key: Digest; readonly text: string; readonly durationMs: number },
): { readonly whole: ReceiptWrite; readonly parts: readonly ReceiptWrite[] } {
  const common = {
    version: tool.version,
    toolDigest: tool.digest,
    account: tool.account.key,
    at: run.process.clock.now(),
    durationMs: Math.round(durationMs),
    runNo: run.runNo,
  };
  const input = JSON.stringify({ members: members.length });
  // It belongs to no call.
  const whole = { ...common, key, callId: key, tool: batch.id, input, raw: text, reusable: false };
  const reusable = effect !== 'write' && tool.reuseScope !== 'never';
  return {
    whole: { kind: 'receipt', id: 0, receipt: whole },
    parts: members.map(({ asked: { receiptKey, callId, inputText } }, index) => {
      const own = { key: receiptKey, callId, tool: tool.id, input: inputText, raw: partText(key, index), reusable };
      return { kind: 'receipt', id: 0, receipt: { ...common, ...own } };
    }),
  };
}

interface Part {
  readonly write: ReceiptWrite | undefined;
  readonly part: BatchPart;
  readonly bill: Bill | undefined;
}

function endOf({ of: tool, refusals }: BatchLoad, { asked }: Member, { write, part, bill }: Part): MemberEnd {
  if (write === undefined || bill === undefined) throw new Error('a member of a batch has no receipt');
  const { id = 0, receipt } = write;
  const { key: receiptKey, raw: rawText, at, durationMs, callId } = receipt;
  const answer = { receiptId: id, receiptKey, rawText, part, at, durationMs, callId };
  try {
    const read = readAnswer(tool, asked.input, part);
    return { kind: 'answered', answer, read, bill, refusals };
  } catch (error) {
    if (error instanceof MemberFailed || error instanceof ContractBroken)
      return { kind: 'answered', answer, read: error, bill, refusals };
    throw error;
  }
}
