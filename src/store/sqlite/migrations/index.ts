import { initial } from './0001-initial.ts';
import { waits } from './0002-waits.ts';
import { noInputDigests } from './0003-no-input-digests.ts';
import { batches } from './0004-batches.ts';
import { reruns } from './0005-reruns.ts';
import { jobEnds } from './0006-job-ends.ts';

export interface Migration {
  readonly no: number;
  readonly name: string;
  readonly sql: string;
}

/**
 * In order, never changed once released: databases remember the checksums. SQL in TypeScript files, since neither type
 * stripping nor `tsc` carries `.sql` files along.
 */
export const MIGRATIONS: readonly Migration[] = [
  { no: 1, name: '0001-initial', sql: initial },
  { no: 2, name: '0002-waits', sql: waits },
  { no: 3, name: '0003-no-input-digests', sql: noInputDigests },
  { no: 4, name: '0004-batches', sql: batches },
  { no: 5, name: '0005-reruns', sql: reruns },
  { no: 6, name: '0006-job-ends', sql: jobEnds },
];
