/** What the machine can do: one 200-byte row a call, near-sequential key, groups of 64, synchronous=FULL. */
import { DatabaseSync } from 'node:sqlite';
import { Meter } from '../meter.ts';
import { probeOptions, tell } from '../probe.ts';

export interface BareOptions {
  readonly path: string;
  readonly calls: number;
  readonly group: number;
}

const { path, calls, group } = probeOptions<BareOptions>();
const db = new DatabaseSync(path);
db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE bare (id INTEGER PRIMARY KEY, value TEXT)');
const [begin, commit] = [db.prepare('BEGIN IMMEDIATE'), db.prepare('COMMIT')];
const insert = db.prepare('INSERT INTO bare VALUES (?, ?)');
const value = 'x'.repeat(200);
const meter = new Meter();
for (let first = 0; first < calls; first += group) {
  begin.run();
  const last = Math.min(calls, first + group);
  // Near-sequential: calls end in another order than rows begin.
  for (let call = first; call < last; call += 2) insert.run(call + 1, value);
  for (let call = first + 1; call < last; call += 2) insert.run(call + 1, value);
  commit.run();
}
const figures = meter.stop();
db.close();
tell(figures);
