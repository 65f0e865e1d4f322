import { describe, expect, it } from 'vitest';
import { createDataset } from './builder.ts';
import { testRun } from './test-host.test-support.ts';

describe('a dataset over an array', () => {
  it('admits, runs and reads back its rows', async () => {
    const run = testRun();
    const rows = await createDataset(run.host, 'numbers', [{ n: 1 }, { n: 2 }, { n: 3 }])
      .withColumn('double', (row) => (row as { n: number }).n * 2)
      .withColumn('async', async (row) => (row as { double: number }).double + 1)
      .run();
    expect(await rows.count()).toBe(3);
    expect(await rows.materialize()).toEqual([
      { n: 1, double: 2, async: 3 },
      { n: 2, double: 4, async: 5 },
      { n: 3, double: 6, async: 7 },
    ]);
  });
});
