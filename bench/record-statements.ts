/** Preloaded (`--import`) into a probe: writes every SQL statement that it executes to the file BENCH_STATEMENTS. */
import { DatabaseSync, type SQLInputValue, StatementSync } from 'node:sqlite';
import { type Method, StatementLog } from './statement-log.ts';

const log = new StatementLog(process.env.BENCH_STATEMENTS ?? 'statements.bin');
process.on('exit', () => log.close());

const statements = StatementSync.prototype as unknown as Record<Method, (...values: SQLInputValue[]) => unknown>;
for (const method of ['run', 'get', 'all'] as const) {
  const original = statements[method];
  statements[method] = function (this: StatementSync, ...values: SQLInputValue[]): unknown {
    log.add(method, this.sourceSQL, values);
    return original.apply(this, values);
  };
}

const { exec } = DatabaseSync.prototype;
DatabaseSync.prototype.exec = function (this: DatabaseSync, sql: string): void {
  log.add('exec', sql, []);
  exec.call(this, sql);
};
