import { resolve } from 'node:path';
import { type Sandbox, startSandbox } from '../../workspace/index.ts';
import type { Invocation } from '../invocation.ts';
import { counted } from '../table.ts';

export interface SandboxFlags {
  readonly port?: number;
  readonly seed?: number;
  readonly limits: boolean;
  readonly latency?: number;
  readonly ledger?: string;
}

/** `sandbox`: runs until it is stopped. */
export async function sandbox({ terminal, flags }: Invocation<SandboxFlags>): Promise<number> {
  const { port, seed, limits, latency, ledger } = flags;
  const running = await startSandbox({
    limits: limits ? 'declared' : 'off',
    ...(port !== undefined && { port }),
    ...(seed !== undefined && { seed }),
    ...(latency !== undefined && { latencyMs: latency }),
    ...(ledger !== undefined && { ledgerFile: resolve(terminal.cwd, ledger) }),
  });
  const stopped = untilStopped();
  if (terminal.json) await terminal.record({ url: running.url, port: running.port });
  else {
    await terminal.line(running.url);
    terminal.note(
      `The sandbox listens there; Ctrl-C ends it. For other commands: CALLSHEET_SANDBOX_URL=${running.url}`,
    );
  }
  await stopped;
  await close(running);
  const { operations, credits } = running.totals();
  terminal.note(`Ledger: ${counted(operations, 'operation')}, ${counted(credits, 'credit')}.`);
  return 0;
}

async function close(running: Sandbox): Promise<void> {
  await running.close();
}

function untilStopped(): Promise<void> {
  return new Promise((done) => {
    process.once('SIGINT', () => done());
    process.once('SIGTERM', () => done());
  });
}
