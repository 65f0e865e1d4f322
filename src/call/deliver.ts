import type { Permit } from '../governor/index.ts';
import { retryDelay } from '../governor/index.ts';
import { sleep } from '../scope/index.ts';
import type { Effect } from '../sdk/index.ts';
import type { OperationRecord } from '../store/index.ts';
import type { Failure, RawAnswer } from '../tool/index.ts';
import type { CallRun } from './env.ts';
import { keepOperation } from './intent.ts';
import { permitFor } from './permit.ts';
import { operationKeyOf, type Question } from './question.ts';
import { isRefusal, retryDecision } from './retry.ts';

export type Bought =
  | {
      readonly answered: true;
      readonly raw: RawAnswer;
      readonly permit: Permit;
      readonly durationMs: number;
      readonly tries: number;
    }
  | {
      readonly answered: false;
      readonly failure: Failure;
      readonly tries: number;
      /** How often the provider has definitely refused it, this time included. */
      readonly refusals: number;
      readonly durationMs: number;
    };

/** How far a call has come that did not end at its first try. */
interface Tries {
  /** Requests that went out, of all attempts. */
  sent: number;
  /** Those that count as tries. */
  counted: number;
  /** Definite refusals: part of the operation key. */
  refusals: number;
  inProgress: number;
  /** True once it went out again because its secret has changed. */
  reread: boolean;
}

/** How often a request may be told "still at work" before it counts as lost from sight. */
const MAX_IN_PROGRESS = 30;

/**
 * Sends an operation until it is answered or may not be tried again. The permit of an answer is still to be settled.
 *
 * @param before how far an earlier attempt had come with it
 */
export async function deliver(run: CallRun, question: Question, before: OperationRecord | undefined): Promise<Bought> {
  const { tool } = question;
  const { clock, transport } = run.process;
  const began = clock.monotonic();
  // A call that is answered at its first try, as most are, needs none of it.
  let so = before === undefined ? undefined : await wentOn(run, before);
  let isFirst = true;
  for (;;) {
    const asked = permitFor(run, question);
    const permit = asked instanceof Promise ? await asked : asked;
    if (isFirst) run.retries.called();
    isFirst = false;
    const refusals = so === undefined ? 0 : so.refusals;
    if (question.site !== undefined) await intend(run, question, { permit, so });
    const secretChanges = run.rereads.changes;
    const sentAt = clock.monotonic();
    const delivered = await transport.send({
      tool,
      permit,
      input: question.input,
      operationKey: () => operationKeyOf(run, question, refusals),
      timeoutMs: question.timeoutMs,
      signal: run.signal,
    });
    const now = clock.monotonic();
    const durationMs = now - began;
    const latencyMs = now - sentAt;
    if (delivered.ending === 'answered') {
      permit.settle({ ending: 'answered', credits: 'later', latencyMs });
      return { answered: true, raw: delivered.raw, permit, durationMs, tries: so === undefined ? 1 : so.sent + 1 };
    }
    // An ambiguous ending may have been charged; the read that is sent again under its key is charged once.
    permit.settle({ ending: delivered.ending, credits: 0, headers: delivered.headers, latencyMs });
    so ??= { sent: 0, counted: 0, refusals: 0, inProgress: 0, reread: false };
    const failure = await failedTry(run, question, { so, delivered, secretChanges });
    if (failure !== undefined) return { answered: false, failure, tries: so.sent, refusals: so.refusals, durationMs };
    run.assertGoing();
  }
}

/** Goes on counting and waiting where an earlier attempt stopped. */
async function wentOn(run: CallRun, { tries, refusals, waitUntil, at }: OperationRecord): Promise<Tries> {
  const { clock } = run.process;
  // A clock that was put back since makes no wait longer than it was.
  const waitMs = (waitUntil ?? 0) - Math.max(clock.now(), at);
  if (waitMs > 0) await sleep(clock, waitMs, run.halt);
  return { sent: tries, counted: tries, refusals, inProgress: 0, reread: false };
}

/**
 * Makes it durable that a write goes out now. One that carries an idempotency key may go out again, so that its record is
 * made once; it tells a later attempt that the write has another input then.
 */
async function intend(
  run: CallRun,
  question: Question,
  { permit, so }: { readonly permit: Permit; readonly so: Tries | undefined },
): Promise<void> {
  const keyed = question.tool.sendsIdempotencyKey;
  if (keyed && so !== undefined) return;
  const { counted: tries = 0, refusals = 0 } = so ?? {};
  try {
    await keepOperation(run, question, { state: keyed ? 'retrying' : 'intended', tries, refusals, waitUntil: null });
    run.assertGoing();
  } catch (error) {
    permit.release();
    throw error;
  }
}

/** Undefined once it may go out again: what has become of it is durable by then. */
async function failedTry(
  run: CallRun,
  question: Question,
  { so, delivered, secretChanges }: { so: Tries; delivered: Failure; secretChanges: number },
): Promise<Failure | undefined> {
  const { tool, effect } = question;
  const { ending } = delivered;
  const keyed = tool.sendsIdempotencyKey;
  so.sent++;
  if (isRefusal(ending)) so.refusals++;
  // What was cut off by our own end is no failure of the provider's: the next attempt asks again, if it may.
  if (run.signal.aborted && mayRepeat(ending, effect, keyed)) run.assertGoing();
  if (isCredentialRefused(delivered) && !so.reread && run.rereads.changedSince(secretChanges, tool.secrets)) {
    so.reread = true;
    return undefined;
  }
  const decision = retryDecision(ending, { tries: so.counted + 1, maxTries: tool.maxTries, effect, keyed });
  if (!decision.retry || delivered.error !== undefined) return delivered;
  if (!decision.counts && ++so.inProgress > MAX_IN_PROGRESS) return { ...delivered, ending: 'ambiguous' };
  if (decision.counts && !run.retries.take()) return delivered;
  if (decision.counts) so.counted++;
  await pause(run, question, { so, waits: decision.waits });
  return undefined;
}

/** Waits for the next try; until when is durable before. */
async function pause(
  run: CallRun,
  question: Question,
  { so, waits }: { readonly so: Tries; readonly waits: 'gate' | 'backoff' },
): Promise<void> {
  const { clock, chance, governor } = run.process;
  // The gate of the account, which holds the call back in this process, is forgotten with it.
  const delay = waits === 'backoff' ? retryDelay(so.sent, chance) : governor.expectedWaitMs(question.tool.account);
  const waitUntil = Math.ceil(clock.now() + delay);
  await keepOperation(run, question, { state: 'retrying', tries: so.counted, refusals: so.refusals, waitUntil });
  if (waits === 'backoff') await sleep(clock, delay, run.halt);
}

function isCredentialRefused({ ending, status }: Failure): boolean {
  return ending === 'rejected' && (status === 401 || status === 403);
}

function mayRepeat(ending: Failure['ending'], effect: Effect, keyed: boolean): boolean {
  if (ending === 'rejected') return false;
  return ending !== 'ambiguous' || effect !== 'write' || keyed;
}
