import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** Starts `bench/probes/<name>.ts` in a process of its own; its one argument is JSON. */
export function startProbe(name: string, options: object, flags: readonly string[] = []): ChildProcess {
  const script = join(import.meta.dirname, 'probes', `${name}.ts`);
  return spawn(process.execPath, [...flags, script, JSON.stringify(options)], { stdio: ['pipe', 'pipe', 'inherit'] });
}

/** Runs a probe to its end: the JSON that it printed. */
export async function runProbe<Result>(name: string, options: object, flags: readonly string[] = []): Promise<Result> {
  const child = startProbe(name, options, flags);
  let text = '';
  child.stdout?.on('data', (chunk) => {
    text += String(chunk);
  });
  const [code, signal] = await once(child, 'close');
  if (code !== 0) throw new Error(`bench/probes/${name}.ts ended with ${code ?? signal}.`);
  return JSON.parse(text) as Result;
}

/** Runs a probe that is to die by SIGKILL. */
export async function runKilled(name: string, options: object): Promise<void> {
  const [code, signal] = await once(startProbe(name, options), 'close');
  if (signal !== 'SIGKILL') throw new Error(`bench/probes/${name}.ts ended with ${code ?? signal} instead of SIGKILL.`);
}

/** In a probe: its options. */
export function probeOptions<Options>(): Options {
  return JSON.parse(process.argv[2] ?? '{}') as Options;
}

/** In a probe: its answer. */
export function tell(result: object): void {
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
