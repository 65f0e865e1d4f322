import { describe, expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { RowRecord, RunRecord } from '../store/index.ts';
import { errorsReport } from './errors.ts';
import type { ReportSource } from './reads.ts';

/** Failed rows of one dataset; the store pages them as it is asked. */
function source(errors: readonly object[]): ReportSource {
  const rows = errors.map((error, ordinal) => ({ ordinal, error: JSON.stringify(error) }) as RowRecord);
  return {
    datasets: { frames: async () => [{ datasetNo: 1, key: 'people' }] },
    report: {
      operationsOfRun: async () => [],
      failedRows: async (_run: number, _no: number, { afterOrdinal, limit }: { afterOrdinal: number; limit: number }) =>
        rows.filter((row) => row.ordinal > afterOrdinal).slice(0, limit),
    },
    now: () => 0,
    isGone: () => false,
  } as unknown as ReportSource;
}

const run = { id: 'run_1', no: 1, error: null, status: 'completed' } as unknown as RunRecord;

describe('failed rows', () => {
  verifies(
    'CLI-ERRORS-1',
    'are grouped by code and by what their messages have in common, the largest group first',
    async () => {
      const invalid = Array.from({ length: 2500 }, (_, n) => ({
        code: 'PROVIDER_VALIDATION',
        message: `Call 'look' of acme.find: ada${n}@x.io at https://x.io/${n} is no address (request 0123456789ab-${String(n).padStart(4, '0')}).`,
        column: n % 2 === 0 ? 'email' : 'phone',
        row: `row ${n}`,
        next: ['callsheet runs errors <run>'],
      }));
      const key = {
        code: 'PROVIDER_AUTHENTICATION',
        message: '401',
        column: 'email',
        row: 'x',
        next: ['callsheet secrets set K', 'see <run>'],
      };
      const report = await errorsReport(source([key, ...invalid]), run);
      expect(report.failedRows).toBe(2501);
      expect(report.groups.map(({ code, count, columns }) => [code, count, columns.toSorted()])).toEqual([
        ['PROVIDER_VALIDATION', 2500, ['email', 'phone']],
        ['PROVIDER_AUTHENTICATION', 1, ['email']],
      ]);
      expect(report.groups[0]?.samples).toHaveLength(5);
      expect(report.groups[0]?.samples[0]?.message).toContain('ada0@x.io');
      expect(report.groups[0]?.message).not.toMatch(/ada|https|\d/);
      expect(report.groups[0]?.next).toEqual(['callsheet runs resume run_1 --retry-failed']);
      expect(report.groups[1]?.next).toEqual([
        'callsheet secrets set K',
        'see run_1',
        'callsheet runs resume run_1 --retry-failed',
      ]);
      expect(report.runError).toBeNull();
      const fatal = {
        ...run,
        error: JSON.stringify({ code: 'OUT_OF_CREDITS', message: 'm', next: ['n'], details: {}, fatal: true }),
      };
      expect((await errorsReport(source([]), fatal)).runError).toMatchObject({ code: 'OUT_OF_CREDITS', next: ['n'] });
    },
  );
});
