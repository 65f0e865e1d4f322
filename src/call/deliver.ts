import type { Permit } from '../governor/index.ts';
import { retryDelay } from '../governor/index.ts';
import { PutOff, type Scope, sleep } from '../scope/index.ts';
import type { Effect, JsonValue } from '../sdk/index.ts';
import type { OpenTry, OperationRecord } from '../store/index.ts';
import type { CatalogueTool, Failure, RawAnswer } from '../tool/index.ts';
import type { CallRun } from './env.ts';
import { keepIntent, keepOperation, type Progress } from './intent.ts';
import { mayBeCharged, takenOver, UNAVAILABLE } from './lost-try.ts';
import type { LostTry, Outgoing } from './open-tries.ts';
import { isParkable, permitFor, ROW_WAIT_MS } from './permit.ts';
import { operationKeyOf, type Question } from './question.ts';
import { isRefusal, provesUndone, retryDecision } from './retry.ts';
import type { TrackedPermit } from './tracked-permit.ts';
import { ownTries, patienceOf, repeated, type Tries, triesAfter, type Unsure } from './tries.ts';

export type Bought =
  | {
      readonly answered: true;
      readonly raw: RawAnswer;
      readonly permit: Permit;
      readonly durationMs: number;
      readonly tries: number;
      /** How often the provider has definitely refused it. */
      readonly refusals: number;
    }
  | {
      readonly answered: false;
      readonly failure: Failure;
      readonly tries: number;
      /** This time included. */
      readonly refusals: number;
      readonly unsure: Unsure;
      readonly durationMs: number;
    };

/** What goes out as one operation: a question, or several in a batch. */
export interface Cargo {
  readonly tool: CatalogueTool;
  readonly input: JsonValue;
  readonly effect: Effect;
  readonly timeoutMs: number;
}

/** How operations of one kind get their permit, their key and their record. */
export interface Carrier<Of extends Cargo> {
  /** A slot of the provider's limits, with the credits reserved (by the try before it, `reserved`); synchronous where nothing limits. */
  permit(
    run: CallRun,
    cargo: Of,
    how: { readonly so: Tries | undefined; readonly reserved: boolean },
  ): Permit | Promise<Permit>;
  operationKey(run: CallRun, cargo: Of, refusals: number): string;
  /** Makes it durable that the operation goes out now; undefined where a later attempt need not know. */
  announce(run: CallRun, cargo: Of, so: Tries | undefined): Promise<void> | undefined;
  /** True where another call may have had it done under the key that it goes out with. */
  isUnsure(cargo: Of): boolean;
  /** True where it goes out in parts after this, so that what was asked together must not have been done. */
  isPartedBy(cargo: Of, failure: Failure): boolean;
  /** True where another provider is asked instead of one that fails. */
  passesOver(cargo: Of): boolean;
  /** True where its calls can be put off. */
  isParkable(cargo: Of): boolean;
  /** The calls that go out with it and are paid for. */
  paidCalls(cargo: Of): readonly OpenTry[];
  /** Makes durable how far it has come. */
  keep(run: CallRun, cargo: Of, progress: Progress): Promise<void>;
}

/** Said of a call that ends before its own tries do. */
const NO_RETRIES = 'not tried again: the retries of this run are used up';

/** How often a request may be told "still at work" before it counts as lost from sight. */
const MAX_IN_PROGRESS = 30;

/**
 * Sends an operation until it is answered or may not be tried again. The permit of an answer is still to be settled.
 *
 * @param before how far an earlier attempt had come with it
 */
export function deliver(run: CallRun, question: Question, before: OperationRecord | undefined): Promise<Bought> {
  if (before === undefined) return deliverQuestion(run, question, {});
  const isSentAgain = before.state === 'retrying' && question.tool.sendsIdempotencyKey;
  const unsure = isSentAgain && run.tries.isUnsure(before.operationKey);
  return wentOn(run, question.scope, before).then((so) =>
    deliverQuestion(run, question, { before: { ...so, unsure, isForeign: before.isInherited === true } }),
  );
}

export const deliverQuestion = deliveryBy<Question>({
  permit: permitFor,
  operationKey: operationKeyOf,
  announce: (run, question, so) => (question.site === undefined ? undefined : intend(run, question, so)),
  isUnsure: ({ operationKey }) => operationKey !== undefined,
  isPartedBy: () => false,
  passesOver,
  isParkable,
  paidCalls: ({ tool, callId, scope: { place } }) => paidCalls(tool, [{ callId, place }]),
  keep: keepOperation,
});

export function passesOver({ scope }: Question): boolean {
  return scope.passesOver;
}

/** What goes out may be charged, for each of these at the most that the tool may cost. */
export function paidCalls(
  tool: CatalogueTool,
  calls: readonly Pick<OpenTry, 'callId' | 'place'>[],
): readonly OpenTry[] {
  const { id, maxCredits: credits } = tool;
  return credits === 0 ? [] : calls.map(({ callId, place }) => ({ callId, place, tool: id, credits }));
}

/** How far cargo has come before it is delivered. */
interface Departure {
  readonly before?: Tries | undefined;
  /** The permit of its first try, where its turn has come already. */
  readonly granted?: Permit | undefined;
}

/** How cargo of one kind is delivered. */
export function deliveryBy<Of extends Cargo>(
  carrier: Carrier<Of>,
): (run: CallRun, cargo: Of, from: Departure) => Promise<Bought> {
  return async (run, cargo, { before, granted: given }) => {
    const { tool } = cargo;
    const { clock, transport } = run.process;
    const began = clock.monotonic() - (given?.waitedMs ?? 0);
    // An operation that is answered at its first try, as most are, needs none of it.
    let so = before;
    let isFirst = true;
    // Of a try that may have been charged: what is sent again under its key is charged once.
    const outgoing = outgoingOf(run, cargo, { carrier, refusals: () => (so === undefined ? 0 : so.refusals) });
    let lost = takeHeld(run, outgoing, given);
    const isOwing = lost !== undefined;
    const unsure: Unsure = isOwing || carrier.isUnsure(cargo);
    for (;;) {
      const how = { so, reserved: lost !== undefined };
      const next = (): Permit | Promise<Permit> => carrier.permit(run, cargo, how);
      const hold = (held: LostTry): void => run.tries.hold(outgoing, held);
      const asked = lost === undefined ? ((isFirst ? given : undefined) ?? next()) : takenOver(lost, next, hold);
      const granted = asked instanceof Promise ? await asked : asked;
      lost = undefined;
      const tracked = run.tries.track(granted, outgoing, how.reserved);
      const permit = tracked ?? granted;
      if (isFirst) run.retries.called();
      isFirst = false;
      run.timed(tool.id, 'queue', permit.waitedMs - permit.pacedMs);
      run.timed(tool.id, 'pace', permit.pacedMs);
      const refusals = so === undefined ? 0 : so.refusals;
      const announced = onRecord(run, cargo, { carrier, so, permit, tracked });
      if (announced !== undefined) await announced;
      const secretChanges = run.rereads.changes;
      const sentAt = clock.monotonic();
      const delivered = await transport.send({
        tool,
        permit,
        input: cargo.input,
        operationKey: () => tracked?.operationKey ?? carrier.operationKey(run, cargo, refusals),
        timeoutMs: cargo.timeoutMs,
        signal: run.signal,
      });
      const now = clock.monotonic();
      const durationMs = now - began;
      const latencyMs = now - sentAt;
      run.timed(tool.id, 'provider', latencyMs);
      if (delivered.ending === 'answered') {
        permit.settle({ ending: 'answered', credits: 'later', latencyMs });
        const tries = so === undefined ? 1 : so.sent + 1;
        return { answered: true, raw: delivered.raw, permit, durationMs, tries, refusals };
      }
      so ??= { ...triesAfter({ tries: 0, refusals: 0 }), unsure };
      const tried = { carrier, so, delivered, secretChanges, permit, latencyMs, isOwing, reserved: how.reserved };
      const { failure, lost: kept } = await unanswered(run, cargo, tried);
      if (failure !== undefined) return { ...so, answered: false, failure, tries: so.sent, durationMs };
      lost = kept;
    }
  };
}

function outgoingOf<Of extends Cargo>(
  run: CallRun,
  cargo: Of,
  { carrier, refusals }: { readonly carrier: Carrier<Of>; readonly refusals: () => number },
): Outgoing {
  const isKeyed = cargo.tool.sendsIdempotencyKey;
  return {
    calls: () => carrier.paidCalls(cargo),
    operationKey: () => (isKeyed ? carrier.operationKey(run, cargo, refusals()) : undefined),
  };
}

/** Resolves when all is on record that has to be before it goes out; undefined where nothing has. */
function onRecord<Of extends Cargo>(
  run: CallRun,
  cargo: Of,
  {
    permit,
    tracked,
    ...how
  }: {
    readonly carrier: Carrier<Of>;
    readonly so: Tries | undefined;
    readonly permit: Permit;
    readonly tracked: TrackedPermit | undefined;
  },
): Promise<void> | undefined {
  const intended = how.carrier.announce(run, cargo, how.so);
  const announced = tracked === undefined ? intended : tracked.announced(intended);
  if (announced === undefined) return undefined;
  return heldFor(run, permit, {
    announced,
    retract: intended === undefined ? undefined : () => retract(run, cargo, how),
  });
}

/** What it holds of an earlier try; a permit that is granted already was for credits of its own then. */
function takeHeld(run: CallRun, outgoing: Outgoing, granted: Permit | undefined): LostTry | undefined {
  const held = run.tries.takeHeld(outgoing);
  if (held !== undefined) granted?.release();
  return held;
}

/** What becomes of a try without an answer: the failure that ends its operation, or the permit whose credits the next one takes over. */
async function unanswered<Of extends Cargo>(
  run: CallRun,
  cargo: Of,
  { permit, latencyMs, reserved, isOwing, ...tried }: FailedTry<Of> & SentTry & { readonly carrier: Carrier<Of> },
): Promise<{ readonly failure?: Failure | undefined; readonly lost?: LostTry | undefined }> {
  const { ending, headers } = tried.delivered;
  // A try that was refused says nothing of the one before it.
  const isKeyed = cargo.tool.sendsIdempotencyKey;
  const mayCost = reserved ? !tried.carrier.isPartedBy(cargo, tried.delivered) : mayBeCharged(tried.delivered, isKeyed);
  const isOurs = tried.delivered.error !== undefined;
  const { clock, governor } = run.process;
  const { answers } = governor.health(cargo.tool.account);
  const repeats = repeated(tried.so, ending, { answers, now: clock.monotonic() });
  const isOverload = tried.delivered.status === UNAVAILABLE;
  permit.settle({ ending, isOurs, isOverload, repeats, credits: mayCost ? 'later' : 0, headers, latencyMs });
  let lost: Permit | undefined;
  try {
    const failure = await failedTry(run, cargo, tried);
    if (failure !== undefined) return { failure };
    run.assertGoing();
    if (mayCost && isKeyed) lost = permit;
    return { lost };
  } finally {
    // Of what goes out with a key, that key will tell: until then nobody knows.
    if (lost === undefined) permit.charge(isOwing || tried.so.unsure !== false ? 'unknown' : 0);
  }
}

/** A permit is given back where the record of its operation cannot be made, or the run ends meanwhile: then it did not go out. */
async function heldFor(
  run: CallRun,
  permit: Permit,
  { announced, retract }: { readonly announced: Promise<void>; readonly retract: (() => Promise<void>) | undefined },
): Promise<void> {
  try {
    await announced;
    try {
      run.assertGoing();
    } catch (error) {
      // Where that cannot be written any more, it stays in doubt: somebody has to say that it was not done.
      await retract?.().catch(() => {});
      throw error;
    }
  } catch (error) {
    permit.release();
    throw error;
  }
}

/** The operation did not go out: a later attempt sends it. */
function retract<Of extends Cargo>(
  run: CallRun,
  cargo: Of,
  { carrier, so }: { readonly carrier: Carrier<Of>; readonly so: Tries | undefined },
): Promise<void> {
  const { counted: tries = 0, refusals = 0 } = so ?? {};
  return carrier.keep(run, cargo, { state: 'retrying', tries, refusals, waitUntil: null });
}

/** Goes on counting and waiting where an earlier attempt stopped. */
export async function wentOn(
  run: CallRun,
  scope: Scope,
  { tries, refusals, waitUntil, at, operationKey }: OperationRecord,
): Promise<Tries> {
  const { clock } = run.process;
  // A clock that was put back since makes no wait longer than it was.
  const waitMs = (waitUntil ?? 0) - Math.max(clock.now(), at);
  if (waitMs > ROW_WAIT_MS && scope.inRow) throw new PutOff('the provider asked to wait', clock.now() + waitMs);
  if (waitMs > 0) await sleep(clock, waitMs, run.halt);
  return { ...triesAfter({ tries, refusals }), ...run.tries.failedAs(operationKey) };
}

/**
 * Makes it durable that a write goes out now. One that carries an idempotency key may go out again, so that its record is
 * made once; it tells a later attempt that the write has another input then.
 */
function intend(run: CallRun, question: Question, so: Tries | undefined): Promise<void> | undefined {
  const keyed = question.tool.sendsIdempotencyKey;
  if (keyed && so !== undefined && so.isForeign !== true) return undefined;
  if (so !== undefined) so.isForeign = false;
  const { counted: tries = 0, refusals = 0 } = so ?? {};
  return keepIntent(run, question, { state: keyed ? 'retrying' : 'intended', tries, refusals, waitUntil: null });
}

/** Undefined once it may go out again: what has become of it is durable by then. */
export async function failedTry<Of extends Cargo>(
  run: CallRun,
  cargo: Of,
  { carrier, so, delivered, secretChanges, waits }: FailedTry<Of>,
): Promise<Failure | undefined> {
  const { tool, effect } = cargo;
  const { ending } = delivered;
  const keyed = tool.sendsIdempotencyKey;
  so.sent++;
  if (isRefusal(ending)) refused(so, delivered, keyed);
  else if (ending !== 'notDispatched') so.unsure = true;
  // What was cut off by our own end is no failure of the provider's: the next attempt asks again, if it may.
  if (run.signal.aborted && mayRepeat(ending, effect, keyed)) run.assertGoing();
  if (isCredentialRefused(delivered) && !so.reread && run.rereads.changedSince(secretChanges, tool.secrets)) {
    so.reread = true;
    return undefined;
  }
  const health = run.process.governor.health(tool.account);
  const asked = { so, health, now: run.process.clock.monotonic(), isParkable: carrier.isParkable(cargo) };
  const patience = carrier.passesOver(cargo) ? ownTries(tool) : patienceOf(tool, asked);
  const { maxTries } = patience;
  so.stepsAside = patience.stepsAside;
  const decision = retryDecision(ending, { tries: so.counted + 1, maxTries, effect, keyed });
  if (!decision.retry || delivered.error !== undefined) return delivered;
  if (!decision.counts && ++so.inProgress > MAX_IN_PROGRESS) return { ...delivered, ending: 'ambiguous' };
  if (decision.draws && !run.retries.take({ account: tool.account.key, isOut: health.isFailing }))
    return { ...delivered, message: `${delivered.message} (${NO_RETRIES})` };
  if (decision.counts) so.counted++;
  await pause(run, cargo, { carrier, so, waits: waits ?? decision.waits });
  return undefined;
}

/**
 * Only what is certainly not done under its key goes out under another one: after a lost answer no refusal says so, and a 503 that
 * comes after the work is not unheard of.
 */
function refused(so: Tries, delivered: Failure, keyed: boolean): void {
  if (so.unsure === true || (so.unsure === 'perhaps' && !provesUndone(delivered))) return;
  if (keyed && delivered.status === UNAVAILABLE) {
    so.unsure = 'perhaps';
    return;
  }
  so.refusals++;
  so.unsure = false;
}

interface SentTry {
  readonly permit: Permit;
  readonly latencyMs: number;
  /** True where its credits are those of a try before it, which may have been charged. */
  readonly reserved: boolean;
  /** True where an earlier attempt had reserved or lost them. */
  readonly isOwing: boolean;
}

interface FailedTry<Of extends Cargo> {
  readonly carrier: Pick<Carrier<Of>, 'keep' | 'operationKey' | 'passesOver' | 'isParkable'>;
  readonly so: Tries;
  readonly delivered: Failure;
  readonly secretChanges: number;
  /** Default: what its ending asks for. */
  readonly waits?: 'backoff';
}

/** Waits for the next try; until when is durable before. */
async function pause<Of extends Cargo>(
  run: CallRun,
  cargo: Of,
  { carrier, so, waits }: Pick<FailedTry<Of>, 'carrier' | 'so'> & { readonly waits: 'gate' | 'backoff' },
): Promise<void> {
  const { clock, chance, governor } = run.process;
  // The gate of the account, which holds the call back in this process, is forgotten with it.
  const delay = waits === 'backoff' ? retryDelay(so.sent, chance) : governor.expectedWaitMs(cargo.tool.account);
  const waitUntil = Math.ceil(clock.now() + delay);
  run.tries.kept(carrier.operationKey(run, cargo, so.refusals), so);
  await carrier.keep(run, cargo, { state: 'retrying', tries: so.counted, refusals: so.refusals, waitUntil });
  if (waits === 'backoff') await sleep(clock, delay, run.halt);
}

function isCredentialRefused({ ending, status }: Failure): boolean {
  return ending === 'rejected' && (status === 401 || status === 403);
}

function mayRepeat(ending: Failure['ending'], effect: Effect, keyed: boolean): boolean {
  if (ending === 'rejected') return false;
  return ending !== 'ambiguous' || effect !== 'write' || keyed;
}
