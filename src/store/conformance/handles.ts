import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { digest } from '../../scope/index.ts';
import { StaleAttemptError } from '../../sdk/index.ts';
import type { Write } from '../writes.ts';
import {
  bought,
  callEntry,
  committed,
  lease,
  newReceipt,
  rowRecord,
  type StoreUnderTest,
  startedRun,
} from './samples.ts';

const any = (key: string) => ({ key: digest(key), notBefore: undefined });

export function handles(current: () => StoreUnderTest): void {
  it('sees receipts of another handle, and never gives two the same id', async () => {
    const { store, another } = current();
    const other = await another();
    const ids: number[] = [];
    for (const [handle, key] of [
      [store, 'a'],
      [other, 'b'],
      [other, 'a'],
      [store, 'c'],
      [other, 'd'],
    ] as const) {
      expect(await handle.calls.receiptsByKeys([any('nothing')])).toEqual([undefined]);
      ids.push(await bought(handle, newReceipt(key)));
    }
    expect(ids).toEqual([1, 2, 3, 4, 5]);
    for (const handle of [store, other])
      expect((await handle.calls.receiptsByKeys(['a', 'b', 'c', 'd'].map(any))).map((receipt) => receipt?.id)).toEqual([
        3, 2, 4, 5,
      ]);
    await other.close();
  });

  verifies('STORE-FENCE-1', 'fences one handle with the attempt that another began', async () => {
    const { store, another } = current();
    const fence = await startedRun(store);
    await committed(store, { kind: 'row', fence, datasetNo: 1, row: rowRecord(0) });
    const other = await another();
    await committed(other, lease('run_1', 2, { takeOver: true }));
    const late: Write = { kind: 'row', fence, datasetNo: 1, row: rowRecord(1) };
    await expect(committed(store, late)).rejects.toBeInstanceOf(StaleAttemptError);
    // Rows of the same place, written by two handles, are the same row.
    await committed(other, {
      kind: 'row',
      fence: { ...fence, attempt: 2 },
      datasetNo: 1,
      row: rowRecord(0, { credits: 9 }),
    });
    expect(await store.datasets.rowCounts(fence.runNo, 1)).toMatchObject({ completed: 1, credits: 9 });
    await other.close();
  });

  it('has everything after it is opened again', async () => {
    const { store, reopen } = current();
    const fence = await startedRun(store);
    const receiptId = await bought(store, newReceipt('a', { raw: 'x'.repeat(300_000), runNo: fence.runNo }));
    const place = { datasetNo: 1, ordinal: 3 };
    await committed(
      store,
      { kind: 'call', fence, place, entry: callEntry('c', { receiptId }) },
      { kind: 'row', fence, datasetNo: 1, row: rowRecord(3) },
    );
    const again = await reopen();
    expect(await again.runs.run('run_1')).toMatchObject({ no: fence.runNo, attempt: 1 });
    expect(await again.calls.receiptsByKeys([any('a')])).toMatchObject([
      { id: receiptId, tool: 'hunter.email_finder' },
    ]);
    expect(await again.calls.receiptRaw(receiptId)).toBe('x'.repeat(300_000));
    expect((await again.calls.journal(fence.runNo, 1, [3])).get(3)).toEqual([callEntry('c', { receiptId })]);
    expect(await again.datasets.rowCounts(fence.runNo, 1)).toMatchObject({ completed: 1 });
    expect(await bought(again, newReceipt('b'))).toBe(receiptId + 1);
  });
}
