// biome-ignore-all lint/suspicious/noConsole: this is where a play's console is taken over
import { format } from 'node:util';

type Sink = (level: 'debug' | 'info' | 'warn' | 'error', message: string) => void;

const METHODS = {
  debug: 'debug',
  log: 'info',
  info: 'info',
  warn: 'warn',
  error: 'error',
  trace: 'debug',
  dir: 'info',
  table: 'info',
} as const;
const sinks = new Set<Sink>();
let originals: Partial<Record<keyof typeof METHODS, (...args: unknown[]) => void>> | undefined;

/**
 * Sends what plays write to `console` to the run's log while an attempt runs: stdout belongs to data. Returns the
 * function that ends it. Where several runs share the process, each of them is told, since nobody can say whose it was.
 */
export function captureConsole(sink: Sink): () => void {
  sinks.add(sink);
  if (originals === undefined) install();
  return () => {
    sinks.delete(sink);
    if (sinks.size === 0) restore();
  };
}

function install(): void {
  originals = {};
  for (const name of Object.keys(METHODS) as (keyof typeof METHODS)[]) {
    originals[name] = console[name] as (...args: unknown[]) => void;
    console[name] = (...args: unknown[]) => {
      for (const sink of sinks) sink(METHODS[name], format(...args));
    };
  }
}

function restore(): void {
  Object.assign(console, originals);
  originals = undefined;
}
