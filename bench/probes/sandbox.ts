/** The sandbox in a process of its own: prints its url, serves until its stdin ends, then prints what it was asked. */
import { startSandbox } from '../../src/sandbox/index.ts';
import { probeOptions, tell } from '../probe.ts';

export interface SandboxOptions {
  /** Calls a second above which hunter answers 429; undefined takes any pace. */
  readonly callsPerSecond?: number;
}

export interface SandboxResult {
  readonly operations: number;
  readonly refused: Readonly<Record<string, number>>;
  /** Arrivals, in ms since the epoch. */
  readonly first: number;
  readonly last: number;
}

const { callsPerSecond: calls } = probeOptions<SandboxOptions>();
const sandbox = await startSandbox(
  calls === undefined
    ? { limits: 'off' }
    : { providers: { hunter: { rate: [{ calls, per: '1s' }], concurrency: 1000 } } },
);
tell({ url: sandbox.url });
process.stdin.resume();
process.stdin.on('end', () => {
  const arrivals = sandbox.ledger().map((entry) => entry.dispatchedAt);
  const { operations, refused } = sandbox.totals();
  const first = arrivals.reduce((least, at) => Math.min(least, at), Number.POSITIVE_INFINITY);
  const last = arrivals.reduce((most, at) => Math.max(most, at), 0);
  tell({ operations, refused, first, last } satisfies SandboxResult);
  void sandbox.close();
});
