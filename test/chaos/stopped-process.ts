import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { CliProcess } from '../e2e/harness/cli.ts';
import type { WatchedSandbox } from '../e2e/harness/watched-sandbox.ts';

/** Stops a process with answers on their way to it. One that holds the database's lock would only be STORE_HELD. */
export async function stopOutsideTransactions(dir: string, sandbox: WatchedSandbox, zombie: CliProcess): Promise<void> {
  for (let entries = 20; ; entries = sandbox.ledger().length + 2) {
    await sandbox.at(entries, () => zombie.kill('SIGSTOP'));
    while (!readFileSync(`/proc/${zombie.pid}/stat`, 'utf8').includes(') T ')) await new Promise(setImmediate);
    if (!isLocked(dir)) return;
    zombie.kill('SIGCONT');
  }
}

function isLocked(dir: string): boolean {
  const db = new DatabaseSync(join(dir, '.callsheet', 'callsheet.db'), { timeout: 0 });
  try {
    db.exec('BEGIN IMMEDIATE; ROLLBACK');
    return false;
  } catch {
    return true;
  } finally {
    db.close();
  }
}
