import type { RunRecord } from '../../records.ts';
import type { Reader } from '../reader.ts';
import { type RunRow, runRecord } from './run-row.ts';

export function run(reader: Reader, id: string): Promise<RunRecord | undefined> {
  return oneRun(reader, 'SELECT * FROM runs WHERE id = ?', id);
}

export function runByIdempotencyKey(reader: Reader, key: string): Promise<RunRecord | undefined> {
  return oneRun(reader, 'SELECT * FROM runs WHERE idempotency_key = ?', key);
}

function oneRun(reader: Reader, sql: string, value: string): Promise<RunRecord | undefined> {
  return reader.read(() => {
    const row = reader.db.get<RunRow>(sql, value);
    return row === undefined ? undefined : runRecord(row);
  });
}
