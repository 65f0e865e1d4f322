import { join } from 'node:path';
import { type Bench, type Figure, medianOf } from '../figure.ts';
import { runProbe } from '../probe.ts';
import type { ProductOptions, ProductResult } from '../probes/product.ts';
import { SMALL_ROWS, type Subject, writeSubject } from '../subject.ts';

const FEW = 100_000;
const MANY = 1_000_000;

/** What a million rows change: pace and memory. One round takes minutes, so there is one. */
export async function million(bench: Bench): Promise<readonly Figure[]> {
  const [few, many] = [bench.size(FEW), bench.size(MANY)];
  const pace: number[] = [];
  for (const rows of [few, many, few]) {
    const { seconds } = await run(bench, { ...SMALL_ROWS, source: 'csv', rows });
    pace.push(rows / seconds);
  }
  const [before = 0, at = 0, after = 0] = pace;
  const small = medianOf([before, after], (value) => value);
  const wide = { rows: many, rowBytes: 1000, repeatedPercent: 10, tool: 'function' } as const;
  const iterable = await run(bench, { ...wide, source: 'iterable' });
  const csv = await csvToCsv(bench, { ...wide, source: 'csv' });
  return [
    {
      name: `calls a second at ${many} rows`,
      against: `at ${few}`,
      value: (100 * at) / small,
      unit: '%',
      least: 90,
      from: { many: at, fewBefore: before, fewAfter: after },
    },
    {
      name: `peak RSS, ${many} rows of 1 KB from an iterable`,
      against: '–',
      value: iterable.peakRssMb,
      unit: 'MB',
      most: 180,
      from: { seconds: iterable.seconds, stallMs: iterable.stallMs },
    },
    {
      name: `peak RSS, ${many} rows of 1 KB, CSV to CSV, then a warm rerun`,
      against: '–',
      value: Math.max(csv.cold.peakRssMb, csv.warm.peakRssMb),
      unit: 'MB',
      most: 300,
      from: { cold: csv.cold.peakRssMb, warm: csv.warm.peakRssMb, stallMs: csv.cold.stallMs, calls: csv.cold.calls },
    },
  ];
}

async function run(bench: Bench, subject: Subject): Promise<ProductResult> {
  return await bench.once(`${subject.rows} rows of ${subject.rowBytes} bytes (${subject.source})`, async () => {
    const dir = bench.place();
    await writeSubject(dir, subject);
    return runProbe<ProductResult>('product', { dir } satisfies ProductOptions);
  });
}

async function csvToCsv(bench: Bench, subject: Subject): Promise<{ cold: ProductResult; warm: ProductResult }> {
  return await bench.once(`${subject.rows} rows, CSV to CSV and again`, async () => {
    const dir = bench.place();
    await writeSubject(dir, subject);
    const options: ProductOptions = { dir, exportTo: join(dir, 'out.csv') };
    const cold = await runProbe<ProductResult>('product', options);
    return { cold, warm: await runProbe<ProductResult>('product', options) };
  });
}
