import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Bench, type Figure, medianOf } from '../figure.ts';
import type { Figures } from '../meter.ts';
import { runProbe } from '../probe.ts';
import type { ProductResult } from '../probes/product.ts';
import type { ThinOptions } from '../probes/thin.ts';
import { SMALL_ROWS, type Subject, writeSubject } from '../subject.ts';

const ROWS = 100_000;
const GROUP = 64;

interface Round {
  readonly bare: Figures;
  readonly cold: ProductResult;
  readonly statements: Figures;
  readonly thin: Figures;
  readonly warm: ProductResult;
  readonly fromCsv: ProductResult;
}

/** Durable calls a second against what SQLite can do, the warm rerun against the cold run, and the longest stall. */
export async function throughput(bench: Bench): Promise<readonly Figure[]> {
  const calls = bench.size(ROWS);
  const subject: Subject = { ...SMALL_ROWS, source: 'iterable', rows: calls };
  const log = join(bench.folder, 'statements.bin');
  await record(bench, { subject, log });
  const rounds = await bench.repeat('throughput', () => round(bench, { subject, log }));
  const pace = (name: keyof Round): number => medianOf(rounds, (one) => calls / one[name].seconds);
  const cpuMicros = (name: keyof Round): number => medianOf(rounds, (one) => (one[name].mainSeconds * 1e6) / calls);
  const times = (name: keyof Round, of: keyof Round): number =>
    medianOf(rounds, (one) => one[of].seconds / one[name].seconds);
  const [cold, warm] = [pace('cold'), pace('warm')];
  return [
    {
      name: `durable calls a second, ${calls} rows`,
      against: 'bare grouped SQLite inserts',
      value: 100 * times('cold', 'bare'),
      unit: '%',
      least: 15,
      from: { cold, bare: pace('bare'), cpuMicros: cpuMicros('cold'), fromCsv: pace('fromCsv') },
    },
    {
      name: 'the same',
      against: 'the same statements, no pipeline',
      value: 100 * times('cold', 'statements'),
      unit: '%',
      least: 50,
      from: { cold, statements: pace('statements'), statementsCpuMicros: cpuMicros('statements') },
    },
    {
      name: 'the same',
      against: "the product's store, no play",
      value: 100 * times('cold', 'thin'),
      unit: '%',
      from: { cold, thin: pace('thin'), thinCpuMicros: cpuMicros('thin') },
    },
    {
      name: "calls a second of the product's store, no play",
      against: 'bare grouped SQLite inserts',
      value: 100 * times('thin', 'bare'),
      unit: '%',
      from: { thin: pace('thin'), bare: pace('bare'), ofStatements: 100 * times('thin', 'statements') },
    },
    {
      name: 'warm rerun, rows a second',
      against: 'the cold run',
      value: times('warm', 'cold'),
      unit: '×',
      least: 1.3,
      from: { warm, cold, warmCpuMicros: cpuMicros('warm') },
    },
    ...ofCold(rounds, calls),
  ];
}

/** What the cold runs took besides time. */
function ofCold(rounds: readonly Round[], calls: number): readonly Figure[] {
  return [
    {
      name: 'longest stall of the event loop',
      against: '–',
      value: medianOf(rounds, (one) => one.cold.stallMs),
      unit: 'ms',
      most: 50,
      from: { warm: medianOf(rounds, (one) => one.warm.stallMs), cpuMs: medianOf(rounds, (one) => one.cold.busyMs) },
    },
    {
      name: `peak RSS, ${calls} rows`,
      against: '–',
      value: medianOf(rounds, (one) => one.cold.peakRssMb),
      unit: 'MB',
      from: { warm: medianOf(rounds, (one) => one.warm.peakRssMb) },
    },
  ];
}

async function round(
  bench: Bench,
  { subject, log }: { readonly subject: Subject; readonly log: string },
): Promise<Round> {
  const calls = subject.rows;
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
  const thin = await runProbe<Figures>('thin', {
    path: join(place(), 'thin.db'),
    calls,
    pool: GROUP,
  } satisfies ThinOptions);
  const warm = await runProbe<ProductResult>('product', { dir });
  if (cold.calls !== calls || warm.calls !== 0) throw new Error(`${cold.calls} and ${warm.calls} calls were made.`);
  const csv = place();
  await writeSubject(csv, { ...subject, source: 'csv' });
  const fromCsv = await runProbe<ProductResult>('product', { dir: csv });
  return { bare, cold, statements, thin, warm, fromCsv };
}

/** One run whose statements are kept, to be executed again without the product around them. */
async function record(
  bench: Bench,
  { subject, log }: { readonly subject: Subject; readonly log: string },
): Promise<void> {
  const dir = bench.place();
  await writeSubject(dir, subject);
  process.env.BENCH_STATEMENTS = log;
  await runProbe('product', { dir }, ['--import', join(import.meta.dirname, '..', 'record-statements.ts')]);
}
