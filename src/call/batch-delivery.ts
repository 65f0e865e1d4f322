import type { Permit } from '../governor/index.ts';
import { Halted, microCredits } from '../scope/index.ts';
import { OutOfCreditsError } from '../sdk/index.ts';
import type { OpenTry, OperationRecord } from '../store/index.ts';
import { batchOf, type CatalogueTool, type Failure } from '../tool/index.ts';
import { BatchLoad } from './batch-load.ts';
import { keepBatch } from './batch-record.ts';
import type { Member } from './batch-seat.ts';
import { deliveryBy, paidCalls } from './deliver.ts';
import type { CallRun } from './env.ts';
import { keepOperations, overtaken, type Progress } from './intent.ts';
import { hasFailed, putOff, ROW_WAIT_MS } from './permit.ts';
import { operationKeyFor } from './question.ts';
import { type Tries, triesAfter } from './tries.ts';

const deliverBatch = deliveryBy<BatchLoad>({
  permit,
  operationKey: (run, load, refusals) => load.key(run, refusals),
  announce,
  isUnsure: () => false,
  isPartedBy: ({ members }, failure) => members.length > 1 && mayBeOnes(failure),
  passesOver: ({ passesOver }) => passesOver,
  isParkable: ({ isParkable }) => isParkable,
  paidCalls: paidMembers,
  keep,
});

function paidMembers({ of, members }: BatchLoad): readonly OpenTry[] {
  return paidCalls(
    of,
    members.map(({ asked }) => asked),
  );
}

/**
 * Sends a batch until each of its members has its ending. Never rejects.
 *
 * Where it is refused for what may be one member's fault, its halves go out instead, each an operation of its own, down to
 * single questions.
 *
 * @param so how often its members were tried before
 * @returns whether it was answered as one
 */
export async function ship(run: CallRun, load: BatchLoad, so: Tries | undefined): Promise<boolean> {
  const before = so === undefined ? undefined : { ...so };
  try {
    const granted = mayFill(run, load, so) ? await permit(run, load, { so, reserved: false }) : undefined;
    const [first, second] = load.members;
    if (first !== undefined && second === undefined && !load.isRecalled && hasOwnRequest(load.of)) {
      first.end({ kind: 'alone', so: before, granted });
      return false;
    }
    const bought = await deliverBatch(run, load, { before, granted });
    if (bought.answered) {
      await keepBatch(run, load, bought);
      return true;
    }
    const { failure, tries, refusals, durationMs } = bought;
    if (load.members.length > 1 && mayBeOnes(failure)) {
      const afresh = triesAfter({ tries: 0, refusals });
      const answered = await Promise.all(halves(load).map((half) => ship(run, half, afresh)));
      if (failure.status === TOO_LONG && !answered.includes(false))
        run.process.batchSizes.learn(load.of, Math.ceil(load.members.length / 2));
    } else for (const member of load.members) member.end({ kind: 'failed', failure, tries, refusals, durationMs });
  } catch (error) {
    for (const member of load.members) member.fail(error);
  }
  return false;
}

/**
 * True where more may join it until its turn comes, so that it asks for that before anything is settled: whether it is one
 * question, what it is charged for. What may have been done, or holds credits of a try before, goes out as it is.
 */
function mayFill(run: CallRun, load: BatchLoad, so: Tries | undefined): boolean {
  if (load.due === undefined) return false;
  if (!load.isBound(so) && !run.tries.holdsAny(() => paidMembers(load))) return true;
  load.due.close();
  return false;
}

function hasOwnRequest(tool: CatalogueTool): boolean {
  const { request, run } = tool.definition as { readonly request?: unknown; readonly run?: unknown };
  return request !== undefined || run !== undefined;
}

const TOO_LONG = 413;
const ONES_STATUSES: readonly unknown[] = [400, TOO_LONG, 422];
const ONES_ERRORS: readonly unknown[] = ['TOOL_THREW', 'TOOL_DEFINITION_INVALID'];

/** True for a refusal that a single member, or their number, may be the cause of. A function that throws has no status. */
function mayBeOnes({ ending, status, error }: Failure): boolean {
  if (ending !== 'rejected') return false;
  return error === undefined
    ? status === undefined || ONES_STATUSES.includes(status)
    : ONES_ERRORS.includes(error.code);
}

function halves(load: BatchLoad): readonly BatchLoad[] {
  const middle = Math.ceil(load.members.length / 2);
  return [load.members.slice(0, middle), load.members.slice(middle)].map((members) => loadOf(load, members));
}

function loadOf({ of: tool, effect }: BatchLoad, members: readonly Member[]): BatchLoad {
  const batch = batchOf(tool);
  if (batch === undefined) throw new Error(`${tool.id} sends no batches`);
  return new BatchLoad({ tool, batch, effect }, members);
}

/**
 * One permit for all, with the credits of all reserved. Where the budget has no room for all of them, as many go out as do
 * fit, and the others ask for a permit of their own: none waits, or is refused, for what its neighbours may cost.
 */
async function permit(
  run: CallRun,
  load: BatchLoad,
  { so, reserved }: { readonly so: Tries | undefined; readonly reserved: boolean },
): Promise<Permit> {
  load.refusals = so?.refusals ?? 0;
  // What was reserved for all of them is for all of them.
  const isBound = load.isBound(so) || reserved;
  const atTurn = (): void => {
    load.due?.close();
    const { limit, settled, unknown, reserved: held } = run.budget.snapshot();
    const room = limit === null ? 0 : roomFor(load.of, limit - settled - unknown - held);
    if (room > 0 && !isBound) shrink(run, load, { room, so });
  };
  for (;;) {
    const [first] = load.members;
    if (first === undefined) throw new Halted('nobody waits for this batch any more');
    try {
      return withoutTheGone(run, await permitOf(run, load, { first, so, reserved, atTurn }), { load, so });
    } catch (error) {
      load.due?.close();
      if (!(error instanceof OutOfCreditsError) || load.members.length === 1 || isBound) throw error;
      // At least one asks, so that the error is that of a single call.
      const fitting = Math.max(1, roomFor(load.of, leftBy(error)));
      shrink(run, load, { room: Math.min(fitting, load.members.length - 1), so });
    }
  }
}

/** The members behind the first so many ask for a permit of their own. */
function shrink(
  run: CallRun,
  load: BatchLoad,
  { room, so }: { readonly room: number; readonly so: Tries | undefined },
): void {
  if (room >= load.members.length) return;
  const rest = loadOf(load, load.members.slice(room));
  load.members = load.members.slice(0, room);
  // Who comes first asks first.
  queueMicrotask(() => void ship(run, rest, so));
}

/** What a budget that refused has, once nothing else is under way. */
function leftBy({ details }: OutOfCreditsError): number {
  const { limit, settled = 0, unknown = 0 } = details as Partial<Record<'limit' | 'settled' | 'unknown', number>>;
  return limit === undefined ? 0 : limit - settled - unknown;
}

/** How many calls of a tool so many credits are enough for. */
function roomFor({ maxCredits }: CatalogueTool, credits: number): number {
  return maxCredits <= 0 ? 0 : Math.floor(microCredits(credits) / microCredits(maxCredits));
}

interface Asking {
  readonly first: Member;
  readonly so: Tries | undefined;
  readonly reserved: boolean;
  readonly atTurn: () => void;
}

async function permitOf(
  run: CallRun,
  load: BatchLoad,
  { first: { asked }, so, reserved, atTurn }: Asking,
): Promise<Permit> {
  const { of, tool } = load;
  run.assertGoing();
  try {
    return await run.process.governor.permit({
      account: tool.account,
      runId: run.runId,
      // Of those who are in it by then.
      get maxCredits() {
        return load.members.length * of.maxCredits;
      },
      get rowWaitMs() {
        return load.isParkable ? ROW_WAIT_MS : undefined;
      },
      get passesOver() {
        return load.passesOver;
      },
      atTurn,
      budget: run.budget,
      reserved,
      hasFailed: hasFailed(so),
      stepsAside: so?.stepsAside,
      signal: run.halt,
      unlimited: tool.isFunction,
      tool: of.id,
      operation: asked.label,
    });
  } catch (error) {
    return putOff(error);
  }
}

/** The run may have ended, or a member's row come to wait for something, while the batch waited for its turn. */
function withoutTheGone(
  run: CallRun,
  granted: Permit,
  { load, so }: { readonly load: BatchLoad; readonly so: Tries | undefined },
): Permit {
  try {
    run.assertGoing();
    load.permit = granted;
    if (load.isRecalled || load.isBound(so)) return granted;
    const isHere = ({ asked }: Member): boolean => asked.scope === undefined || asked.scope.gate.state === 'open';
    for (const member of load.members)
      if (!isHere(member)) member.fail(new Halted('the scope waits, and this call had not begun'));
    load.reduceTo(load.members.filter(isHere));
    if (load.members.length === 0) throw new Halted('every member waits for something else');
    return granted;
  } catch (error) {
    granted.release();
    throw error;
  }
}

/** A batch that may have to go out again as it is, or must not, is on record before it goes out. */
function announce(run: CallRun, load: BatchLoad, so: Tries | undefined): Promise<void> | undefined {
  if (!load.isRecorded) return undefined;
  const { counted: tries = 0, refusals = 0 } = so ?? {};
  if (load.isRepeatable && load.recordedAs === load.key(run, refusals)) return undefined;
  const state = load.isRepeatable ? 'retrying' : 'intended';
  return intend(run, load, { state, tries, refusals, waitUntil: null });
}

/** It goes out without those that another run of the family was first with. */
async function intend(run: CallRun, load: BatchLoad, progress: Progress): Promise<void> {
  for (;;) {
    const kept = await record(run, load, { progress, isIntent: true });
    const { members } = load;
    if (!kept.includes(false)) return;
    load.reduceTo(members.filter((_, index) => kept[index]));
    for (const member of members) if (!load.members.includes(member)) member.fail(overtaken(run));
    if (load.members.length === 0) throw new Halted('other runs were first with every member');
  }
}

async function keep(run: CallRun, load: BatchLoad, progress: Progress): Promise<void> {
  await record(run, load, { progress, isIntent: false });
}

/** Each member's own record says how far all have come, and where it stands in the batch. Returns which of them are on disk. */
async function record(
  run: CallRun,
  load: BatchLoad,
  { progress, isIntent }: { readonly progress: Progress; readonly isIntent: boolean },
): Promise<readonly boolean[]> {
  const size = load.members.length;
  const key = load.key(run, progress.refusals);
  const at = run.process.clock.now();
  const operationOf = ({ asked }: Member, index: number): OperationRecord => {
    const { callId, site, path, label, inputDigest, inputText: input, subject } = asked;
    return {
      ...{ callId, site, path, label, tool: load.of.id, inputDigest, ...progress, answer: null, at },
      operationKey: load.isRecorded ? key : operationKeyFor(run.runId, progress.refusals, [subject]),
      batch: load.isRecorded ? { index, size, input } : null,
    };
  };
  const kept = await keepOperations(
    run,
    load.members.map((member, index) => {
      const { place, known } = member.asked;
      return { place, operation: operationOf(member, index), known: isIntent ? known : undefined };
    }),
  );
  load.recordedAs = key;
  return kept;
}
