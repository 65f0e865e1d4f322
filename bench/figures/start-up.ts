import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Bench, type Figure, medianOf } from '../figure.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/** `callsheet --help` against a Node that does nothing. Measured on the built package where there is one. */
export async function startUp(bench: Bench): Promise<readonly Figure[]> {
  const built = join(ROOT, 'dist', 'cli', 'bin.js');
  const bin = existsSync(built) ? built : join(ROOT, 'src', 'cli', 'bin.ts');
  const rounds = await bench.repeat('start-up', async () => ({
    nothing: timeOf(['-e', '0']),
    help: timeOf([bin, '--help']),
  }));
  const [nothing, help] = [medianOf(rounds, (round) => round.nothing), medianOf(rounds, (round) => round.help)];
  return [
    {
      name: `callsheet --help (${bin === built ? 'built' : 'from source'})`,
      against: 'node -e 0',
      value: help - nothing,
      unit: 'ms',
      most: 100,
      from: { help, nothing },
    },
  ];
}

function timeOf(args: readonly string[]): number {
  const began = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}: ${stderr}`);
  return performance.now() - began;
}
