import { describe, expect } from 'vitest';
import { fastClock } from '../harness/crash.ts';
import { batchedTool, countedTool, endsAs, inputRows } from '../harness/tools.ts';
import { openTest, runPlay, testFolder } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const KEYED = { idempotency: { header: 'Idempotency-Key' } };
const ROWS = inputRows(50);

describe('an outage early in a run', () => {
  for (const ending of ['ambiguous', 'notDispatched'])
    for (const calls of ['alone', 'in batches'])
      verifies(['RETRY-BUDGET-3', 'BREAKER-PROVIDER-2'], `fails no row: calls ${calls}, ended ${ending}`, async () => {
        const clock = fastClock(50);
        let began: number | undefined;
        /** Up until so many calls have been answered, then down for some seconds. */
        const answer = (asked: number): void => {
          if (asked <= 20) return;
          began ??= clock.now();
          if (clock.now() - began < 5_000) throw endsAs(ending);
        };
        const limits = { concurrency: 50 };
        const alone = countedTool({ ...KEYED, limits }, ({ n }) => {
          answer(alone.sent.length);
          return n;
        });
        const batched = batchedTool({ ...KEYED, limits, maxSize: 2 }, (inputs) => {
          answer(batched.sent.length);
          return inputs.map(({ n }) => n);
        });
        const { tool, sent } = calls === 'alone' ? alone : batched;
        const workspace = await openTest(testFolder(), { tools: [tool], clock });
        const rows = calls === 'alone' ? 100 : 200;
        const { run, result } = await runPlay(workspace, ROWS, { input: { rows } });
        const { failed, completed } = await workspace.store.datasets.rowCounts(run.no, 1);
        expect([result, failed, completed]).toEqual([rows, 0, rows]);
        // Those that were out when it began, and single ones after that.
        expect(sent.length).toBeGreaterThan(100);
        expect(sent.length).toBeLessThan(100 + 75);
      });
});

describe('rows that fail by their own fault', () => {
  verifies('BREAKER-PROVIDER-4', 'end when their tries are used up, though nothing else is left', async () => {
    const { tool, sent } = countedTool({ ...KEYED, limits: { concurrency: 20 } }, ({ n }) => {
      if (n % 20 === 0) throw endsAs('ambiguous');
      return n;
    });
    const workspace = await openTest(testFolder(), { tools: [tool], clock: fastClock(50) });
    const { run } = await runPlay(workspace, ROWS, { input: { rows: 400 } });
    const { failed, completed } = await workspace.store.datasets.rowCounts(run.no, 1);
    expect([failed, completed, sent.length]).toEqual([20, 380, 380 + 20 * 5]);
  });
});
