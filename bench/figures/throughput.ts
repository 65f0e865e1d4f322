import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Bench, type Figure, medianOf } from '../figure.ts';
import type { Figures } from '../meter.ts';
import { runProbe } from '../probe.ts';
import type { ProductResult } from '../probes/product.ts';
import { SMALL_ROWS, type Subject, writeSubject } from '../subject.ts';

const ROWS = 100_000;
const GROUP = 64;

/** Durable calls a second against what SQLite can do, the warm rerun against the cold run, and the longest stall. */
export async function throughput(bench: Bench): Promise<readonly Figure[]> {
  const calls = bench.size(ROWS);
  const subject: Subject = { ...SMALL_ROWS, source: 'csv', rows: calls };
  const log = join(bench.folder, 'statements.bin');
  await record(bench, { subject, log });
  const rounds = await bench.repeat('throughput', async () => {
    const place = (): string => {
      const dir = bench.place();
      mkdirSync(dir);
      return dir;
    };
    const bare = await runProbe<Figures>('bare', { path: join(place(), 'bare.db'), calls, group: GROUP });
    const dir = place();
    await writeSubject(dir, subject);
    const cold = await runProbe<ProductResult>('product', { dir });
    const statements = await runProbe<Figures>('statements', { path: join(place(), 'same.db'), log });
    const warm = await runProbe<ProductResult>('product', { dir });
    if (cold.calls !== calls || warm.calls !== 0) throw new Error(`${cold.calls} and ${warm.calls} calls were made.`);
    return { bare, cold, statements, warm };
  });
  const [bare, cold, statements, warm] = (['bare', 'cold', 'statements', 'warm'] as const).map((name) =>
    medianOf(rounds, (round) => calls / round[name].seconds),
  ) as [number, number, number, number];
  const cpu = (name: 'bare' | 'cold' | 'statements' | 'warm'): number =>
    medianOf(rounds, (round) => (round[name].cpuSeconds * 1e6) / calls);
  const ratio = (name: 'bare' | 'statements'): number =>
    medianOf(rounds, (round) => (100 * round[name].seconds) / round.cold.seconds);
  return [
    {
      name: `durable calls a second, ${calls} rows`,
      against: 'bare grouped SQLite inserts',
      value: ratio('bare'),
      unit: '%',
      least: 15,
      from: { callsPerSecond: cold, bare, cpuMicrosPerCall: cpu('cold'), bareCpuMicros: cpu('bare') },
    },
    {
      name: 'the same',
      against: 'the same statements, no pipeline',
      value: ratio('statements'),
      unit: '%',
      least: 50,
      from: { callsPerSecond: cold, statements, statementsCpuMicros: cpu('statements') },
    },
    {
      name: 'warm rerun, rows a second',
      against: 'the cold run',
      value: medianOf(rounds, (round) => round.cold.seconds / round.warm.seconds),
      unit: '×',
      least: 1.3,
      from: { warm, cold, warmCpuMicros: cpu('warm') },
    },
    {
      name: 'longest stall of the event loop',
      against: '–',
      value: medianOf(rounds, (round) => round.cold.stallMs),
      unit: 'ms',
      most: 50,
      from: { warm: medianOf(rounds, (round) => round.warm.stallMs) },
    },
    {
      name: `peak RSS, ${calls} rows`,
      against: '–',
      value: medianOf(rounds, (round) => round.cold.peakRssMb),
      unit: 'MB',
      from: { warm: medianOf(rounds, (round) => round.warm.peakRssMb) },
    },
  ];
}

/** One run whose statements are kept, to be executed again without the product around them. */
async function record(bench: Bench, { subject, log }: { readonly subject: Subject; readonly log: string }): Promise<void> {
  const dir = bench.place();
  await writeSubject(dir, subject);
  process.env.BENCH_STATEMENTS = log;
  await runProbe('product', { dir }, ['--import', join(import.meta.dirname, '..', 'record-statements.ts')]);
}
