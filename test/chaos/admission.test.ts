import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { cliJson, startCli } from '../e2e/harness/cli.ts';
import { finderFiles, peopleCsv } from '../e2e/harness/finder.ts';
import { folder } from '../e2e/harness/folders.ts';
import { countsOf, questionOf, rowsOf } from '../e2e/harness/judge.ts';
import { paid, watchedSandbox } from '../e2e/harness/watched-sandbox.ts';
import { verifies } from '../requirements.ts';

const PLAY = `import { definePlay } from 'callsheet';
export default definePlay('pages', async (ctx) => {
  async function* pages() {
    for (let page = 0; page < 4; page++) {
      const input = { first_name: 'Page' + page, last_name: 'Ashvale', domain: 'stripe.com' };
      const found = await ctx.tools.execute({ id: 'page', tool: 'hunter.email_finder', input });
      yield { page, status: found.status };
    }
  }
  const rows = await ctx.dataset('pages', pages()).withColumn('next', (row) => row.page + 1).run({ key: 'page' });
  return { rows };
});
`;

verifies(
  ['DATA-ADMIT-1', 'RUN-RESUME-1', 'CALL-JOURNAL-1'],
  'a process that is killed while it still reads a source leaves no second dataset, and the calls of the source are not made again',
  async () => {
    const sandbox = await watchedSandbox();
    const { env } = sandbox;
    const dir = folder({ ...finderFiles(peopleCsv(1)), 'pages.play.ts': PLAY });
    const run = startCli(dir, ['run', 'pages.play.ts', '-o', 'out.csv', '--json', '--yes'], { env });
    // The third page never comes; its request is the next thing that the sandbox sees after the second answer.
    sandbox.setFaults([{ fault: 'hang', nth: 3 }]);
    await sandbox.at(2, () => {});
    await sandbox.at(2, () => run.kill('SIGKILL'));
    await run.ended;
    expect(rowsOf(dir, 'SELECT sealed FROM frames')).toEqual([{ sealed: 0 }]);
    sandbox.setFaults([]);
    const resumed = await cliJson(dir, ['runs', 'resume', 'last', '-o', 'out.csv'], { env });
    expect(resumed.datasets).toEqual([
      expect.objectContaining({ key: 'pages', total: 4, completed: 4, unfinished: 0 }),
    ]);
    expect(readFileSync(join(dir, 'out.csv'), 'utf8').trim().split('\n')).toHaveLength(5);
    const counts = countsOf(paid(sandbox.ledger()).map(questionOf));
    expect([...counts.values()]).toEqual([1, 1, 1, 1]);
  },
  60_000,
);
