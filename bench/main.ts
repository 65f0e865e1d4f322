/**
 * Measures what 80-quality promises: prints a table, and writes bench/results/latest.json.
 *
 *   npm run bench -- [--rounds 5] [--quick] [--long] [--only throughput,http] [--folder <dir>]
 *
 * --quick takes a tenth of the rows, --long adds the million rows, --folder is where databases are made (it decides what
 * a commit costs). Ratios are of one round each, medians over rounds: machines differ, and drift.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Bench, type Figure, holds, rounded } from './figure.ts';
import { http, pacing } from './figures/http.ts';
import { million } from './figures/million.ts';
import { resume } from './figures/resume.ts';
import { startUp } from './figures/start-up.ts';
import { throughput } from './figures/throughput.ts';
import { buildProbes } from './probe.ts';

const PARTS = { throughput, http, resume, pacing, 'start-up': startUp, million } as const;
const RESULTS = join(import.meta.dirname, 'results');

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    quick: { type: 'boolean', default: false },
    long: { type: 'boolean', default: false },
    only: { type: 'string' },
    folder: { type: 'string', default: tmpdir() },
  },
});

function chosen(): readonly (keyof typeof PARTS)[] {
  const names = Object.keys(PARTS) as (keyof typeof PARTS)[];
  const wanted = options.only?.split(',');
  const unknown = wanted?.find((name) => !(name in PARTS));
  if (unknown !== undefined) throw new Error(`There is no '${unknown}'; choose of ${names.join(', ')}.`);
  return names.filter((name) => wanted?.includes(name) ?? (name !== 'million' || options.long));
}

function line(figure: Figure): string {
  const { name, against, value, unit, least, most } = figure;
  const bar = least === undefined ? (most === undefined ? '' : `≤ ${most}`) : `≥ ${least}`;
  const verdict = bar === '' ? '' : holds(figure) ? 'ok' : 'MISSED';
  return [name.padEnd(62), against.padEnd(38), `${rounded(value)} ${unit}`.padStart(10), bar.padStart(8), verdict].join(
    '  ',
  );
}

const folder = mkdtempSync(join(options.folder, 'callsheet-bench-'));
const bench = new Bench({ rounds: Number(options.rounds), quick: options.quick, folder });
const figures: Figure[] = [];
await buildProbes();
try {
  for (const name of chosen()) figures.push(...(await PARTS[name](bench)));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const machine = {
  node: process.version,
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: availableParallelism(),
  memoryGb: Math.round(totalmem() / 1e9),
};
mkdirSync(RESULTS, { recursive: true });
const result = {
  machine,
  rounds: bench.rounds,
  quick: bench.quick,
  figures: figures.map((figure) => ({ ...figure, holds: holds(figure) })),
};
writeFileSync(join(RESULTS, 'latest.json'), `${JSON.stringify(result, null, 2)}\n`);
process.stdout.write(`${figures.map(line).join('\n')}\n`);
process.exitCode = figures.every(holds) ? 0 : 1;
