import { digestPrefix48 } from '../../../scope/index.ts';
import type { WriteOf } from '../../write-of.ts';
import type { Database } from '../driver.ts';

const SCOPE = 'SELECT no FROM claim_scopes WHERE scope = ?';
const FIND = 'SELECT run_no, key FROM claims WHERE scope_no = ? AND key_hash48 = ?';
const CLAIM = 'INSERT INTO claims (scope_no, key_hash48, run_no, key) VALUES (?, ?, ?, ?)';

/** Claims keys for the run and sets `granted`: true where the key was free, or this run's already. */
export function claimKeys(db: Database, write: WriteOf<'claim'>): void {
  const { runNo } = write.fence;
  const scopeNo = scopeNumber(db, write.scope);
  write.granted = write.keys.map((key) => {
    const hash = digestPrefix48(key);
    const holder = db
      .all<{ run_no: number; key: string }>(FIND, scopeNo, hash)
      .find((claim) => claim.key === key)?.run_no;
    if (holder === undefined) db.run(CLAIM, scopeNo, hash, runNo, key);
    return holder === undefined || holder === runNo;
  });
}

function scopeNumber(db: Database, scope: string): number {
  db.run('INSERT OR IGNORE INTO claim_scopes (scope) VALUES (?)', scope);
  return db.get<{ no: number }>(SCOPE, scope)?.no ?? 0;
}
