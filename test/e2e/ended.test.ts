import { expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { cli, cliJson, jsonOf } from './harness/cli.ts';
import { finderFiles, peopleCsv } from './harness/finder.ts';
import { folder } from './harness/folders.ts';
import { watchedSandbox } from './harness/watched-sandbox.ts';

const TIMEOUT = 120_000;
const EXECUTE = `await ctx.tools.execute({ id: 'find', tool: 'hunter.email_finder', input: { first_name: row.first_name, last_name: row.last_name, domain: row.domain } })`;

verifies(
  'CLI-ENDED-1',
  'a play that ends the process fails its command with code and next step, and its run goes on later',
  async () => {
    const sandbox = await watchedSandbox();
    const dir = folder({
      ...finderFiles(peopleCsv(3)),
      'exits.play.ts': `import { definePlay } from 'callsheet';
export default definePlay('play', async (ctx, input: any) => {
        const rows = await ctx.dataset('people', await ctx.csv(input.csv))
          .withColumn('email', async (row, ctx) => {
            const { email } = (${EXECUTE}).values;
            if (process.env.EXITS === 'yes') process.exit(0);
            return email;
          }).run({ concurrency: 1 });
        return { rows };
});`,
      'exits-at-load.play.ts': `process.exit(0);\n`,
    });
    for (const [args, env] of [
      [['run', 'exits.play.ts', '--csv', 'people.csv'], { EXITS: 'yes' }],
      [['check', 'exits-at-load.play.ts'], {}],
    ] as const) {
      const ended = await cli(dir, [...args, '--json'], { env: { ...sandbox.env, ...env } });
      expect([ended.exit, jsonOf(ended).error]).toMatchObject([
        1,
        {
          code: 'PROCESS_ENDED',
          message: expect.stringContaining('process.exit'),
          next: expect.arrayContaining(['callsheet runs resume <run>']),
        },
      ]);
    }
    const [run] = (await cliJson(dir, ['runs', 'list', '--json'], { env: sandbox.env })).runs;
    expect(run.status).toBe('interrupted');
    const resumed = await cliJson(dir, ['runs', 'resume', run.id, '--json'], { env: sandbox.env });
    expect(resumed.run.status).toBe('completed');
    expect(sandbox.ledger()).toHaveLength(3);
  },
  TIMEOUT,
);
