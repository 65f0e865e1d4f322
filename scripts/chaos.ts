/**
 * `npm run chaos -- --kills 1000 [--seed 7] [file …]`: the chaos tests in their long form, all of them or those in files
 * whose names hold one of these words. Prints what each run went through, and a line at the end.
 */
import { spawn } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  options: {
    kills: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    cases: { type: 'string' },
  },
  allowPositionals: true,
});

const kills = wholeNumber('kills', values.kills);
const seed = wholeNumber('seed', values.seed);
/** Random rows of deaths of the tests in one process: ten for each kill. */
const cases = values.cases === undefined ? kills * 10 : wholeNumber('cases', values.cases);

function wholeNumber(name: string, text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number > 0) return number;
  process.stderr.write(`--${name} must be a whole number above 0, not '${text}'.\n`);
  process.exit(2);
}

const began = performance.now();
const files = positionals.length === 0 ? ['test/chaos'] : positionals.map((word) => `test/chaos/${word}`);
const child = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...files], {
  cwd: new URL('..', import.meta.url),
  env: {
    ...process.env,
    CHAOS_KILLS: String(kills),
    CHAOS_SEED: String(seed),
    CHAOS_CASES: String(cases),
    CHAOS_EVENT_ROWS: '500',
    CHAOS_SLOW: '1',
  },
  stdio: 'inherit',
});
child.on('close', (code) => {
  const minutes = ((performance.now() - began) / 60_000).toFixed(1);
  const how = code === 0 ? 'passed' : 'FAILED';
  process.stdout.write(
    `chaos ${how}: ${kills} kills, ${cases} cases, seed ${seed}, ${minutes} minutes, Node ${process.version}\n`,
  );
  process.exitCode = code ?? 1;
});
