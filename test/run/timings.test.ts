import { expect } from 'vitest';
import { timingsOf } from '../../src/report/index.ts';
import { existingRun, reportSource } from '../../src/workspace/index.ts';
import { crash, fastClock, laterClock } from '../harness/crash.ts';
import { countedTool } from '../harness/tools.ts';
import { attempt, openTest, queued, testFolder } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

verifies('TIMINGS-1', 'where the time went is kept while a run goes on, so that a killed attempt counts', async () => {
  const { tool, sent } = countedTool({ limits: { concurrency: 1 } }, () => new Promise((end) => setTimeout(end, 20)));
  const dir = testFolder();
  const workspace = await openTest(dir, { tools: [tool], clock: fastClock(100) });
  const run = await queued(
    workspace,
    `async (ctx) => {
      for (let n = 0; n < 40; n++) await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n } });
      return 'done';
    }`,
  );
  let told = 0;
  await crash(workspace, run.id, (write) => {
    if (write.kind === 'event' && write.event.type === 'timings') told++;
    return told > 0 && write.kind === 'receipt';
  });
  const later = await openTest(dir, { tools: [tool], clock: laterClock() });
  const timed = async () =>
    (await timingsOf(reportSource(later), await existingRun(later, run.id)))['acme.find']?.provider?.count ?? 0;
  const before = await timed();
  expect(before).toBeGreaterThan(0);
  expect((await attempt(later, run.id)).result).toBe('done');
  // But what came between the last record and the kill.
  expect(await timed()).toBeGreaterThan(before);
  expect(await timed()).toBeLessThanOrEqual(sent.length);
});
