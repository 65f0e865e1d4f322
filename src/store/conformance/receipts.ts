import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { digest } from '../../scope/index.ts';
import type { WriteOf } from '../write-of.ts';
import type { Write } from '../writes.ts';
import { AT, bought, callEntry, committed, newReceipt, type StoreUnderTest, startedRun } from './samples.ts';

const any = (key: string) => ({ key: digest(key), notBefore: undefined });

export function receiptWrites(current: () => StoreUnderTest): void {
  it('numbers receipts upwards and returns what was stored', async () => {
    const { store } = current();
    const a: Write = { kind: 'receipt', receipt: newReceipt('a', { raw: '{"Ü":"日本 🎉 \\u0000"}' }) };
    const b: Write = { kind: 'receipt', receipt: newReceipt('b', { reusable: false, account: 'x/y', version: '2' }) };
    await store.commit([[a], [b]]);
    expect([a.id, b.id]).toEqual([1, 2]);
    const { input: _, ...stored } = newReceipt('a', { raw: '{"Ü":"日本 🎉 \\u0000"}' });
    const [first, second, none] = await store.calls.receiptsByIds([1, 2, 3]);
    expect(first).toEqual({ ...stored, id: 1, rawBytes: Buffer.byteLength(stored.raw) });
    expect(second).toMatchObject({ id: 2, reusable: false, account: 'x/y', version: '2' });
    expect(none).toBeUndefined();
  });

  it('leaves answers above 64 KiB out of grouped reads, and gives them singly', async () => {
    const { store } = current();
    const sizes = [65_536, 65_537, 262_144, 262_145, 3_000_000];
    for (const size of sizes) {
      // Not compressible to nothing, and with characters of more than one byte.
      const text = Array.from({ length: size - 3 }, (_, at) => String.fromCharCode(97 + ((at * at) % 23))).join('');
      const raw = `"é${text.slice(1)}"`;
      const id = await bought(store, newReceipt(`size ${size}`, { raw }));
      expect(Buffer.byteLength(raw)).toBe(size);
      const [byKey] = await store.calls.receiptsByKeys([any(`size ${size}`)]);
      expect(byKey?.rawBytes).toBe(size);
      expect(byKey?.raw === undefined).toBe(size > 65_536);
      expect((await store.calls.receiptRaw(id)) === raw).toBe(true);
    }
    expect(await store.calls.receiptRaw(99)).toBeUndefined();
  });

  it('numbers receipts without a gap after a unit that failed', async () => {
    const { store } = current();
    const ok: Write = { kind: 'receipt', receipt: newReceipt('ok') };
    const bad: Write = { kind: 'receipt', receipt: newReceipt('bad') };
    const last: Write = { kind: 'receipt', receipt: newReceipt('last') };
    await store.commit([[bad, { kind: 'cancel', runId: 'nobody' }], [ok], [last]]);
    expect([ok.id, last.id]).toEqual([1, 2]);
    expect(await store.calls.receiptsByKeys([any('bad'), any('ok'), any('last')])).toMatchObject([
      undefined,
      { id: 1 },
      { id: 2 },
    ]);
  });
}

export function receiptReads(current: () => StoreUnderTest): void {
  it('finds the newest receipt under each key, in the order of the queries', async () => {
    const { store } = current();
    for (const key of ['a', 'b', 'a']) await bought(store, newReceipt(key));
    const found = await store.calls.receiptsByKeys([any('b'), any('none'), any('a'), any('b')]);
    expect(found.map((receipt) => receipt?.id)).toEqual([2, undefined, 3, 2]);
    expect(await store.calls.receiptsByKeys([])).toEqual([]);
  });

  it('finds all of many receipts', async () => {
    const { store } = current();
    const keys = Array.from({ length: 300 }, (_, at) => `key ${at}`);
    await store.commit(keys.map((key) => [{ kind: 'receipt', receipt: newReceipt(key) }]));
    const found = await store.calls.receiptsByKeys(keys.map(any));
    expect(found.map((receipt) => receipt?.key)).toEqual(keys.map(digest));
  });

  it('compares the whole key, not only its beginning', async () => {
    const { store } = current();
    const key = digest('a');
    const alike = `${key.slice(0, 20)}${'A'.repeat(23)}`;
    await bought(store, newReceipt('a', { key: alike }));
    expect(await store.calls.receiptsByKeys([{ key, notBefore: undefined }])).toEqual([undefined]);
    await bought(store, newReceipt('a', { key }));
    await bought(store, newReceipt('a', { key: alike }));
    expect(await store.calls.receiptsByKeys([{ key, notBefore: undefined }])).toMatchObject([{ id: 2, key }]);
  });

  it('passes over receipts that are too old', async () => {
    const { store } = current();
    await bought(store, newReceipt('a', { at: AT }));
    const query = (notBefore: number) => store.calls.receiptsByKeys([{ key: digest('a'), notBefore }]);
    expect(await query(AT)).toMatchObject([{ id: 1 }]);
    expect(await query(AT + 1)).toEqual([undefined]);
  });

  it('falls back to an older one behind receipts that are not reusable, evicted or too old', async () => {
    const { store } = current();
    await bought(store, newReceipt('a', { at: AT + 5 }));
    await bought(store, newReceipt('a', { at: AT + 1 }));
    await bought(store, newReceipt('a', { reusable: false, at: AT + 9 }));
    const evicted = await bought(store, newReceipt('a', { at: AT + 9 }));
    await committed(store, { kind: 'evict', receiptIds: [evicted, 77], at: AT + 10 });
    expect(await store.calls.receiptsByKeys([any('a')])).toMatchObject([{ id: 2 }]);
    expect(await store.calls.receiptsByKeys([{ key: digest('a'), notBefore: AT + 2 }])).toMatchObject([{ id: 1 }]);
    // Journals name receipts by id: those stay.
    expect(await store.calls.receiptsByIds([evicted])).toMatchObject([{ id: evicted }]);
    expect(await store.report.receipt(evicted)).toMatchObject({ evictedAt: AT + 10 });
  });

  verifies(
    'STORE-BATCHES-1',
    'finds what other receipts point at by its key, evicted and not reusable ones too',
    async () => {
      const { store } = current();
      const older = await bought(store, newReceipt('a'));
      const whole = await bought(store, newReceipt('a', { reusable: false }));
      await committed(store, { kind: 'evict', receiptIds: [older, whole], at: AT });
      const every = { ...any('a'), every: true } as const;
      const found = await store.calls.receiptsByKeys([any('a'), every, { ...every, notBefore: AT + 1 }]);
      expect(found.map((receipt) => receipt?.id)).toEqual([undefined, whole, undefined]);
    },
  );

  it('evicts a receipt of the same unit, and keeps the first instant', async () => {
    const { store } = current();
    await committed(
      store,
      { kind: 'receipt', receipt: newReceipt('a') },
      { kind: 'evict', receiptIds: [1], at: AT },
      { kind: 'evict', receiptIds: [1], at: AT + 1 },
    );
    expect(await store.calls.receiptsByKeys([any('a')])).toEqual([undefined]);
    expect(await store.report.receipt(1)).toMatchObject({ evictedAt: AT });
  });

  verifies(
    'JOB-SHARED-1',
    'the first receipt that ends a job is its end, and any other was charged nothing',
    async () => {
      const { store } = current();
      const fence = await startedRun(store);
      const { runNo } = fence;
      const start = await bought(store, newReceipt('start', { runNo }));
      const receipts = ['0', '1'].map((callId): WriteOf<'receipt'> => {
        return { kind: 'receipt', receipt: newReceipt('end', { runNo, callId: digest(callId) }) };
      });
      const told: unknown[] = [];
      for (const [n, end] of receipts.entries()) {
        const first: WriteOf<'endJob'> = { kind: 'endJob', start, end, at: AT + 5 + n };
        await committed(store, end, first);
        // Who reads it anew finds what it was.
        const again: WriteOf<'endJob'> = { ...first, at: AT + 9 };
        await committed(store, again);
        told.push(first.isEndedBefore, again.isEndedBefore);
      }
      expect(told).toEqual([false, false, true, true]);
      const [first = 0, second = 0] = receipts.map(({ id }) => id);
      expect(await store.report.receipt(start)).toMatchObject({ evictedAt: AT + 5 });
      expect((await store.calls.receiptsByKeys([any('end')])).map((found) => found?.id)).toEqual([first]);
      expect((await store.calls.unsettledReceipts(runNo)).map(({ id }) => id)).toContain(first);
      expect((await store.calls.unsettledReceipts(runNo)).map(({ id }) => id)).not.toContain(second);
    },
  );

  it('tells which receipts of a run no live entry of its journal names', async () => {
    const { store } = current();
    await bought(store, newReceipt('before', { runNo: 50 }));
    const fence = await startedRun(store);
    const { runNo } = fence;
    const settled = await bought(store, newReceipt('settled', { runNo }));
    const open = await bought(store, newReceipt('open', { runNo }));
    await bought(store, newReceipt('of another', { runNo: 50 }));
    const late = await bought(store, newReceipt('late', { runNo, reusable: false }));
    // The whole answer of a batch belongs to no call.
    await bought(store, newReceipt('whole', { runNo, callId: digest('whole') }));
    const entry = callEntry('c', { receiptId: settled });
    await committed(store, { kind: 'call', fence, place: { datasetNo: 2, ordinal: 70 }, entry });
    // A call that shared the answer is journalled, the one that paid for it not yet.
    const shared = callEntry('d', { receiptId: open, source: 'coalesced' });
    await committed(store, { kind: 'call', fence, place: { datasetNo: 2, ordinal: 71 }, entry: shared });
    // Whoever evicts an answer has paid for it all the same; one that never was an answer was charged nothing.
    const refused = await bought(store, newReceipt('refused', { runNo }));
    await committed(
      store,
      { kind: 'evict', receiptIds: [refused], at: AT },
      { kind: 'evict', receiptIds: [late], at: AT + 1 },
    );
    expect((await store.calls.unsettledReceipts(runNo)).map((receipt) => receipt.id)).toEqual([open, late]);
    expect(await store.calls.unsettledReceipts(99)).toEqual([]);
  });
}
