import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { digest } from '../../scope/index.ts';
import { StaleAttemptError } from '../../sdk/index.ts';
import type { Unit } from '../port.ts';
import type { Write } from '../writes.ts';
import {
  boundaryEntry,
  callEntry,
  committed,
  frameRecord,
  lease,
  newReceipt,
  newRun,
  rowRecord,
  type StoreUnderTest,
  startedRun,
} from './samples.ts';

export function atomicity(current: () => StoreUnderTest): void {
  verifies(
    ['STORE-CONFORM-1', 'STORE-ATOMIC-1'],
    'writes nothing of a unit that fails, and takes back its numbers',
    async () => {
      const { store } = current();
      const fence = await startedRun(store);
      const receipt: Write = { kind: 'receipt', receipt: newReceipt('a') };
      const claim: Write = { kind: 'claim', fence, scope: 's', keys: [digest('k')] };
      const run: Write = { kind: 'run', run: newRun('run_2') };
      const [outcome] = await store.commit([
        [
          receipt,
          run,
          claim,
          { kind: 'row', fence, datasetNo: 1, row: rowRecord(0) },
          { kind: 'call', fence, place: { datasetNo: 1, ordinal: 0 }, entry: callEntry('c') },
          { kind: 'event', runNo: fence.runNo, event: event('made') },
          lease('run_1', 7),
        ],
      ]);
      expect(outcome?.ok).toBe(false);
      expect(receipt).not.toHaveProperty('id');
      expect(run).not.toHaveProperty('no');
      expect(claim).not.toHaveProperty('granted');
      expect(await store.calls.receiptsByKeys([{ key: digest('a'), notBefore: undefined }])).toEqual([undefined]);
      expect(await store.runs.run('run_2')).toBeUndefined();
      expect(await store.datasets.rowStates(fence.runNo, 1, 0, 1)).toEqual(new Uint8Array(1));
      expect((await store.calls.journal(fence.runNo, 1, [0])).size).toBe(0);
      expect(await store.report.events(fence.runNo, { afterSeq: 0, limit: 9 })).toEqual([]);
      // What is written next gets the numbers that were taken back.
      await committed(store, receipt);
      expect(receipt.id).toBe(1);
    },
  );

  verifies('STORE-POINTER-1', 'writes a pointer with its receipt, or neither', async () => {
    const { store } = current();
    const fence = await startedRun(store);
    const unit = (attempt: number): Unit => [
      { kind: 'receipt', receipt: newReceipt('a') },
      {
        kind: 'call',
        fence: { ...fence, attempt },
        place: { datasetNo: 1, ordinal: 0 },
        entry: callEntry('c', { receiptId: 1 }),
      },
    ];
    expect(await store.commit([unit(0)])).toMatchObject([{ ok: false }]);
    expect(await store.calls.receiptsByIds([1])).toEqual([undefined]);
    expect(await store.commit([unit(1)])).toEqual([{ ok: true }]);
    expect((await store.calls.journal(fence.runNo, 1, [0])).get(0)).toMatchObject([{ receiptId: 1 }]);
    expect(await store.calls.receiptsByIds([1])).toMatchObject([{ id: 1 }]);
  });

  verifies(
    'STORE-GROUP-1',
    'rejects only the units of a group that fail, in order, each with its own error',
    async () => {
      const { store } = current();
      const fence = await startedRun(store);
      const row = (attempt: number, ordinal: number): Unit => [
        { kind: 'row', fence: { ...fence, attempt }, datasetNo: 1, row: rowRecord(ordinal) },
      ];
      const event1: Unit = [{ kind: 'event', runNo: fence.runNo, event: event('once') }];
      const outcomes = await store.commit([row(1, 0), row(0, 1), event1, [lease('run_x', 1)], row(1, 2)]);
      expect(outcomes.map((outcome) => outcome.ok)).toEqual([true, false, true, false, true]);
      expect(outcomes[1]).toMatchObject({ error: { code: 'STALE_ATTEMPT', details: { attempt: 0, current: 1 } } });
      expect(outcomes[3]).toMatchObject({ error: { what: 'run-missing' } });
      expect([...(await store.datasets.rowStates(fence.runNo, 1, 0, 3))]).toEqual([1, 0, 1]);
      expect(await store.report.events(fence.runNo, { afterSeq: 0, limit: 9 })).toHaveLength(1);
    },
  );

  verifies('STORE-FENCE-1', 'refuses every kind of state from a stale attempt, and takes facts', async () => {
    const { store } = current();
    const stale = await startedRun(store);
    await committed(store, lease('run_1', 2, { takeOver: true }));
    const place = { datasetNo: 1, ordinal: 0 };
    const state: Write[] = [
      { kind: 'heartbeat', fence: stale, until: 0 },
      { kind: 'runState', fence: stale, status: 'failed', at: 0, error: null, result: null, wakeAt: null },
      { kind: 'runOptions', fence: stale, options: '{}' },
      { kind: 'runArtifact', fence: stale, artifact: 'other' },
      { kind: 'forgetRows', fence: stale, datasetNo: 1 },
      { kind: 'call', fence: stale, place, entry: callEntry('c') },
      { kind: 'boundary', fence: stale, place, entry: boundaryEntry('b') },
      { kind: 'frame', fence: stale, frame: frameRecord(1) },
      {
        kind: 'frameChunk',
        fence: stale,
        datasetNo: 1,
        first: 0,
        keys: new Uint8Array(16),
        repeats: new Int32Array(1),
      },
      { kind: 'spool', fence: stale, datasetNo: 1, first: 0, rows: ['{}'] },
      { kind: 'row', fence: stale, datasetNo: 1, row: rowRecord(0) },
      { kind: 'claim', fence: stale, scope: 's', keys: [digest('k')] },
      { kind: 'releaseClaims', fence: stale },
    ];
    for (const write of state)
      await expect(committed(store, write), write.kind).rejects.toBeInstanceOf(StaleAttemptError);
    const receipt: Write = { kind: 'receipt', receipt: newReceipt('a', { runNo: stale.runNo }) };
    await committed(store, receipt, { kind: 'event', runNo: stale.runNo, event: event('late') });
    expect(receipt.id).toBe(1);
    expect(await store.report.events(stale.runNo, { afterSeq: 0, limit: 9 })).toHaveLength(1);
    expect(await store.runs.run('run_1')).toMatchObject({ status: 'running', attempt: 2 });
  });

  verifies('STORE-FENCE-1', 'fences with the attempt that the same group or unit begins', async () => {
    const { store } = current();
    const fence = await startedRun(store);
    const next = { ...fence, attempt: 2 };
    const row = (attempt: number, ordinal: number): Write => ({
      kind: 'row',
      fence: { ...fence, attempt },
      datasetNo: 1,
      row: rowRecord(ordinal),
    });
    const outcomes = await store.commit([
      [row(1, 0)],
      [lease('run_1', 2, { takeOver: true }), row(2, 1), { kind: 'heartbeat', fence: next, until: 5 }],
      [row(1, 2)],
    ]);
    expect(outcomes.map((outcome) => outcome.ok)).toEqual([true, true, false]);
    expect([...(await store.datasets.rowStates(fence.runNo, 1, 0, 3))]).toEqual([1, 1, 0]);
    const inOneUnit = [row(2, 2), lease('run_1', 3, { takeOver: true }), row(3, 3)];
    expect(await store.commit([inOneUnit])).toEqual([{ ok: true }]);
  });

  it('refuses state for a run that is not there', async () => {
    const { store } = current();
    const fence = { runNo: 99, attempt: 1 };
    const write: Write = { kind: 'heartbeat', fence, until: 0 };
    await expect(committed(store, write)).rejects.toMatchObject({ what: 'run-missing' });
  });

  it('accepts an empty group and an empty unit', async () => {
    const { store } = current();
    expect(await store.commit([])).toEqual([]);
    expect(await store.commit([[]])).toEqual([{ ok: true }]);
  });

  it('proves with a probe that it can be written', async () => {
    expect(await current().store.probe()).toBe(true);
  });
}

function event(type: string) {
  return { at: 1, type, level: 'info', datasetNo: null, ordinal: null, message: type, data: null } as const;
}
