/**
 * The one gate: everything that has to hold before a change is merged, one line for each step, the whole output of
 * the steps that failed. Ends with `N passed, N failed`, tests and steps counted together.
 *
 *   npm run verify                      everything
 *   npm run verify -- --without-tests   where `npm test` has just run
 *   npm run verify -- rooms types       these steps only
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

interface Step {
  readonly name: string;
  readonly what: string;
  /** A file below node_modules, or a script of ours, with its arguments. */
  readonly command: readonly string[];
}

const STEPS: readonly Step[] = [
  {
    name: 'format',
    what: 'format and lint',
    command: ['node_modules/@biomejs/biome/bin/biome', 'ci', '--colors=off', '.'],
  },
  { name: 'lint', what: 'typed lint', command: ['node_modules/eslint/bin/eslint.js', '.', '--max-warnings=0'] },
  { name: 'types', what: 'types', command: ['node_modules/typescript/bin/tsc', '--noEmit', '-p', '.'] },
  { name: 'rooms', what: 'layer rule', command: ['scripts/check-rooms.ts'] },
  { name: 'budgets', what: 'budgets', command: ['scripts/check-budgets.ts'] },
  { name: 'deadcode', what: 'dead code', command: ['node_modules/knip/bin/knip.js', '--no-progress'] },
  {
    name: 'tests',
    what: 'unit, conformance, property, end to end, pins',
    command: ['node_modules/vitest/vitest.mjs', 'run'],
  },
  { name: 'package', what: 'pack and install', command: ['scripts/check-package.ts'] },
  { name: 'requirements', what: 'every promise has a test', command: ['scripts/check-requirements.ts'] },
];

interface Outcome {
  readonly step: Step;
  readonly ok: boolean;
  readonly output: string;
  readonly seconds: number;
}

function runStep(step: Step): Promise<Outcome> {
  const started = performance.now();
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [...step.command], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined },
    });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
    const end = (ok: boolean, also = ''): void =>
      resolve({
        step,
        ok,
        output: `${Buffer.concat(chunks).toString('utf8')}${also}`.trim(),
        seconds: (performance.now() - started) / 1000,
      });
    child.on('error', (error) => end(false, error.message));
    child.on('close', (code, signal) => end(code === 0, signal === null ? '' : `\nended by ${signal}`));
  });
}

/** Counts of a step: those of its closing line if it has one, else one for the step itself. */
export function countsOf(output: string, ok: boolean): { passed: number; failed: number } {
  const match = /(\d+) passed, (\d+) failed\s*$/.exec(output);
  if (match === null) return { passed: ok ? 1 : 0, failed: ok ? 0 : 1 };
  const failed = Number(match[2]);
  return { passed: Number(match[1]), failed: ok ? failed : Math.max(1, failed) };
}

function lastLine(output: string): string {
  return output.split('\n').at(-1)?.trim().slice(0, 100) ?? '';
}

async function main(wanted: readonly string[]): Promise<void> {
  const names = wanted.filter((word) => !word.startsWith('--'));
  const unknown = names.filter((name) => !STEPS.some((step) => step.name === name));
  if (unknown.length > 0) {
    process.stderr.write(`No step ${unknown.join(', ')}. Steps: ${STEPS.map((step) => step.name).join(', ')}\n`);
    process.exitCode = 2;
    return;
  }
  let [passed, failed] = [0, 0];
  for (const step of STEPS) {
    if (names.length > 0 && !names.includes(step.name)) continue;
    if (step.name === 'tests' && wanted.includes('--without-tests')) continue;
    const { ok, output, seconds } = await runStep(step);
    const counts = countsOf(output, ok);
    passed += counts.passed;
    failed += counts.failed;
    if (!ok) process.stdout.write(`${output}\n`);
    process.stdout.write(
      `${ok ? 'ok  ' : 'FAIL'} ${step.name.padEnd(13)} ${seconds.toFixed(1).padStart(6)} s  ${ok ? lastLine(output) || step.what : step.what}\n`,
    );
  }
  process.stdout.write(`${passed} passed, ${failed} failed\n`);
  process.exitCode = failed > 0 ? 1 : 0;
}

if (import.meta.main) await main(process.argv.slice(2));
