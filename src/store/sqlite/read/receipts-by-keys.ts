import type { ReceiptQuery } from '../../port.ts';
import type { StoredReceipt } from '../../records.ts';
import type { Reader } from '../reader.ts';
import { type ReceiptRow, storedReceipt } from './receipt-row.ts';
import { receiptRows } from './receipts-by-ids.ts';

/** The newest reusable, not evicted receipt that is young enough, for each query. The full key is compared. */
export async function receiptsByKeys(
  reader: Reader,
  queries: readonly ReceiptQuery[],
): Promise<readonly (StoredReceipt | undefined)[]> {
  await reader.index.catchUp();
  return reader.read(() => newestFitting(reader, queries));
}

function newestFitting(reader: Reader, queries: readonly ReceiptQuery[]): readonly (StoredReceipt | undefined)[] {
  const found: (StoredReceipt | undefined)[] = Array(queries.length).fill(undefined);
  const candidates = reader.index.candidates(queries.map((query) => query.key));
  let open = queries.map((_, index) => index).filter((index) => (candidates[index]?.length ?? 0) > 0);
  // Round after round the next older candidate of each query that has found none: nearly always one round.
  for (let round = 1; open.length > 0; round++) {
    const candidate = (index: number): number => candidates[index]?.at(-round) ?? 0;
    const rows = receiptRows(reader, open.map(candidate));
    open = open.filter((index) => {
      const row = rows.get(candidate(index));
      const query = queries[index];
      if (row !== undefined && query !== undefined && fits(row, query)) {
        const receipt = storedReceipt(row, reader.origins);
        if (receipt.reusable || query.every === true) {
          found[index] = receipt;
          return false;
        }
      }
      return round < (candidates[index]?.length ?? 0);
    });
  }
  return found;
}

function fits([, , at, , key, , evictedAt]: ReceiptRow, query: ReceiptQuery): boolean {
  return key === query.key && (evictedAt === null || query.every === true) && at >= (query.notBefore ?? 0);
}
