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
  /** From the first arrival of the second window to that of the last one, a call; NaN where there is no limit. */
  readonly msPerCall: number;
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
  arrivals.sort((a, b) => a - b);
  const from = calls ?? Number.NaN;
  const to = Math.floor((arrivals.length - 1) / from) * from;
  const msPerCall = ((arrivals[to] ?? Number.NaN) - (arrivals[from] ?? Number.NaN)) / (to - from);
  tell({ operations, refused, msPerCall } satisfies SandboxResult);
  void sandbox.close();
});
