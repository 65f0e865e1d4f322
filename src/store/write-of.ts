import type { Write } from './writes.ts';

/** The member of the union of writes that has this kind. */
export type WriteOf<Kind extends Write['kind']> = Extract<Write, { kind: Kind }>;

/** One function for each kind of write. */
export type WriteTable = { readonly [Kind in Write['kind']]: (write: WriteOf<Kind>) => void };

/** Performs a write by the function for its kind. */
export function perform(table: WriteTable, write: Write): void {
  // The compiler does not see that the function and the write are of one kind.
  (table[write.kind] as (write: Write) => void)(write);
}
