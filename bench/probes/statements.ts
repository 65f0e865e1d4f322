/** Executes the statements of a recorded run again, on a new database and with nothing around them. */
import { DatabaseSync } from 'node:sqlite';
import { Meter } from '../meter.ts';
import { probeOptions, tell } from '../probe.ts';
import { readStatementLog } from '../statement-log.ts';

const { path, log } = probeOptions<{ readonly path: string; readonly log: string }>();
const { texts, operations } = readStatementLog(log);
const db = new DatabaseSync(path, { enableForeignKeyConstraints: false });
// Migrations and settings come first; the rest begins with the run.
const runs = texts.findIndex((text) => text.startsWith('INSERT INTO runs'));
const start = operations.findIndex(([, sql]) => sql === runs) - 1;
const prepared = new Map<number, ReturnType<DatabaseSync['prepare']>>();
function execute(from: number, to: number): void {
  for (let at = from; at < to; at++) {
    const operation = operations[at];
    if (operation === undefined) continue;
    const [method, sql, values] = operation;
    if (method === 'exec') {
      db.exec(texts[sql] ?? '');
      continue;
    }
    let statement = prepared.get(sql);
    if (statement === undefined) {
      statement = db.prepare(texts[sql] ?? '');
      prepared.set(sql, statement);
    }
    statement[method](...values);
  }
}
execute(0, start);
const meter = new Meter();
execute(start, operations.length);
const figures = meter.stop();
db.close();
tell(figures);
