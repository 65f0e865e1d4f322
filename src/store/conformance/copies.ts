import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { digest, type Fence } from '../../scope/index.ts';
import type { Store } from '../port.ts';
import type { Write } from '../writes.ts';
import {
  AT,
  armed,
  boundaryEntry,
  callEntry,
  committed,
  frameRecord,
  lease,
  newRun,
  newWait,
  operationRecord,
  RUN_PLACE,
  row,
  rowRecord,
  type StoreUnderTest,
  startedRun,
} from './samples.ts';

const CSV = boundaryEntry('people.csv', { kind: 'csv' });
const COPIED = 'run_2';

function copy(fence: Fence, again: Extract<Write, { kind: 'copyRun' }>['again'] = []): Write {
  return { kind: 'copyRun', fromRunNo: fence.runNo, toRunId: COPIED, again };
}

/** A run with two datasets of which the second is spooled, a csv boundary, and what is not to be copied. */
async function source(store: Store): Promise<Fence> {
  // Spaces of other runs lie before, so that places cannot agree by chance.
  const other = await startedRun(store, 'other');
  await committed(store, { kind: 'row', fence: other, datasetNo: 1, row: rowRecord(0) });
  const fence = await startedRun(store);
  const keys = (first: number) => new Uint8Array(2 * 16).fill(first + 1);
  await committed(
    store,
    { kind: 'boundary', fence, place: RUN_PLACE, entry: CSV },
    { kind: 'boundary', fence, place: row(1), entry: boundaryEntry('step') },
    { kind: 'call', fence, place: row(1), entry: callEntry('call') },
    {
      kind: 'event',
      runNo: fence.runNo,
      event: { at: AT, type: 'x', level: 'info', datasetNo: null, ordinal: null, message: 'x', data: null },
    },
  );
  await committed(
    store,
    { kind: 'frame', fence, frame: frameRecord(1) },
    { kind: 'frame', fence, frame: frameRecord(2, { key: 'firms', sealed: false }) },
    { kind: 'frameChunk', fence, datasetNo: 1, first: 0, keys: keys(0), repeats: new Int32Array([-1, 0]) },
    { kind: 'frameChunk', fence, datasetNo: 1, first: 2, keys: keys(2), repeats: new Int32Array([-1, -1]) },
    { kind: 'spool', fence, datasetNo: 2, first: 0, rows: ['{"a":1}', '{"a":"日本"}'] },
    { kind: 'row', fence, datasetNo: 1, row: rowRecord(0) },
    { kind: 'row', fence, datasetNo: 1, row: rowRecord(1, { state: 'failed', error: '{"code":"X"}', trace: '[]' }) },
    { kind: 'row', fence, datasetNo: 1, row: rowRecord(2, { state: 'parked' }) },
    { kind: 'row', fence, datasetNo: 2, row: rowRecord(0) },
    { kind: 'row', fence, datasetNo: 2, row: rowRecord(1) },
  );
  await armed(store, { fence, place: row(2), wait: newWait('approved') });
  return fence;
}

async function newest(store: Store): Promise<number> {
  return (await store.runs.run(COPIED))?.no ?? 0;
}

export function copies(current: () => StoreUnderTest): void {
  verifies('STORE-COPY-1', 'gives a new run the frames, sources and rows of another, and nothing else', async () => {
    const { store, reopen } = current();
    const fence = await source(store);
    // The run is made, and rows are still written, in the same transaction.
    await committed(
      store,
      { kind: 'run', run: newRun(COPIED, { replayedFrom: 'run_1' }) },
      { kind: 'row', fence, datasetNo: 2, row: rowRecord(2) },
      copy(fence),
    );
    const again = await reopen();
    const runNo = await newest(again);
    const all = { from: 0, to: 9, maxBytes: 1e6 };
    for (const datasetNo of [1, 2]) {
      const both = [fence.runNo, runNo] as const;
      const [rows, copiedRows] = await Promise.all(both.map((no) => again.datasets.rows(no, datasetNo, all)));
      expect(rows).toHaveLength(3);
      // What they cost was paid by the source.
      expect(copiedRows).toEqual(rows?.map((record) => ({ ...record, credits: 0 })));
    }
    expect(await again.datasets.frames(runNo)).toEqual(await again.datasets.frames(fence.runNo));
    expect(await again.datasets.frameChunk(runNo, 1, 0, 4)).toEqual(
      await again.datasets.frameChunk(fence.runNo, 1, 0, 4),
    );
    expect((await again.datasets.frameChunk(runNo, 1, 0, 4)).repeats).toEqual(new Int32Array([-1, 0, -1, -1]));
    expect(await again.datasets.spool(runNo, 2, 0, 9)).toEqual(['{"a":1}', '{"a":"日本"}']);
    expect(await again.report.boundariesOfRun(runNo, 9)).toEqual([{ ...CSV, place: RUN_PLACE }]);
    expect((await again.calls.journal(runNo, 1, [1])).size).toBe(0);
    expect((await again.runs.waits(runNo, 1, [2])).size).toBe(0);
    expect(await again.runs.openWaits(runNo)).toEqual({ wakeAt: null, events: [] });
    expect(await again.report.events(runNo, { afterSeq: 0, limit: 9 })).toEqual([]);
    expect(await again.runs.run(COPIED)).toMatchObject({ status: 'queued', attempt: 0 });
  });

  verifies('STORE-COPY-3', 'knows the reruns of a run, and reruns of those', async () => {
    const { store } = current();
    await committed(
      store,
      ...[
        ['a', null],
        ['b', 'a'],
        ['x', null],
        ['c', 'b'],
        ['y', 'x'],
        ['d', 'a'],
      ].map(([id = '', replayedFrom = null]): Write => ({ kind: 'run', run: newRun(id ?? '', { replayedFrom }) })),
    );
    const ids = async (id: string) => (await store.runs.rerunsOf(id)).map((run) => run.id);
    expect(await ids('a')).toEqual(['b', 'c', 'd']);
    expect(await ids('b')).toEqual(['c']);
    expect(await ids('d')).toEqual([]);
  });

  verifies('STORE-COPY-1', 'leaves out the records of rows that are to be done again', async () => {
    const { store } = current();
    const fence = await source(store);
    await committed(store, { kind: 'run', run: newRun(COPIED) });
    await committed(
      store,
      copy(fence, [
        { datasetNo: 1, ordinals: [1, 7] },
        { datasetNo: 1, ordinals: [2] },
        { datasetNo: 2, ordinals: 'all' },
      ]),
    );
    const runNo = await newest(store);
    expect([...(await store.datasets.rowStates(runNo, 1, 0, 3))]).toEqual([1, 0, 0]);
    expect([...(await store.datasets.rowStates(runNo, 2, 0, 3))]).toEqual([0, 0, 0]);
    expect(await store.datasets.frames(runNo)).toHaveLength(2);
    expect([...(await store.datasets.rowStates(fence.runNo, 1, 0, 3))]).toEqual([1, 2, 3]);
  });

  verifies('STORE-COPY-2', 'hands on what is in doubt, but not what was answered, not done or given up', async () => {
    const { store } = current();
    const fence = await source(store);
    const operation = (call: string, state: 'intended' | 'retrying' = 'intended'): Write => ({
      kind: 'operation',
      fence,
      place: row(1),
      operation: operationRecord(call, { state }),
    });
    const call = (of: string, outcome: 'completed' | 'failed'): Write => ({
      kind: 'call',
      fence,
      place: row(1),
      entry: callEntry(of, { outcome }),
    });
    const resolve = (of: string, as: 'done' | 'notDone'): Write => ({
      kind: 'resolve',
      runId: 'run_1',
      callId: digest(of),
      as,
      answer: null,
      at: AT,
    });
    await committed(store, { kind: 'run', run: newRun(COPIED) });
    await committed(
      store,
      ...['doubt', 'failed in doubt', 'answered', 'done', 'not done'].map((of) => operation(of)),
      ...['trying', 'given up'].map((of) => operation(of, 'retrying')),
      {
        ...{ kind: 'operation', fence, place: row(1) },
        operation: operationRecord('a read', { state: 'retrying', site: digest('a read') }),
      },
      call('failed in doubt', 'failed'),
      call('answered', 'completed'),
      call('given up', 'failed'),
      resolve('done', 'done'),
      resolve('not done', 'notDone'),
      copy(fence, [{ datasetNo: 1, ordinals: 'all' }]),
    );
    const runNo = await newest(store);
    const copied = (await store.calls.operations(runNo, 1, [1])).get(1);
    expect(copied?.map((of) => of.label).sort()).toEqual(['done', 'doubt', 'failed in doubt', 'trying']);
    expect(copied).toContainEqual({ ...operationRecord('doubt'), isInherited: true });
    // They are the new run's own: resolved there, they stay in doubt in the source.
    await committed(store, { ...resolve('doubt', 'notDone'), runId: COPIED } as Write, lease(COPIED, 1));
    const resent = { ...operation('doubt'), fence: { runNo, attempt: 1 } } as Write;
    await committed(store, resent);
    expect((await store.calls.operations(runNo, 1, [1])).get(1)).toContainEqual(operationRecord('doubt'));
    expect((await store.calls.operations(fence.runNo, 1, [1])).get(1)).toContainEqual(operationRecord('doubt'));
  });

  verifies('STORE-COPY-1', 'only goes into a run that was never worked on, whole or not at all', async () => {
    const { store } = current();
    const fence = await source(store);
    const missing = { name: 'StoreConflict', what: 'run-missing' };
    await expect(committed(store, copy(fence))).rejects.toMatchObject(missing);
    await committed(store, { kind: 'run', run: newRun(COPIED) });
    await expect(committed(store, copy({ runNo: 99, attempt: 1 }))).rejects.toMatchObject(missing);
    await expect(committed(store, copy(fence), lease('run_1', 7))).rejects.toMatchObject({ what: 'lease' });
    const runNo = await newest(store);
    expect(await store.datasets.frames(runNo)).toEqual([]);
    expect([...(await store.datasets.rowStates(runNo, 1, 0, 3))]).toEqual([0, 0, 0]);
    expect(await store.datasets.spool(runNo, 2, 0, 9)).toEqual([]);
    expect(await store.report.boundariesOfRun(runNo, 9)).toEqual([]);
    await committed(store, lease(COPIED, 1));
    await expect(committed(store, copy(fence))).rejects.toMatchObject(missing);
  });

  it('finds the runs that a run started, and those that they did', async () => {
    const { store } = current();
    const run = (id: string, parentRunId: string | null): Write => ({
      kind: 'run',
      run: newRun(id, { parentRunId, rootRunId: 'root' }),
    });
    await committed(store, run('root', null), run('child', 'root'), run('other', null), run('grandchild', 'child'));
    await committed(store, run('second child', 'root'));
    const ids = async (of: string) => (await store.runs.childrenOf(of)).map((each) => each.id);
    expect(await ids('root')).toEqual(['child', 'grandchild', 'second child']);
    expect(await ids('child')).toEqual(['grandchild']);
    expect(await ids('other')).toEqual([]);
  });
}
