import type { Permit } from '../governor/index.ts';
import { retryDelay } from '../governor/index.ts';
import { sleep } from '../scope/index.ts';
import type { Effect } from '../sdk/index.ts';
import type { Failure, RawAnswer } from '../tool/index.ts';
import type { CallRun } from './env.ts';
import { permitFor } from './permit.ts';
import { operationKeyOf, type Question } from './question.ts';
import { retryDecision } from './retry.ts';

export type Bought =
  | {
      readonly answered: true;
      readonly raw: RawAnswer;
      readonly permit: Permit;
      readonly durationMs: number;
      readonly tries: number;
    }
  | { readonly answered: false; readonly failure: Failure; readonly tries: number; readonly durationMs: number };

/** How often a request may be told "still at work" before it counts as lost from sight. */
const MAX_IN_PROGRESS = 30;

/** Sends an operation until it is answered or may not be tried again. The permit of an answer is still to be settled. */
export async function deliver(run: CallRun, question: Question): Promise<Bought> {
  const { tool, effect } = question;
  const { clock, transport, chance } = run.process;
  const began = clock.monotonic();
  let tries = 0;
  let refusals = 0;
  let inProgress = 0;
  for (;;) {
    const asked = permitFor(run, question);
    const permit = asked instanceof Promise ? await asked : asked;
    const refusalNo = refusals;
    if (tries === 0) run.retries.called();
    const sentAt = clock.monotonic();
    permit.dispatched();
    const delivered = await transport.send({
      tool,
      input: question.input,
      operationKey: () => operationKeyOf(run, question, refusalNo),
      timeoutMs: question.timeoutMs,
      signal: run.signal,
    });
    tries++;
    const now = clock.monotonic();
    const durationMs = now - began;
    const latencyMs = now - sentAt;
    if (delivered.ending === 'answered') {
      permit.settle({ ending: 'answered', credits: 'later', latencyMs });
      return { answered: true, raw: delivered.raw, permit, durationMs, tries };
    }
    // An ambiguous ending may have been charged; the read that is sent again under its key is charged once.
    permit.settle({ ending: delivered.ending, credits: 0, headers: delivered.headers, latencyMs });
    const keyed = tool.sendsIdempotencyKey;
    const decision = retryDecision(delivered.ending, {
      tries: tries - inProgress,
      maxTries: tool.maxTries,
      effect,
      keyed,
    });
    // What was cut off by our own end is no failure of the provider's: the next attempt asks again, if it may.
    if (run.signal.aborted && mayRepeat(delivered.ending, effect, keyed)) run.assertGoing();
    if (!decision.retry || delivered.error !== undefined)
      return { answered: false, failure: delivered, tries, durationMs };
    if (!decision.counts && ++inProgress > MAX_IN_PROGRESS)
      return { answered: false, failure: { ...delivered, ending: 'ambiguous' }, tries, durationMs };
    if (decision.counts && !run.retries.take()) return { answered: false, failure: delivered, tries, durationMs };
    if (decision.refused) refusals++;
    if (decision.waits === 'backoff') await sleep(clock, retryDelay(tries, chance), run.halt);
    run.assertGoing();
  }
}

function mayRepeat(ending: Failure['ending'], effect: Effect, keyed: boolean): boolean {
  if (ending === 'rejected') return false;
  return ending !== 'ambiguous' || effect !== 'write' || keyed;
}
