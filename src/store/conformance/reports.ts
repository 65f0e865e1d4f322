import { expect, it } from 'vitest';
import { digest } from '../../scope/index.ts';
import { AT, bought, callEntry, committed, newReceipt, newRun, type StoreUnderTest, startedRun } from './samples.ts';

export function reports(current: () => StoreUnderTest): void {
  it('lists runs newest first, by page and status', async () => {
    const { store } = current();
    for (const id of ['a', 'b', 'c']) await committed(store, { kind: 'run', run: newRun(id) });
    await startedRun(store, 'd');
    const ids = async (page: Parameters<typeof store.report.listRuns>[0]) =>
      (await store.report.listRuns(page)).map((run) => run.id);
    expect(await ids({ limit: 2 })).toEqual(['d', 'c']);
    expect(await ids({ limit: 9, beforeNo: 3 })).toEqual(['b', 'a']);
    expect(await ids({ limit: 2, status: 'queued' })).toEqual(['c', 'b']);
    expect(await ids({ limit: 2, status: 'running', beforeNo: 4 })).toEqual([]);
  });

  it('pages through the events of a run', async () => {
    const { store } = current();
    const event = (type: string, message: string) => ({
      at: AT,
      type,
      level: 'warn' as const,
      datasetNo: 1,
      ordinal: 4,
      message,
      data: '{"x":1}',
    });
    for (const [runNo, type, message] of [
      [1, 'log', 'one'],
      [2, 'log', 'other run'],
      [1, 'warning', 'two'],
      [1, 'log', 'three'],
    ] as const)
      await committed(store, { kind: 'event', runNo, event: event(type, message) });
    expect(await store.report.events(1, { afterSeq: 0, limit: 2 })).toEqual([
      { ...event('log', 'one'), seq: 1 },
      { ...event('warning', 'two'), seq: 2 },
    ]);
    expect(await store.report.events(1, { afterSeq: 1, limit: 9, type: 'log' })).toEqual([
      { ...event('log', 'three'), seq: 3 },
    ]);
    expect(await store.report.events(9, { afterSeq: 0, limit: 9 })).toEqual([]);
  });

  it('adds calls and credits up by dataset, path, tool, source and outcome', async () => {
    const { store } = current();
    const fence = await startedRun(store);
    const at = (datasetNo: number, ordinal: number, more: Parameters<typeof callEntry>[1]) =>
      [
        { kind: 'call', fence, place: { datasetNo, ordinal }, entry: callEntry(`${datasetNo}/${ordinal}`, more) },
      ] as const;
    await store.commit([
      at(1, 0, { credits: 1 }),
      at(1, 50_000, { credits: 2, label: 'another label' }),
      at(1, 2, { credits: 0, source: 'receipt' }),
      at(1, 3, { credits: 0, outcome: 'no_result' }),
      at(0, 0, { credits: 4, path: '', tool: 'a.b' }),
    ]);
    const of = { tool: 'hunter.email_finder', path: 'email.hunter', datasetNo: 1 };
    expect(await store.report.toolTotals(fence.runNo)).toEqual([
      { tool: 'a.b', path: '', datasetNo: 0, source: 'live', outcome: 'completed', calls: 1, credits: 4 },
      { ...of, source: 'live', outcome: 'completed', calls: 2, credits: 3 },
      { ...of, source: 'live', outcome: 'no_result', calls: 1, credits: 0 },
      { ...of, source: 'receipt', outcome: 'completed', calls: 1, credits: 0 },
    ]);
    expect(await store.report.hitRate('hunter.email_finder')).toEqual({ completed: 2, noResult: 1 });
    expect(await store.report.hitRate('nobody.knows')).toEqual({ completed: 0, noResult: 0 });
    expect(await store.report.toolTotals(99)).toEqual([]);
  });

  it('lists failed calls with their places', async () => {
    const { store } = current();
    const fence = await startedRun(store);
    const failed = callEntry('f', { outcome: 'failed', error: '{"code":"TOOL_THREW"}' });
    const early = callEntry('e', { outcome: 'failed', error: '{}' });
    const write = (datasetNo: number, ordinal: number, entry: typeof failed) =>
      [{ kind: 'call', fence, place: { datasetNo, ordinal }, entry }] as const;
    await store.commit([write(2, 7, failed), write(2, 7, callEntry('ok')), write(0, 0, early)]);
    expect(await store.report.failedCalls(fence.runNo, 9)).toEqual([
      { ...early, place: { datasetNo: 0, ordinal: 0 } },
      { ...failed, place: { datasetNo: 2, ordinal: 7 } },
    ]);
    expect(await store.report.failedCalls(fence.runNo, 1)).toHaveLength(1);
  });

  it('lists receipts by tool, key, age and page, with their inputs', async () => {
    const { store } = current();
    await bought(store, newReceipt('a', { at: AT }));
    await bought(store, newReceipt('b', { at: AT + 1, tool: 'other.tool' }));
    await bought(store, newReceipt('a', { at: AT + 2, reusable: false }));
    const ids = async (filter: Parameters<typeof store.report.listReceipts>[0]) =>
      (await store.report.listReceipts(filter)).map((receipt) => receipt.id);
    expect(await ids({ limit: 9 })).toEqual([1, 2, 3]);
    expect(await ids({ limit: 1, afterId: 1 })).toEqual([2]);
    expect(await ids({ limit: 9, tool: 'other.tool' })).toEqual([2]);
    expect(await ids({ limit: 9, key: digest('a') })).toEqual([1, 3]);
    expect(await ids({ limit: 9, key: digest('a'), before: AT + 2 })).toEqual([1]);
    expect(await ids({ limit: 9, key: digest('none') })).toEqual([]);
    expect(await store.report.receipt(1)).toMatchObject({ id: 1, input: '{"name":"a"}', evictedAt: null });
    expect(await store.report.receipt(9)).toBeUndefined();
  });
}
