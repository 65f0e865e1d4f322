import { expect, it } from 'vitest';
import type { Unit } from '../port.ts';
import type { RowRecord } from '../records.ts';
import { committed, frameRecord, rowRecord, type StoreUnderTest, startedRun } from './samples.ts';

export function datasets(current: () => StoreUnderTest): void {
  it('keeps frames by dataset, and replaces one when it is sealed', async () => {
    const { store } = current();
    const fence = await startedRun(store);
    const open = frameRecord(1, { sealed: false, total: 0, admitted: 0 });
    await committed(store, { kind: 'frame', fence, frame: open }, { kind: 'frame', fence, frame: frameRecord(2) });
    expect(await store.datasets.frames(fence.runNo)).toEqual([open, frameRecord(2)]);
    await committed(store, { kind: 'frame', fence, frame: frameRecord(1) });
    expect(await store.datasets.frames(fence.runNo)).toEqual([frameRecord(1), frameRecord(2)]);
    expect(await store.datasets.frames(99)).toEqual([]);
  });

  it('finds the latest earlier sealed frame of a play for a dataset', async () => {
    const { store } = current();
    const frames = [
      { id: 'run_1', play: 'emails', frame: frameRecord(1) },
      { id: 'run_2', play: 'emails', frame: frameRecord(3) },
      { id: 'run_3', play: 'other', frame: frameRecord(1) },
      { id: 'run_4', play: 'emails', frame: frameRecord(1, { key: 'companies' }) },
      { id: 'run_5', play: 'emails', frame: frameRecord(1, { sealed: false }) },
    ];
    for (const { id, play, frame } of frames) {
      const fence = await startedRun(store, id, { play });
      await committed(store, { kind: 'frame', fence, frame });
    }
    const before = (runNo: number) => store.datasets.previousFrame('emails', 'people', runNo);
    expect(await before(6)).toEqual({ runNo: 2, frame: frameRecord(3) });
    expect(await before(2)).toEqual({ runNo: 1, frame: frameRecord(1) });
    expect(await before(1)).toBeUndefined();
  });

  it('reads keys and repeats over the borders of chunks', async () => {
    const { store } = current();
    const fence = await startedRun(store);
    const chunk = (first: number, repeats: number[]): Unit => {
      const keys = Uint8Array.from({ length: repeats.length * 16 }, (_, at) => first + Math.floor(at / 16));
      return [{ kind: 'frameChunk', fence, datasetNo: 1, first, keys, repeats: Int32Array.from(repeats) }];
    };
    await store.commit([chunk(0, [-1, -1, 0]), chunk(3, [-1, -1]), chunk(5, [2, -1])]);
    const read = async (from: number, to: number) => {
      const { keys, repeats } = await store.datasets.frameChunk(fence.runNo, 1, from, to);
      return [[...keys].filter((_, at) => at % 16 === 0), [...repeats]];
    };
    expect(await read(0, 7)).toEqual([
      [0, 1, 2, 3, 4, 5, 6],
      [-1, -1, 0, -1, -1, 2, -1],
    ]);
    expect(await read(2, 6)).toEqual([
      [2, 3, 4, 5],
      [0, -1, -1, 2],
    ]);
    expect(await read(4, 100)).toEqual([
      [4, 5, 6],
      [-1, 2, -1],
    ]);
    expect(await read(1, 2)).toEqual([[1], [-1]]);
    expect(await read(7, 9)).toEqual([[], []]);
    const none = await store.datasets.frameChunk(99, 1, 0, 5);
    expect([none.keys.length, none.repeats.length]).toEqual([0, 0]);
  });

  it('reads spooled rows over the borders of chunks, byte for byte', async () => {
    const { store } = current();
    const fence = await startedRun(store);
    const rows = ['{"a": 1}', '{"b":\n"é\\u001e🎉"}', '{}', '{"c":"\\n"}', '{"d":2}'];
    const chunk = (first: number, to: number): Unit => [
      { kind: 'spool', fence, datasetNo: 1, first, rows: rows.slice(first, to) },
    ];
    await store.commit([
      chunk(0, 2),
      chunk(2, 3),
      chunk(3, 5),
      [{ kind: 'spool', fence, datasetNo: 1, first: 5, rows: [] }],
    ]);
    const read = (from: number, to: number) => store.datasets.spool(fence.runNo, 1, from, to);
    expect(await read(0, 5)).toEqual(rows);
    expect(await read(1, 4)).toEqual(rows.slice(1, 4));
    expect(await read(4, 99)).toEqual(rows.slice(4));
    expect(await read(5, 9)).toEqual([]);
    expect(await store.datasets.spool(fence.runNo, 2, 0, 9)).toEqual([]);
  });

  rows(current);
}

function rows(current: () => StoreUnderTest): void {
  const all: RowRecord[] = [
    rowRecord(0),
    rowRecord(2, { state: 'failed', error: '{"code":"COLUMN_FAILED"}', cells: '["é"]', credits: 0 }),
    rowRecord(3, { state: 'parked', trace: '{"email":["hunter"]}', credits: 0.5 }),
    rowRecord(6, { state: 'failed', error: '{}' }),
  ];
  const write = async () => {
    const { store } = current();
    const fence = await startedRun(store);
    await store.commit(all.map((row) => [{ kind: 'row', fence, datasetNo: 1, row }]));
    return { store, fence, runNo: fence.runNo };
  };

  it('reads the rows of a range that exist, in order', async () => {
    const { store, runNo } = await write();
    const maxBytes = 1e6;
    expect(await store.datasets.rows(runNo, 1, { from: 0, to: 7, maxBytes })).toEqual(all);
    expect(await store.datasets.rows(runNo, 1, { from: 1, to: 6, maxBytes })).toEqual(all.slice(1, 3));
    expect(await store.datasets.rows(runNo, 1, { from: 4, to: 6, maxBytes })).toEqual([]);
    expect(await store.datasets.rows(runNo, 2, { from: 0, to: 7, maxBytes })).toEqual([]);
  });

  it('stops at the byte budget, but never before the first row', async () => {
    const { store, runNo, fence } = await write();
    const large = rowRecord(1, { cells: `["${'x'.repeat(2_000_000)}"]` });
    await committed(store, { kind: 'row', fence, datasetNo: 1, row: large });
    const ordinals = async (from: number, maxBytes: number) =>
      (await store.datasets.rows(runNo, 1, { from, to: 7, maxBytes })).map((row) => row.ordinal);
    expect(await ordinals(0, 1_000)).toEqual([0]);
    expect(await ordinals(1, 1_000)).toEqual([1]);
    expect(await ordinals(2, 1_000)).toEqual([2, 3, 6]);
    expect(await ordinals(0, 3_000_000)).toEqual([0, 1, 2, 3, 6]);
  });

  it('forgets the records of a whole dataset, and of no other, those of the same transaction too', async () => {
    const { store, reopen } = current();
    const fence = await startedRun(store);
    const other = await startedRun(store, 'other');
    const row = (of: typeof fence, datasetNo: number, ordinal: number) =>
      ({ kind: 'row', fence: of, datasetNo, row: rowRecord(ordinal) }) as const;
    await committed(store, row(fence, 1, 0), row(fence, 2, 0), row(other, 1, 0));
    await committed(store, row(fence, 1, 1), { kind: 'forgetRows', fence, datasetNo: 1 }, row(fence, 1, 2));
    await committed(store, { kind: 'forgetRows', fence, datasetNo: 9 });
    const again = await reopen();
    expect([...(await again.datasets.rowStates(fence.runNo, 1, 0, 3))]).toEqual([0, 0, 1]);
    expect([...(await again.datasets.rowStates(fence.runNo, 2, 0, 1))]).toEqual([1]);
    expect([...(await again.datasets.rowStates(other.runNo, 1, 0, 1))]).toEqual([1]);
  });

  it('says the state of each row, and counts them', async () => {
    const { store, runNo } = await write();
    expect([...(await store.datasets.rowStates(runNo, 1, 0, 8))]).toEqual([1, 0, 2, 3, 0, 0, 2, 0]);
    expect([...(await store.datasets.rowStates(runNo, 1, 2, 4))]).toEqual([2, 3]);
    expect([...(await store.datasets.rowStates(runNo, 5, 0, 2))]).toEqual([0, 0]);
    expect(await store.datasets.rowCounts(runNo, 1)).toEqual({ completed: 1, failed: 2, parked: 1, credits: 2.5 });
    expect(await store.datasets.rowCounts(runNo, 5)).toEqual({ completed: 0, failed: 0, parked: 0, credits: 0 });
  });

  it('counts finished rows by how their legs ended', async () => {
    const { store } = current();
    const fence = await startedRun(store);
    const row = (ordinal: number, more: Parameters<typeof rowRecord>[1]) =>
      ({ kind: 'row', fence, datasetNo: 1, row: rowRecord(ordinal, more) }) as const;
    const errors = { legs: 'mu', errors: { 1: { code: 'X', message: 'x' } } };
    await committed(
      store,
      row(0, { trace: '"hs"', credits: 1 }),
      row(1, { trace: '"hs"', credits: 2 }),
      row(2, { trace: JSON.stringify(errors), credits: 0 }),
      row(3, { trace: '"hs"', state: 'failed', credits: 4 }),
      row(4, { trace: null, cells: '["a",null,[null]]', credits: 0 }),
      row(5, { trace: '"hs"', state: 'parked', credits: 9 }),
      row(6, { trace: null, cells: '[]', credits: 0 }),
    );
    expect(await store.datasets.legCounts(fence.runNo, 1)).toEqual([
      { state: 'completed', legs: '', rows: 1, credits: 0 },
      { state: 'completed', legs: 'hmh', rows: 1, credits: 0 },
      { state: 'completed', legs: 'hs', rows: 2, credits: 3 },
      { state: 'completed', legs: 'mu', rows: 1, credits: 0 },
      { state: 'failed', legs: 'hs', rows: 1, credits: 4 },
    ]);
    expect(await store.datasets.legCounts(fence.runNo, 7)).toEqual([]);
  });

  it('replaces the record of the same row, and pages through failed ones', async () => {
    const { store, runNo, fence } = await write();
    await committed(store, { kind: 'row', fence, datasetNo: 1, row: rowRecord(3, { state: 'completed', credits: 3 }) });
    expect(await store.datasets.rowCounts(runNo, 1)).toMatchObject({ completed: 2, parked: 0, credits: 5 });
    const page = async (afterOrdinal: number, limit: number) =>
      (await store.report.failedRows(runNo, 1, { afterOrdinal, limit })).map((row) => row.ordinal);
    expect(await page(-1, 1)).toEqual([2]);
    expect(await page(2, 9)).toEqual([6]);
    await committed(store, { kind: 'row', fence, datasetNo: 1, row: rowRecord(2) });
    expect(await page(-1, 9)).toEqual([6]);
    expect(await store.report.failedRows(runNo, 9, { afterOrdinal: -1, limit: 9 })).toEqual([]);
  });
}
