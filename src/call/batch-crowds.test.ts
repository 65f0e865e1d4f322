import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { Crowds } from './batch-crowds.ts';

const row = (ordinal: number, datasetNo = 1) => ({ datasetNo, ordinal });

verifies('BATCH-GATHER-1', 'a crowd is full in the moment in which every row of a pool that is stuck waits', () => {
  let full = 0;
  const grown: number[] = [];
  const crowds = new Crowds(() => full++);
  const crowd = crowds.open(1, (rows) => grown.push(rows));
  crowds.joins(row(0), 10);
  crowds.joins(row(0), 10);
  crowd.stuck(2);
  expect(full).toBe(0);
  // A row of another dataset, or outside rows, says nothing of this pool.
  crowds.joins(row(1, 2), 10);
  crowds.joins(row(0, 0), 10);
  expect([full, grown]).toEqual([0, [20, 20]]);
  crowds.joins(row(1), 10);
  expect(full).toBe(1);
  crowds.leaves(row(1));
  // It waits with another call.
  crowds.leaves(row(0));
  crowd.stuck(1);
  expect(full).toBe(2);
  crowds.leaves(row(0));
  crowd.stuck(1);
  crowd.stuck(0);
  expect(full).toBe(2);
  crowds.joins(row(5), 10);
  crowd.close();
  crowds.joins(row(6), 10);
  crowds.leaves(row(6));
  expect(full).toBe(2);
});
