import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { CallReads, ReceiptQuery, StoredReceipt } from '../store/index.ts';
import { Lookup } from './lookup.ts';

const receipt = (id: number, raw: string | undefined): StoredReceipt =>
  ({
    id,
    key: `k${id}`,
    raw,
    rawBytes: raw?.length ?? 5_000_000,
    at: id,
    durationMs: 1,
    callId: `c${id}`,
  }) as unknown as StoredReceipt;

/** A store that says how it was asked, and how many large answers were being read at once. */
function reads(answer: (key: string) => StoredReceipt | undefined) {
  const groups: number[] = [];
  let large = 0;
  let most = 0;
  const calls = {
    receiptsByKeys: async (queries: readonly ReceiptQuery[]) => {
      groups.push(queries.length);
      return queries.map(({ key }) => answer(key));
    },
    receiptsByIds: async (ids: readonly number[]) => {
      groups.push(ids.length);
      return ids.map((id) => receipt(id, `"${id}"`));
    },
    receiptRaw: async (id: number) => {
      large++;
      most = Math.max(most, large);
      await new Promise<void>((resolve) => setImmediate(resolve));
      large--;
      return id === 404 ? undefined : `"large ${id}"`;
    },
  } as unknown as CallReads;
  return { calls, groups, most: () => most };
}

const key = (name: string): ReceiptQuery => ({ key: name as never, notBefore: undefined });

describe('reading receipts', () => {
  verifies(
    'CALL-GROUPED-1',
    'asks once a turn for all who ask in it, 256 at a time, and gives each its own',
    async () => {
      const store = reads((name) => (name === 'k3' ? undefined : receipt(Number(name.slice(1)), `"${name}"`)));
      const lookup = new Lookup(store.calls);
      const found = await Promise.all(Array.from({ length: 300 }, (_, n) => lookup.byKey(key(`k${n}`))));
      expect(store.groups).toEqual([256, 44]);
      expect(found.map((answer) => answer?.rawText)).toEqual(
        Array.from({ length: 300 }, (_, n) => (n === 3 ? undefined : `"k${n}"`)),
      );
      expect((await lookup.byId(7))?.rawText).toBe('"7"');
    },
  );

  verifies('CALL-GROUPED-1', 'reads two large answers at a time, however many are asked for', async () => {
    const store = reads((name) => receipt(Number(name.slice(1)), undefined));
    const lookup = new Lookup(store.calls);
    const found = await Promise.all(Array.from({ length: 40 }, (_, n) => lookup.byKey(key(`k${n}`))));
    expect(store.most()).toBe(2);
    expect(found.every((answer, n) => answer?.rawText === `"large ${n}"`)).toBe(true);
    expect(await lookup.hydrate(receipt(404, undefined))).toBeUndefined();
  });

  it('fails all who asked together where the store does, and serves the next turn', async () => {
    let broken = true;
    const calls = {
      receiptsByKeys: async (queries: readonly unknown[]) => {
        if (broken) throw new Error('the disk is gone');
        return queries.map(() => undefined);
      },
    } as unknown as CallReads;
    const lookup = new Lookup(calls);
    const both = await Promise.allSettled([lookup.byKey(key('a')), lookup.byKey(key('b'))]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    broken = false;
    expect(await lookup.byKey(key('a'))).toBeUndefined();
  });
});
