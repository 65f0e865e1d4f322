import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { digest, type Fence } from '../../scope/index.ts';
import { StaleAttemptError } from '../../sdk/index.ts';
import type { CallEntry, CallInRun, OperationRecord } from '../records.ts';
import type { WriteOf } from '../write-of.ts';
import type { Write } from '../writes.ts';
import {
  AT,
  bought,
  callEntry,
  committed,
  ended,
  lease,
  newReceipt,
  newRun,
  operationRecord,
  row,
  type StoreUnderTest,
  startedRun,
} from './samples.ts';

const place = row(3);

function resolve(call: string, as: 'done' | 'notDone', runId = 'run_1'): Write {
  return { kind: 'resolve', runId, callId: digest(call), as, answer: as === 'done' ? '{"id":7}' : null, at: AT + 60 };
}

export function operations(current: () => StoreUnderTest): void {
  const at3 = async (runNo: number): Promise<readonly OperationRecord[] | undefined> =>
    (await current().store.calls.operations(runNo, 1, [3])).get(3);

  verifies('STORE-OPERATIONS-1', 'keeps intents and retry cursors by row and call, the newest of each', async () => {
    const { store, reopen } = current();
    const fence = await startedRun(store);
    const other = await startedRun(store, 'run_2');
    const intent = operationRecord('send');
    const cursor = operationRecord('find', { state: 'retrying', tries: 3, refusals: 2, waitUntil: AT + 9, at: AT + 1 });
    await committed(
      store,
      { kind: 'operation', fence, place, operation: operationRecord('find', { tries: 1, refusals: 0 }) },
      { kind: 'operation', fence, place, operation: intent },
      { kind: 'operation', fence, place, operation: cursor },
      { kind: 'operation', fence, place: row(0, 0), operation: intent },
      { kind: 'operation', fence: other, place, operation: intent },
    );
    const again = await reopen();
    const found = await again.calls.operations(fence.runNo, 1, [2, 3]);
    expect([...found.keys()]).toEqual([3]);
    expect(found.get(3)).toHaveLength(2);
    expect(found.get(3)).toEqual(expect.arrayContaining([intent, cursor]));
    expect((await again.calls.operations(99, 1, [3])).size).toBe(0);
    expect(await again.report.operationsOfRun(fence.runNo, 10)).toEqual([
      { ...intent, place: row(0, 0) },
      { ...intent, place },
      { ...cursor, place },
    ]);
    expect(await again.report.operationsOfRun(fence.runNo, 2)).toHaveLength(2);
  });

  verifies(
    'STORE-BATCHES-1',
    'gives the calls that went out under one key, in their order, whichever rows they are of',
    async () => {
      const { store, reopen } = current();
      const fence = await startedRun(store);
      const other = await startedRun(store, 'run_2');
      const member = (index: number, more: Partial<OperationRecord> = {}): OperationRecord =>
        operationRecord(`m${index}`, {
          operationKey: 'together',
          batch: { index, size: 3, input: `{"é":${index}}` },
          ...more,
        });
      const places = [row(8), row(2, 4), row(0, 0)] as const;
      await committed(
        store,
        ...[2, 0, 1].map(
          (index): Write => ({ kind: 'operation', fence, place: places[index] ?? place, operation: member(index) }),
        ),
        { kind: 'operation', fence, place, operation: operationRecord('alone', { operationKey: 'together' }) },
        { kind: 'operation', fence, place, operation: member(3, { operationKey: 'apart' }) },
        { kind: 'operation', fence: other, place, operation: member(1) },
      );
      const again = await reopen();
      expect(await again.calls.operationsOfBatch(fence.runNo, 'together')).toEqual(
        places.map((of, index) => ({ ...member(index), place: of })),
      );
      expect(await again.calls.operationsOfBatch(fence.runNo, 'none')).toEqual([]);
      // A later record of a call takes it out of its batch, and a rerun is given what is open of it.
      await committed(again, { kind: 'operation', fence, place: places[1], operation: member(1, { batch: null }) });
      expect(await again.calls.operationsOfBatch(fence.runNo, 'together')).toHaveLength(2);
      const copy: Write = { kind: 'run', run: newRun('run_3', { replayedFrom: 'run_1' }) };
      await committed(again, copy, { kind: 'copyRun', fromRunNo: fence.runNo, toRunId: 'run_3', again: [] });
      expect(await again.calls.operationsOfBatch(copy.no ?? 0, 'together')).toEqual([
        { ...member(0), place: places[0], isInherited: true },
        { ...member(2), place: places[2], isInherited: true },
      ]);
    },
  );

  verifies(
    'STORE-OPERATIONS-2',
    'is in doubt until its call has an answer; a failure may be the doubt itself',
    async () => {
      const { store } = current();
      const fence = await startedRun(store);
      const journalled = (call: string, outcome: 'completed' | 'no_result' | 'failed'): Write[] => [
        { kind: 'operation', fence, place, operation: operationRecord(call) },
        { kind: 'call', fence, place, entry: callEntry(call, { outcome }) },
      ];
      await committed(
        store,
        ...journalled('a', 'completed'),
        ...journalled('b', 'no_result'),
        ...journalled('c', 'failed'),
      );
      // The next attempt must know where writes were made, of those that were answered too.
      expect((await at3(fence.runNo))?.map(({ label }) => label).sort()).toEqual(['a', 'b', 'c']);
      expect(await store.report.operationsOfRun(fence.runNo, 9)).toEqual([{ ...operationRecord('c'), place }]);
      await expect(committed(store, resolve('a', 'done'))).rejects.toMatchObject({ what: 'operation-missing' });
      await committed(store, resolve('c', 'done'));
      // An answer of the same unit counts.
      const unit: Write[] = [...journalled('d', 'completed'), resolve('d', 'done')];
      await expect(committed(store, ...unit)).rejects.toMatchObject({ what: 'operation-missing' });
    },
  );

  verifies('STORE-OPERATIONS-3', 'resolves what is in doubt, once, and wakes the run', async () => {
    const { store } = current();
    const fence = await startedRun(store);
    const other = await startedRun(store, 'run_2');
    for (const state of ['intended', 'retrying'] as const)
      await committed(store, { kind: 'operation', fence, place, operation: operationRecord(state, { state }) });
    await committed(store, { kind: 'operation', fence: other, place, operation: operationRecord('intended') });
    await committed(store, ended(fence, 'waiting', { wakeAt: AT + 5_000 }));
    await committed(store, resolve('intended', 'done'));
    expect(await store.runs.run('run_1')).toMatchObject({ status: 'waiting', wakeAt: AT + 60 });
    await committed(store, resolve('retrying', 'notDone'));
    const done = operationRecord('intended', { state: 'done', answer: '{"id":7}', at: AT + 60 });
    const notDone = operationRecord('retrying', { state: 'notDone', at: AT + 60 });
    expect(await at3(fence.runNo)).toHaveLength(2);
    expect(await at3(fence.runNo)).toEqual(expect.arrayContaining([done, notDone]));
    expect(await at3(other.runNo)).toEqual([operationRecord('intended')]);
    for (const [write, what] of [
      [resolve('intended', 'notDone'), 'operation-missing'],
      [resolve('retrying', 'done'), 'operation-missing'],
      [resolve('other', 'done'), 'operation-missing'],
      [resolve('intended', 'done', 'run_x'), 'run-missing'],
    ] as const)
      await expect(committed(store, write)).rejects.toMatchObject({ name: 'StoreConflict', what });
    expect(await at3(fence.runNo)).toEqual(expect.arrayContaining([done, notDone]));
  });

  verifies(
    'STORE-OPERATIONS-3',
    'never writes over what was done, and over what was not only from a later attempt',
    async () => {
      const { store } = current();
      const fence = await startedRun(store);
      const later = { ...fence, attempt: 2 };
      const write = (of: typeof fence, call: string): Write => ({
        kind: 'operation',
        fence: of,
        place,
        operation: operationRecord(call, { tries: 2 }),
      });
      await committed(store, write(fence, 'a'), write(fence, 'b'), resolve('a', 'done'), resolve('b', 'notDone'));
      await committed(store, write(fence, 'a'), write(fence, 'b'));
      const states = async () => new Map((await at3(fence.runNo))?.map(({ label, state }) => [label, state]));
      expect(await states()).toEqual(
        new Map([
          ['a', 'done'],
          ['b', 'notDone'],
        ]),
      );
      await committed(store, lease('run_1', 2, { takeOver: true }), write(later, 'a'), write(later, 'b'));
      expect(await states()).toEqual(
        new Map([
          ['a', 'done'],
          ['b', 'intended'],
        ]),
      );
      await committed(store, resolve('b', 'done'));
    },
  );

  verifies(
    ['STORE-FENCE-1', 'STORE-ATOMIC-1'],
    'fences operations, takes them back with their unit, and lets anybody resolve',
    async () => {
      const { store } = current();
      const fence = await startedRun(store);
      const write: Write = { kind: 'operation', fence, place, operation: operationRecord('a') };
      await expect(committed(store, write, lease('run_1', 7))).rejects.toMatchObject({ what: 'lease' });
      expect(await at3(fence.runNo)).toBeUndefined();
      await committed(store, write);
      await expect(committed(store, resolve('a', 'done'), lease('run_1', 7))).rejects.toMatchObject({ what: 'lease' });
      expect(await at3(fence.runNo)).toEqual([operationRecord('a')]);
      await committed(store, lease('run_1', 2, { takeOver: true }));
      await expect(committed(store, write)).rejects.toBeInstanceOf(StaleAttemptError);
      await committed(store, resolve('a', 'done'));
      expect(await at3(fence.runNo)).toMatchObject([{ state: 'done' }]);
    },
  );

  verifies('STORE-OPERATIONS-4', 'says how a call stands in other runs, and what those only inherited', async () => {
    const { store, reopen } = current();
    const fence = await startedRun(store);
    const other = await startedRun(store, 'run_2');
    const [a, b] = [operationRecord('a', { at: AT + 3 }), operationRecord('b', { state: 'retrying' })];
    await committed(
      store,
      { kind: 'operation', fence, place, operation: a },
      { kind: 'operation', fence, place, operation: b },
      { kind: 'call', fence, place, entry: callEntry('b') },
      { kind: 'operation', fence: other, place: row(4), operation: a },
      { kind: 'call', fence: other, place, entry: callEntry('b', { outcome: 'failed' }) },
    );
    const copied: Write = { kind: 'run', run: newRun('run_3', { replayedFrom: 'run_1' }) };
    await committed(store, copied, { kind: 'copyRun', fromRunNo: fence.runNo, toRunId: 'run_3', again: [] });
    const third = copied.no ?? 0;
    const again = await reopen();
    const standing = (call: string) =>
      again.calls.callInRuns([third, other.runNo, 99, fence.runNo], place, digest(call));
    expect(await standing('a')).toEqual([
      { runNo: third, answered: false, operation: { ...a, isInherited: true }, inherited: true },
      { runNo: fence.runNo, answered: false, operation: a, inherited: false },
    ]);
    expect(await standing('b')).toEqual([
      { runNo: other.runNo, answered: false, operation: null, inherited: false },
      { runNo: fence.runNo, answered: true, operation: b, inherited: false },
    ]);
    expect(await standing('c')).toEqual([]);
  });

  verifies('STORE-OPERATIONS-5', 'is kept unless its family knows the call otherwise by now', async () => {
    const { store } = current();
    const fence = await startedRun(store);
    const rerun = await startedRun(store, 'run_2', { replayedFrom: 'run_1' });
    const third = await startedRun(store, 'run_3', { replayedFrom: 'run_2' });
    const stranger = await startedRun(store, 'run_4');
    const keep = async (of: typeof fence, standing: readonly CallInRun[], more: Write[] = []): Promise<boolean> => {
      const operation = operationRecord('a', { operationKey: `of run ${of.runNo}` });
      const write: WriteOf<'operation'> = {
        ...{ kind: 'operation', fence: of, place, operation },
        known: { root: 'run_1', standing },
      };
      await committed(store, ...more, write);
      return write.overtaken !== true;
    };
    const now = (of: typeof fence) => {
      const others = [fence, rerun, third].map(({ runNo }) => runNo).filter((no) => no !== of.runNo);
      return store.calls.callInRuns(others, place, digest('a'));
    };
    // What others than the family know is nothing to it.
    expect([await keep(stranger, []), await keep(rerun, [])]).toEqual([true, true]);
    expect([await keep(third, []), await keep(fence, []), await keep(rerun, [])]).toEqual([false, false, true]);
    expect(await at3(third.runNo)).toBeUndefined();
    const seen = await now(third);
    expect(seen).toHaveLength(1);
    // In one group with it, or in one unit, an answer counts.
    const answer: Write = { kind: 'call', fence: rerun, place, entry: callEntry('a') };
    expect(await keep(third, seen, [answer])).toBe(false);
    expect(await keep(third, await now(third))).toBe(true);
    expect([await keep(fence, seen), await keep(fence, await now(fence))]).toEqual([false, true]);
    expect(await at3(fence.runNo)).toMatchObject([{ operationKey: `of run ${fence.runNo}` }]);
    const other = operationRecord('a', { state: 'retrying', operationKey: `of run ${third.runNo}` });
    const before = await now(fence);
    await committed(store, { kind: 'operation', fence: third, place, operation: other });
    expect([await keep(fence, before), await keep(fence, await now(fence))]).toEqual([false, true]);
  });

  verifies('STORE-OPERATIONS-6', 'is paid once in its family, by whichever run is the first to say so', async () => {
    const { store } = current();
    const fences = [await startedRun(store)];
    for (const id of ['run_2', 'run_3']) fences.push(await startedRun(store, id, { replayedFrom: 'run_1' }));
    const [source, one, two] = fences as [Fence, Fence, Fence];
    const stranger = await startedRun(store, 'run_4');
    const keep = (fence: Fence, operationKey = 'one key'): Write => {
      return { kind: 'operation', fence, place, operation: operationRecord('a', { operationKey }) };
    };
    const end = async (fence: Fence, more: Partial<CallEntry> = {}): Promise<readonly (number | boolean)[]> => {
      const write: WriteOf<'call'> = {
        ...{ kind: 'call', fence, place, family: 'run_1' },
        entry: callEntry('a', { credits: 2, ...more }),
      };
      await committed(store, write);
      const entries = (await store.calls.journal(fence.runNo, 1, [3])).get(3);
      return [write.isPaidElsewhere === true, entries?.[0]?.credits ?? -1];
    };
    await committed(store, keep(source), keep(one), keep(two, 'another'), keep(stranger));
    // What another key, another run's answer for nothing or a run of no such family says is another matter.
    expect([await end(stranger), await end(two)]).toEqual([
      [false, 2],
      [false, 2],
    ]);
    expect(await end(source, { credits: 0 })).toEqual([false, 0]);
    expect(await end(one)).toEqual([false, 2]);
    expect(await end(source)).toEqual([true, 0]);
    // Told again, the one that has paid goes on paying.
    expect(await end(one, { credits: 3 })).toEqual([false, 3]);
    await committed(store, keep(two));
    expect(await end(two)).toEqual([true, 0]);
  });

  verifies('STORE-OPERATIONS-4', 'gives the writes of a run with how they ended, and no read', async () => {
    const { store, reopen } = current();
    const fence = await startedRun(store);
    const other = await startedRun(store, 'run_2');
    const begun = operationRecord('begun', { site: digest('site') });
    const ended = operationRecord('ended', { state: 'retrying', refusals: 2, site: digest('site') });
    const pointed = callEntry('pointed', { effect: 'write', outcome: 'no_result', source: 'source_run' });
    const failed = callEntry('failed', { effect: 'write', outcome: 'failed' });
    await committed(
      store,
      { kind: 'operation', fence, place: row(9_000), operation: begun },
      { kind: 'operation', fence, place, operation: ended },
      { kind: 'call', fence, place, entry: callEntry('ended', { effect: 'write' }) },
      { kind: 'call', fence, place: row(0, 0), entry: pointed },
      { kind: 'call', fence, place: row(3, 2), entry: failed },
      { kind: 'call', fence, place, entry: callEntry('read') },
      { kind: 'operation', fence, place, operation: operationRecord('of a read', { site: digest('of a read') }) },
      { kind: 'operation', fence: other, place, operation: begun },
    );
    const shown = ({ callId, path, label, tool, inputDigest }: OperationRecord | CallEntry) => ({
      ...{ callId, path, label, tool, inputDigest },
    });
    expect(await (await reopen()).calls.writesOfRun(fence.runNo)).toEqual([
      { ...shown(pointed), place: row(0, 0), answered: true, operation: null },
      { ...shown(ended), place, answered: true, operation: { state: 'retrying', refusals: 2 } },
      {
        ...shown(begun),
        place: row(9_000),
        answered: false,
        operation: { state: 'intended', refusals: begun.refusals },
      },
      { ...shown(failed), place: row(3, 2), answered: false, operation: null },
    ]);
  });

  it('does not count what steps and fetches keep among receipts that are not settled', async () => {
    const { store } = current();
    const { runNo } = await startedRun(store);
    const call = await bought(store, newReceipt('a', { runNo }));
    for (const tool of ['ctx.step', 'ctx.fetch']) await bought(store, newReceipt(tool, { runNo, tool }));
    expect((await store.calls.unsettledReceipts(runNo)).map((receipt) => receipt.id)).toEqual([call]);
  });
}
