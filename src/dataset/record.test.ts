import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { Committer, RowRecord } from '../store/index.ts';
import type { LegOutcome } from './program.ts';
import { RowRecords, readTrace, traceText } from './record.ts';

const row = (ordinal: number, cells = '[1]'): RowRecord => ({
  ordinal,
  state: 'completed',
  cells,
  error: null,
  trace: null,
  credits: 0,
  at: 0,
});

/** A committer that settles when it is told to. */
function slowCommitter(): { readonly committer: Committer; readonly settle: (count: number) => void } {
  const waiting: ((error: unknown | undefined) => void)[] = [];
  const committer: Committer = {
    commit: async () => {},
    flush: async () => {},
    defer: (_unit, settled) => void waiting.push(settled ?? (() => {})),
  };
  return { committer, settle: (count) => waiting.splice(0, count).forEach((settled) => void settled(undefined)) };
}

const owner = { settled: () => {} };
const fence = { runNo: 1, attempt: 1 };

async function isOpen(promise: Promise<void>): Promise<boolean> {
  return await Promise.race([
    promise.then(() => false),
    new Promise<boolean>((resolve) => setImmediate(resolve, true)),
  ]);
}

describe('records of rows on their way to disk', () => {
  verifies('DATA-MEMORY-1', 'hold further rows back while too many wait, until half of them are durable', async () => {
    const { committer, settle } = slowCommitter();
    const records = new RowRecords(committer, fence, 1);
    for (let ordinal = 0; ordinal < 4095; ordinal++) records.put(row(ordinal), owner);
    expect(records.room()).toBeUndefined();
    records.put(row(4095), owner);
    const room = records.room();
    if (room === undefined) throw new Error('there should be no room');
    settle(2047);
    expect(await isOpen(room)).toBe(true);
    settle(1);
    expect(await isOpen(room)).toBe(false);
  });

  verifies('DATA-MEMORY-1', 'hold further rows back while too many bytes wait', async () => {
    const { committer, settle } = slowCommitter();
    const records = new RowRecords(committer, fence, 1);
    for (let ordinal = 0; ordinal < 3; ordinal++) records.put(row(ordinal, 'x'.repeat(6_000_000)), owner);
    const room = records.room();
    if (room === undefined) throw new Error('there should be no room');
    settle(1);
    expect(await isOpen(room)).toBe(true);
    settle(1);
    expect(await isOpen(room)).toBe(false);
  });

  it('are drained when the last is durable', async () => {
    const { committer, settle } = slowCommitter();
    const records = new RowRecords(committer, fence, 1);
    await records.drained();
    records.put(row(0), owner);
    const drained = records.drained();
    expect(await isOpen(drained)).toBe(true);
    settle(1);
    await drained;
  });

  it('say how legs ended in a letter each, with the errors of those that have one', () => {
    const legs = ['c.a', 'c.b', 'c.c', 'c.d', 'c.e', 'c.f'];
    const outcomes: LegOutcome[] = ['hit', 'miss', 'unavailable', 'skipped', 'failed', 'none'];
    expect(traceText(outcomes, undefined)).toBe('"hmusf."');
    expect(readTrace('"hmusf."', legs).map((leg) => leg.outcome)).toEqual(outcomes.slice(0, 5));
    const error = { code: 'PROVIDER_TIMEOUT', message: 'late' };
    const text = traceText(outcomes, new Map([[2, error]]));
    expect(readTrace(text, legs)[2]).toEqual({ path: 'c.c', outcome: 'unavailable', error });
  });
});
