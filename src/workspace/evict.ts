import type { Store } from '../store/index.ts';
import type { Workspace } from './open.ts';

/** Which receipts are meant: by id, or all that fit every condition that is given. */
export interface EvictionOrder {
  readonly id?: number | undefined;
  readonly key?: string | undefined;
  readonly tool?: string | undefined;
  /** Recorded before this instant (ms). */
  readonly before?: number | undefined;
}

const PAGE = 1000;

/** Ids of the receipts that an eviction would end the reuse of; evicted ones are not counted again. */
export async function receiptsToEvict(store: Store, order: EvictionOrder): Promise<readonly number[]> {
  if (order.id !== undefined) {
    const receipt = await store.report.receipt(order.id);
    return receipt === undefined || receipt.evictedAt !== null ? [] : [receipt.id];
  }
  const { key, tool, before } = order;
  const ids: number[] = [];
  for (let afterId = 0; ; ) {
    const page = await store.report.listReceipts({ key, tool, before, afterId, limit: PAGE });
    for (const receipt of page) if (receipt.evictedAt === null) ids.push(receipt.id);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return ids;
    afterId = last.id;
  }
}

/** Ends the reuse of these receipts. Their bytes stay, since runs point at them. */
export async function evictReceipts(workspace: Workspace, ids: readonly number[]): Promise<void> {
  const at = workspace.clock.now();
  for (let first = 0; first < ids.length; first += PAGE)
    await workspace.committer.commit([{ kind: 'evict', receiptIds: ids.slice(first, first + PAGE), at }]);
}
