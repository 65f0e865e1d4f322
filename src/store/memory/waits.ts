import {
  eventSettled,
  eventWaitMissing,
  runFinished,
  SEVERAL_PLACES,
  signalKept,
  signalSeveral,
  signalUnawaited,
  waitMissing,
  waitSettled,
} from '../conflicts.ts';
import type { NewSignal, RunRecord, SignalOutcome, WaitRecord } from '../records.ts';
import type { WriteOf } from '../write-of.ts';
import { type MemoryData, type MemoryWait, WORKED_ON } from './data.ts';
import { existing, wakeRun } from './run-changes.ts';
import type { Undo } from './undo.ts';

const NO_ANSWER = { state: 'open', payload: null, signalNo: null, settledAt: null } as const;

/** Arms a wait unless its key is there, and sets `stored`. The oldest signal kept for it answers it at once. */
export function armWait(data: MemoryData, write: WriteOf<'arm'>, undo: Undo): void {
  const { fence, place } = write;
  const { early = true, ...wait } = write.wait;
  undo.push(() => {
    delete write.stored;
  });
  let standing = data.waitAt(fence.runNo, place, wait.key);
  if (standing === undefined) {
    const answer = early ? takeKept(data, write, undo) : NO_ANSWER;
    standing = { ...wait, ...answer, no: data.waits.length + 1, place: { ...place }, runNo: fence.runNo };
    undo.append(data.waits, standing);
  }
  write.stored = withoutRun(standing);
}

function takeKept(
  data: MemoryData,
  { fence, wait }: WriteOf<'arm'>,
  undo: Undo,
): Pick<WaitRecord, 'state' | 'payload' | 'signalNo' | 'settledAt'> {
  if (wait.kind !== 'event') return NO_ANSWER;
  const kept = data.signals.find(
    (signal) =>
      !signal.consumed &&
      signal.runNo === fence.runNo &&
      signal.event === wait.event &&
      (signal.rowKey === null || signal.rowKey === wait.rowKey),
  );
  if (kept === undefined) return NO_ANSWER;
  undo.push(() => {
    kept.consumed = false;
  });
  kept.consumed = true;
  return { state: 'answered', payload: kept.data, signalNo: kept.no, settledAt: wait.armedAt };
}

/** Ends an open wait, or parks it where that is its policy, and sets `stored`. Throws StoreConflict 'wait-settled'. */
export function expireWait(data: MemoryData, write: WriteOf<'expire'>, undo: Undo): void {
  let wait = data.waitAt(write.fence.runNo, write.place, write.key);
  if (wait === undefined) throw waitMissing(write.key);
  undo.push(() => {
    delete write.stored;
  });
  if (wait.state === 'open') {
    const parked = wait.kind === 'event' && wait.policy === 'park' && write.dropped !== true;
    wait = parked ? { ...wait, deadline: null } : { ...wait, state: 'timedOut', settledAt: write.at };
    settle(data, undo, wait);
  }
  write.stored = withoutRun(wait);
}

/** Answers waits or keeps the signal, and sets `outcome`. Throws the StoreConflicts that the port names. */
export function deliverSignal(data: MemoryData, write: WriteOf<'signal'>, undo: Undo): void {
  const { signal } = write;
  const run = signal.runId === null ? undefined : unfinished(existing(data, signal.runId));
  const waits = signal.waitNo === null ? waitsFor(data, signal, run) : [oneWait(data, signal.waitNo, run)];
  if (waits.length === 0 && run === undefined) throw signalUnawaited(signal.event);
  const kept = waits.length === 0;
  if (kept && run !== undefined && signal.keep !== true) assertFirst(data, signal, run);
  const no = data.signals.length + 1;
  undo.append(data.signals, { ...signal, no, runNo: run?.no ?? null, consumed: !kept });
  for (const wait of waits) {
    settle(data, undo, {
      ...wait,
      state: 'answered',
      payload: signal.data,
      signalNo: no,
      settledAt: Math.max(wait.armedAt, signal.at),
    });
    wakeRun(data, undo, { runNo: wait.runNo, at: signal.at });
  }
  undo.push(() => {
    delete write.outcome;
  });
  write.outcome = { delivered: waits.map((wait) => where(data, wait)), kept };
}

/** Throws for a run that nobody will work on again; a failed one may be resumed. */
function unfinished(run: RunRecord): RunRecord {
  if (run.status === 'completed' || run.status === 'cancelled') throw runFinished(run.id, run.status);
  return run;
}

function oneWait(data: MemoryData, waitNo: number, run: RunRecord | undefined): MemoryWait {
  const wait = data.waits[waitNo - 1];
  const waiting = wait === undefined ? undefined : data.run(wait.runNo);
  if (wait?.kind !== 'event' || waiting === undefined || (run !== undefined && waiting.no !== run.no))
    throw eventWaitMissing(waitNo, run?.id ?? null);
  if (wait.state !== 'open') throw waitSettled(waitNo, wait);
  unfinished(waiting);
  return wait;
}

/**
 * Throws 'wait-settled' where the run's wait for the event is over, or another signal is kept for it: this one may have
 * been sent twice.
 */
function assertFirst(data: MemoryData, signal: NewSignal, run: RunRecord): void {
  const before = data.signals.find(
    ({ consumed, runNo, event, rowKey }) =>
      !consumed && runNo === run.no && event === signal.event && rowKey === signal.rowKey,
  );
  if (before !== undefined) throw signalKept(signal, before.at);
  const settled = data.waits
    .filter(({ runNo, event, state }) => runNo === run.no && event === signal.event && state !== 'open')
    .filter(({ rowKey }) => signal.rowKey === null || rowKey === signal.rowKey)
    .reduce<MemoryWait | undefined>(
      (last, wait) => ((last?.settledAt ?? 0) > (wait.settledAt ?? 0) ? last : wait),
      undefined,
    );
  if (settled !== undefined) throw eventSettled(signal, settled);
}

/** The earliest wait that matches, of each row. */
function waitsFor(data: MemoryData, signal: NewSignal, run: RunRecord | undefined): readonly MemoryWait[] {
  const earliest = new Map<string, MemoryWait>();
  for (const wait of data.waits) {
    if (wait.state !== 'open' || wait.event !== signal.event) continue;
    if (signal.rowKey !== null && wait.rowKey !== signal.rowKey) continue;
    const status = data.run(wait.runNo)?.status;
    if (run === undefined ? status === undefined || !WORKED_ON.includes(status) : wait.runNo !== run.no) continue;
    const place = `${wait.runNo}/${wait.place.datasetNo}/${wait.place.ordinal}`;
    if (!earliest.has(place)) earliest.set(place, wait);
  }
  const waits = [...earliest.values()];
  if (!signal.all && waits.length > 1)
    throw signalSeveral(
      signal.event,
      waits.slice(0, SEVERAL_PLACES).map((wait) => where(data, wait)),
    );
  return waits;
}

function settle(data: MemoryData, undo: Undo, to: MemoryWait): void {
  const before = data.waits[to.no - 1];
  undo.push(() => {
    if (before !== undefined) data.waits[to.no - 1] = before;
  });
  data.waits[to.no - 1] = to;
}

function where(data: MemoryData, wait: MemoryWait): SignalOutcome['delivered'][number] {
  return { runId: data.run(wait.runNo)?.id ?? '', waitNo: wait.no, rowKey: wait.rowKey };
}

export function withoutRun({ runNo: _, ...wait }: MemoryWait): WaitRecord {
  return wait;
}
