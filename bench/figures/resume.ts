import { type Bench, type Figure, medianOf } from '../figure.ts';
import { runKilled, runProbe } from '../probe.ts';
import type { ProductOptions } from '../probes/product.ts';
import type { ResumeResult } from '../probes/resume.ts';
import { SMALL_ROWS, writeSubject } from '../subject.ts';

/** A run is killed half way and taken up again. */
export async function resume(bench: Bench): Promise<readonly Figure[]> {
  const rows = bench.size(100_000);
  const rounds = await bench.repeat('resume', async () => {
    const dir = bench.place();
    await writeSubject(dir, { ...SMALL_ROWS, source: 'csv', rows });
    await runKilled('product', { dir, killAfter: rows / 2 } satisfies ProductOptions);
    return runProbe<ResumeResult>('resume', { dir });
  });
  return [
    {
      name: `first new call after kill -9 at 50% of ${rows}`,
      against: '–',
      value: medianOf(rounds, (round) => round.firstCallMs) / 1000,
      unit: 's',
      most: 1.5,
      from: { ofTheAttemptMs: medianOf(rounds, (round) => round.firstCallOfAttemptMs) },
    },
    {
      name: 'recorded calls that were made again',
      against: '–',
      value: Math.max(...rounds.map((round) => round.recordedBefore + round.calls - rows)),
      unit: '×',
      most: 0,
      from: { recordedBefore: medianOf(rounds, (round) => round.recordedBefore) },
    },
  ];
}
