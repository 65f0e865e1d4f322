import { expect, it } from 'vitest';
import type { Store } from '../port.ts';
import type { CallEntry } from '../records.ts';
import { AT, boundaryEntry, callEntry, committed, lease, type StoreUnderTest, startedRun } from './samples.ts';

/** A run that made one call and ended with it. */
async function spent(
  store: Store,
  { run, at, credits }: { readonly run: string; readonly at: number; readonly credits: number },
): Promise<void> {
  const fence = await startedRun(store, run);
  const entry = callEntry('a', { credits, at });
  await committed(store, { kind: 'call', fence, place: { datasetNo: 0, ordinal: 0 }, entry });
  const end = { status: 'completed', error: null, result: null, wakeAt: null } as const;
  await committed(store, { kind: 'runState', fence, at, ...end });
}

export function journal(current: () => StoreUnderTest): void {
  it('returns the entries of the rows asked for, as they were written', async () => {
    const { store } = current();
    const fence = await startedRun(store);
    const entries: CallEntry[] = [
      callEntry('a', { receiptId: 7, credits: 0.25, durationMs: 3.5 }),
      callEntry('b', { outcome: 'failed', source: 'coalesced', error: '{"code":"É"}', effect: 'write', path: '' }),
      callEntry('c', { outcome: 'no_result', source: 'source_run', effect: 'idempotent', label: 'x', tool: 'y.z' }),
    ];
    for (const [index, entry] of entries.entries())
      await committed(store, { kind: 'call', fence, place: { datasetNo: 1, ordinal: index === 2 ? 5 : 3 }, entry });
    await committed(store, { kind: 'call', fence, place: { datasetNo: 0, ordinal: 0 }, entry: callEntry('run') });
    const found = await store.calls.journal(fence.runNo, 1, [3, 4, 5]);
    expect([...found.keys()]).toEqual([3, 5]);
    expect(found.get(3)).toHaveLength(2);
    expect(found.get(3)).toEqual(expect.arrayContaining(entries.slice(0, 2)));
    expect(found.get(5)).toEqual([entries[2]]);
    expect((await store.calls.journal(fence.runNo, 0, [0])).get(0)).toEqual([callEntry('run')]);
    expect((await store.calls.journal(fence.runNo, 9, [0])).size).toBe(0);
    expect((await store.calls.journal(99, 1, [3])).size).toBe(0);
  });

  it('keeps runs apart, and replaces the entry of the same call', async () => {
    const { store } = current();
    const one = await startedRun(store);
    const two = await startedRun(store, 'run_2');
    const place = { datasetNo: 1, ordinal: 0 };
    await committed(store, { kind: 'call', fence: one, place, entry: callEntry('a', { credits: 4 }) });
    await committed(store, { kind: 'call', fence: two, place, entry: callEntry('a', { credits: 8 }) });
    await committed(store, lease('run_1', 2, { takeOver: true }));
    const fence = { ...one, attempt: 2 };
    const again = callEntry('a', { credits: 2, source: 'journal', at: AT + 1 });
    await committed(store, { kind: 'call', fence, place, entry: again });
    expect((await store.calls.journal(one.runNo, 1, [0])).get(0)).toEqual([again]);
    expect(await store.calls.settledCredits(one.runNo)).toBe(2);
    expect(await store.calls.settledCredits(two.runNo)).toBe(8);
    expect(await store.calls.settledCredits(99)).toBe(0);
  });

  it('settles credits over all places of the run', async () => {
    const { store } = current();
    const fence = await startedRun(store);
    const at = (datasetNo: number, ordinal: number, credits: number) =>
      [
        {
          kind: 'call',
          fence,
          place: { datasetNo, ordinal },
          entry: callEntry(`${datasetNo}/${ordinal}`, { credits }),
        },
      ] as const;
    await store.commit([at(0, 0, 1), at(1, 0, 0.5), at(1, 90_000, 2), at(2, 3, 4)]);
    expect(await store.calls.settledCredits(fence.runNo)).toBe(7.5);
  });

  it('settles credits of all runs from an instant on, those of ended runs too', async () => {
    const { store } = current();
    const place = { datasetNo: 1, ordinal: 0 };
    const dayLater = AT + 86_400_000;
    for (const [at, id] of [AT, dayLater, dayLater].entries())
      await spent(store, { run: `run_${at + 1}`, at: id, credits: 2 ** at });
    const fence = await startedRun(store, 'run_both');
    await committed(store, { kind: 'call', fence, place, entry: callEntry('early', { credits: 8, at: dayLater - 1 }) });
    await committed(store, { kind: 'call', fence, place, entry: callEntry('late', { credits: 16, at: dayLater }) });
    expect(await store.calls.creditsSince(AT)).toBe(31);
    expect(await store.calls.creditsSince(dayLater)).toBe(22);
    expect(await store.calls.creditsSince(dayLater + 1)).toBe(0);
  });

  it('keeps boundaries by key and place, and replaces the same one', async () => {
    const { store } = current();
    const fence = await startedRun(store);
    const row = { datasetNo: 1, ordinal: 4 };
    const run = { datasetNo: 0, ordinal: 0 };
    const failed = boundaryEntry('fetch', { kind: 'fetch', state: 'failed', path: 'col', value: '{"é":1}' });
    await committed(store, { kind: 'boundary', fence, place: run, entry: boundaryEntry('now', { kind: 'now' }) });
    await committed(store, { kind: 'boundary', fence, place: row, entry: boundaryEntry('fetch') });
    await committed(store, { kind: 'boundary', fence, place: row, entry: failed });
    const found = await store.runs.boundaries(fence.runNo, 1, [4, 5]);
    expect([...found]).toEqual([[4, [failed]]]);
    expect((await store.runs.boundaries(fence.runNo, 0, [0])).get(0)).toEqual([boundaryEntry('now', { kind: 'now' })]);
    expect((await store.runs.boundaries(99, 0, [0])).size).toBe(0);
    expect(await store.report.boundariesOfRun(fence.runNo, 10)).toEqual([
      { ...boundaryEntry('now', { kind: 'now' }), place: run },
      { ...failed, place: row },
    ]);
    expect(await store.report.boundariesOfRun(fence.runNo, 1)).toHaveLength(1);
  });
}
