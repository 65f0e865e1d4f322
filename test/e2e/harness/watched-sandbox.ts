import { afterAll } from 'vitest';
import { type LedgerEntry, type Sandbox, type SandboxOptions, startSandbox } from '../../../src/sandbox/index.ts';
import { type Clock, systemClock } from '../../../src/scope/index.ts';

export interface WatchedSandbox extends Sandbox {
  /** What the product's processes are told about it. */
  readonly env: Readonly<Record<string, string>>;
  /** Does something in the very moment in which the ledger has come so far; resolves then. */
  at(entries: number, act: () => void): Promise<void>;
}

/**
 * The judge: a sandbox in the tests' own process, which outlives whatever is killed. It reads its clock on every arrival,
 * every piece of work and every answer, and those are the moments at which it is looked at.
 */
export async function watchedSandbox(options: SandboxOptions = {}): Promise<WatchedSandbox> {
  const watches = new Set<() => void>();
  const clock: Clock = {
    ...systemClock,
    now: () => {
      for (const look of watches) look();
      return systemClock.now();
    },
  };
  const sandbox = await startSandbox({ limits: 'off', ...options, clock });
  afterAll(() => sandbox.close());
  const at = (entries: number, act: () => void): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (sandbox.ledger().length < entries) return;
        watches.delete(look);
        act();
        resolve();
      };
      watches.add(look);
    });
  return { ...sandbox, env: { CALLSHEET_SANDBOX_URL: sandbox.url }, at };
}

/** Pieces of work that were done, without stored answers given again. */
export function paid(ledger: readonly LedgerEntry[]): readonly LedgerEntry[] {
  return ledger.filter((entry) => !entry.replayed);
}

export function creditsOf(ledger: readonly LedgerEntry[]): number {
  return ledger.reduce((sum, entry) => sum + entry.credits, 0);
}
