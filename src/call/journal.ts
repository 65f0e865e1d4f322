import { type Digest, type Gate, type Place, placeName } from '../scope/index.ts';
import type { CallEntry, CallReads, OperationRecord, StoredReceipt } from '../store/index.ts';
import { isFinalFailure } from './failure.ts';
import type { Bill } from './open-tries.ts';
import { UnsureWrites } from './unsure-writes.ts';

/** What a call has paid for in an earlier attempt, and what its run has settled for it. */
export interface Paid {
  readonly receipt: StoredReceipt;
  /** Undefined where no entry says. */
  readonly settled: number | undefined;
  /** Its part of the budget, until it is read. */
  readonly owed?: Bill | undefined;
}

/** What earlier attempts left at one place. */
interface Left {
  readonly entries: ReadonlyMap<Digest, CallEntry>;
  /** Operations of calls that no entry stands for; each is given out once. */
  readonly open: Map<Digest, OperationRecord>;
  /** Sites of writes, until the very same write is asked for again. */
  readonly writes: Map<Digest, OperationRecord>;
  readonly siteOf: ReadonlyMap<Digest, Digest>;
  /** Calls that have an operation, given out or not. */
  readonly begun: ReadonlySet<Digest>;
}

/** A write that was made, or may have been. */
export type MadeWrite = Pick<CallEntry, 'callId' | 'path' | 'label' | 'tool' | 'inputDigest'>;

/**
 * What this run has already ended, or begun, by place.
 *
 * Owns: the journal entries and operations of unfinished rows, loaded before such a row runs, and the receipts that a
 * dead attempt paid but did not settle.
 *
 * Invariants
 *  1. A first attempt of a run that is no rerun reads nothing.
 *  2. An entry, once loaded, answers its callId until its row is forgotten.
 *  3. An unsettled receipt is given out once, to the call that bought it; so is an operation.
 *  4. A retry of what failed forgets failures, but neither what they had paid for nor a write that is in doubt.
 *  5. A doubt stands until somebody has said what became of its operation.
 */
export class Journal {
  readonly #reads: CallReads;
  readonly #runNo: number;
  readonly #places = new Map<string, Left>();
  readonly #unsettled = new Map<Digest, Paid[]>();
  /** What each of these calls has reserved: an answer and the start of its job together. */
  readonly #owed = new Map<Digest, Bill>();
  readonly #sent = new Map<string, OperationRecord>();
  readonly #warned = new Set<string>();
  /** Writes that ended in doubt in this attempt, by place. */
  readonly #doubts = new Map<string, MadeWrite[]>();
  readonly #waiting = new WeakMap<Gate, { count: number }>();
  readonly unsure = new UnsureWrites();

  constructor(reads: CallReads, runNo: number) {
    this.#reads = reads;
    this.#runNo = runNo;
  }

  /** Reads what outlived the last attempt: call once, on a later attempt or a rerun, before the play runs. */
  async open(how: { readonly retryFailed?: boolean } = {}): Promise<void> {
    for (const receipt of await this.#reads.unsettledReceipts(this.#runNo))
      this.#keepPaid({ receipt, settled: undefined });
    await this.load(0, [0], how);
  }

  /** Reserves what is paid and not settled, at the most that it may cost: before anything else is bought. */
  owe(billOf: (callId: Digest, tools: readonly string[]) => Bill | undefined): void {
    for (const [callId, all] of this.#unsettled) {
      const paid = all.filter(({ settled }) => settled === undefined);
      if (paid.length === 0) continue;
      const bill = billOf(
        callId,
        paid.map(({ receipt }) => receipt.tool),
      );
      if (bill !== undefined) this.#owed.set(callId, bill);
    }
  }

  /** The attempt ends: what nobody has read by now is left. */
  close(): void {
    for (const owed of this.#owed.values()) owed.leave();
  }

  async load(
    datasetNo: number,
    ordinals: readonly number[],
    { retryFailed = false }: { readonly retryFailed?: boolean } = {},
  ): Promise<void> {
    const [journal, operations] = await Promise.all([
      this.#reads.journal(this.#runNo, datasetNo, ordinals),
      this.#reads.operations(this.#runNo, datasetNo, ordinals),
    ]);
    for (const ordinal of new Set([...journal.keys(), ...operations.keys()])) {
      const known = operations.get(ordinal) ?? [];
      // What was in doubt when its answer came late is in doubt no more.
      const entries = (journal.get(ordinal) ?? []).filter((entry) => !this.#isPaidAfterAll(entry));
      const { standing, again } = divided(entries, { known, retryFailed });
      await this.#takePaid(again);
      this.unsure.load({ datasetNo, ordinal }, standing, known);
      const left = leftOf(standing, { known, again, isPaid: (callId) => this.#unsettled.has(callId) });
      this.#places.set(placeName({ datasetNo, ordinal }), left);
      for (const operation of left.open.values())
        if (operation.batch !== null && operation.state === 'retrying') this.#sent.set(sentAs(operation), operation);
    }
  }

  forget(place: Place): void {
    if (this.#doubts.size > 0) this.#doubts.delete(placeName(place));
    this.unsure.forget(place);
    if (this.#places.size > 0) this.#places.delete(placeName(place));
  }

  entry(place: Place, callId: Digest): CallEntry | undefined {
    const left = this.#left(place);
    const entry = left?.entries.get(callId);
    if (left !== undefined && entry !== undefined) claim(left, callId);
    return entry;
  }

  /** A write has ended in doubt: no equal one goes out from its place before somebody says what became of it. */
  doubt(place: Place, write: MadeWrite): void {
    const name = placeName(place);
    const known = this.#doubts.get(name);
    if (known === undefined) this.#doubts.set(name, [write]);
    else known.push(write);
  }

  /** A write in doubt of this place that asked the same of the same tool, whatever its label. */
  doubtLike(place: Place, like: Pick<MadeWrite, 'tool' | 'inputDigest'>): MadeWrite | undefined {
    const isLike = ({ tool, inputDigest }: MadeWrite): boolean =>
      tool === like.tool && inputDigest === like.inputDigest;
    const now = this.#doubts.get(placeName(place))?.find(isLike);
    const left = now === undefined ? this.#left(place) : undefined;
    if (left === undefined) return now;
    for (const entry of left.entries.values())
      if (entry.error !== null && isLike(entry) && isFinalFailure(entry.error)) return entry;
    for (const operation of left.open.values())
      if (operation.state === 'intended' && isLike(operation)) return operation;
    return undefined;
  }

  /** A write in doubt of this tool that has not been asked for again. */
  unclaimedDoubt(place: Place, tool: string): OperationRecord | undefined {
    const left = this.#left(place);
    for (const write of left?.writes.values() ?? [])
      if (write.state === 'intended' && write.tool === tool && left?.open.has(write.callId) === true) return write;
    return undefined;
  }

  /** True where an earlier attempt may have sent this call, and nobody knows what became of it. */
  isInDoubt(place: Place, callId: Digest): boolean {
    const left = this.#left(place);
    const entry = left?.entries.get(callId);
    if (entry !== undefined) return entry.error !== null && isFinalFailure(entry.error);
    const state = left?.open.get(callId)?.state;
    return state === 'intended' || state === 'retrying';
  }

  /** What an earlier attempt had begun for this call and not ended: given out once. */
  takeOperation(place: Place, callId: Digest): OperationRecord | undefined {
    const left = this.#left(place);
    if (left === undefined) return undefined;
    const operation = left.open.get(callId);
    left.open.delete(callId);
    if (operation !== undefined) this.#sent.delete(sentAs(operation));
    claim(left, callId);
    return operation;
  }

  /** A write that an earlier attempt made or began at this very site, and that this one has not asked for again. */
  writeAt(place: Place, site: Digest): OperationRecord | undefined {
    return this.#left(place)?.writes.get(site);
  }

  /** Writes of this place that were made, or may have been. `keyed`: they go out under an idempotency key. */
  *#writesMade(place: Place, keyed: boolean): Generator<MadeWrite> {
    const left = this.#left(place);
    if (left === undefined) return;
    for (const entry of left.entries.values()) if (entry.effect === 'write' && isMade(entry)) yield entry;
    for (const operation of left.open.values()) if (mayBeMade(operation, keyed)) yield operation;
  }

  /** A question that an attempt which died may have sent together with others, whichever row asks it now: given out once. */
  takeSent(tool: string, inputDigest: Digest): OperationRecord | undefined {
    if (this.#sent.size === 0) return undefined;
    const asked = sentAs({ tool, inputDigest });
    const operation = this.#sent.get(asked);
    this.#sent.delete(asked);
    return operation;
  }

  /** What was written at this site is settled: it is not asked about again. */
  settleSite(place: Place, site: Digest): void {
    this.#left(place)?.writes.delete(site);
  }

  /** A write that was made, or may have been, at this very site, and that has not been asked for again. */
  madeAt(place: Place, site: Digest, keyed: boolean): OperationRecord | undefined {
    const write = this.writeAt(place, site);
    if (write === undefined) return undefined;
    for (const made of this.#writesMade(place, keyed)) if (made.callId === write.callId) return write;
    return undefined;
  }

  /** True where anything was begun for this call, whether or not it was given out. */
  hasBegun(place: Place, callId: Digest): boolean {
    return this.#left(place)?.begun.has(callId) === true;
  }

  /** How many calls of a scope wait for others of it, before they count as another write than before. */
  waitingAt(gate: Gate): { count: number } {
    let waiting = this.#waiting.get(gate);
    if (waiting === undefined) {
      waiting = { count: 0 };
      this.#waiting.set(gate, waiting);
    }
    return waiting;
  }

  /**
   * A receipt that this very call bought from this tool in an attempt that died before it could settle it: the newest. A job
   * has another for its start.
   */
  takeUnsettled(callId: Digest, tool: string): Paid | undefined {
    if (this.#unsettled.size === 0) return undefined;
    const paid = this.#unsettled.get(callId);
    const index = paid?.findLastIndex(({ receipt }) => receipt.tool === tool) ?? -1;
    const [taken] = index === -1 ? [] : (paid?.splice(index, 1) ?? []);
    return taken === undefined ? undefined : { ...taken, owed: this.#owed.get(callId) };
  }

  /** A call that has not asked (again) yet has been answered together with others. */
  paidAhead(paid: Paid): void {
    if (paid.owed !== undefined) this.#owed.set(paid.receipt.callId, paid.owed);
    this.#keepPaid(paid);
  }

  /** True the first time a name is asked about: so that a change of a tool is told once, not once a row. */
  firstSight(name: string): boolean {
    if (this.#warned.has(name)) return false;
    this.#warned.add(name);
    return true;
  }

  #isPaidAfterAll({ error, callId }: CallEntry): boolean {
    return error !== null && (this.#unsettled.get(callId)?.length ?? 0) > 0 && isFinalFailure(error);
  }

  #left(place: Place): Left | undefined {
    return this.#places.size === 0 ? undefined : this.#places.get(placeName(place));
  }

  /** An answer that the tool could not read was paid for all the same, and is read again. */
  async #takePaid(again: readonly CallEntry[]): Promise<void> {
    const paid = again.filter((entry) => entry.receiptId !== null);
    if (paid.length === 0) return;
    const receipts = await this.#reads.receiptsByIds(paid.map((entry) => entry.receiptId ?? 0));
    // One that was asked anew says nothing of what its call had out since.
    for (const [index, receipt] of receipts.entries())
      if (receipt !== undefined && receipt.isVoid !== true)
        this.#keepPaid({ receipt, settled: paid[index]?.credits ?? 0 });
  }

  #keepPaid(paid: Paid): void {
    const known = this.#unsettled.get(paid.receipt.callId);
    if (known === undefined) this.#unsettled.set(paid.receipt.callId, [paid]);
    else if (known.every(({ receipt }) => receipt.id !== paid.receipt.id)) known.push(paid);
  }
}

/** Entries that go on standing, and those whose calls are made again. */
function divided(
  entries: readonly CallEntry[],
  { known, retryFailed }: { readonly known: readonly OperationRecord[]; readonly retryFailed: boolean },
): { readonly standing: readonly CallEntry[]; readonly again: readonly CallEntry[] } {
  const callsIn = (...states: readonly OperationRecord['state'][]): ReadonlySet<Digest> =>
    new Set(known.filter(({ state }) => states.includes(state)).map(({ callId }) => callId));
  const [resolved, goesOn, wasSent] = [callsIn('done', 'notDone'), callsIn('retrying'), callsIn('intended')];
  const passed = passedOver(entries, known);
  const isAgain = (entry: CallEntry): boolean => {
    const { error, callId } = entry;
    if (error === null) return false;
    if (!isFinalFailure(error)) return (retryFailed || wasSent.has(callId)) && !passed(entry);
    const doubted = doubtedCall(entry);
    // Where its own operation goes on, somebody had resolved the doubt, and it went out again.
    return resolved.has(doubted) || (doubted === callId && goesOn.has(callId));
  };
  const { standing = [], again = [] } = Object.groupBy(entries, (entry) => (isAgain(entry) ? 'again' : 'standing'));
  return { standing, again };
}

/**
 * Whether a failure is one that the play went on past before it wrote something: the write was made because of it, and must
 * not be asked for with another input. The last failure of a place is what it failed by, and is tried again.
 */
function passedOver(entries: readonly CallEntry[], known: readonly OperationRecord[]): (entry: CallEntry) => boolean {
  const instants = (of: readonly { readonly at: number }[]): number => Math.max(...of.map(({ at }) => at), 0);
  const lastWrite = Math.max(
    instants(entries.filter((entry) => entry.effect === 'write' && isMade(entry))),
    instants(known.filter((operation) => mayBeMade(operation, false))),
  );
  const lastFailure = instants(entries.filter((entry) => entry.error !== null));
  return ({ at }) => at <= lastWrite && at < lastFailure;
}

function sentAs({ tool, inputDigest }: Pick<OperationRecord, 'tool' | 'inputDigest'>): string {
  return `${tool}|${inputDigest}`;
}

/** The call whose outcome is in doubt: its own, or an equal one that went out before it. */
function doubtedCall({ error, callId }: CallEntry): Digest {
  const { details } = JSON.parse(error ?? '{}') as { readonly details?: { readonly callId?: Digest } };
  return details?.callId ?? callId;
}

/** False where somebody has resolved it, or it went out again after the failure of its call. */
function isOver({ state }: OperationRecord): boolean {
  return state === 'retrying';
}

function leftOf(
  standing: readonly CallEntry[],
  {
    known,
    again,
    isPaid,
  }: {
    readonly known: readonly OperationRecord[];
    readonly again: readonly CallEntry[];
    readonly isPaid: (callId: Digest) => boolean;
  },
): Left {
  const entries = new Map(standing.map((entry) => [entry.callId, entry]));
  const failed = new Set(again.map((entry) => entry.callId));
  const open = known
    .filter((operation) => !entries.has(operation.callId))
    .map((operation) => (failed.has(operation.callId) && isOver(operation) ? afresh(operation) : operation))
    // Its batch was answered: it does not go out again.
    .map((operation) => (isPaid(operation.callId) ? { ...operation, batch: null } : operation));
  const writes = known.filter((operation) => operation.site !== operation.callId);
  return {
    entries,
    open: new Map(open.map((operation) => [operation.callId, operation])),
    writes: new Map(writes.map((operation) => [operation.site, operation])),
    siteOf: new Map(writes.map((operation) => [operation.callId, operation.site])),
    begun: new Set(known.map((operation) => operation.callId)),
  };
}

function isMade({ error }: CallEntry): boolean {
  return error === null || isFinalFailure(error);
}

/** A keyed write is recorded as one that may go out again; only a definite refusal tells that it was not done. */
function mayBeMade({ state, refusals, site, callId }: OperationRecord, keyed: boolean): boolean {
  if (site === callId) return false;
  return state === 'intended' || state === 'done' || (keyed && state === 'retrying' && refusals === 0);
}

/** The call ended in a failure that leaves no doubt and is made again: under the next key, with all its tries. */
function afresh(operation: OperationRecord): OperationRecord {
  return { ...operation, state: 'retrying', tries: 0, waitUntil: null };
}

function claim(left: Left, callId: Digest): void {
  const site = left.siteOf.get(callId);
  if (site !== undefined && left.writes.get(site)?.callId === callId) left.writes.delete(site);
}
