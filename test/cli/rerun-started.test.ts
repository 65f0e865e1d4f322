import { afterAll, beforeAll, describe, expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { documentOf, newFolder, removeFolder, typed } from './command-line.ts';
import { FILES } from './plays.ts';

const ask = (of: string, text: string): string =>
  `await ${of}.tools.execute({ id: 'ask', tool: 'paid.lookup', input: { text: ${text} } });`;

/** Every row, and the body, starts a run that buys something. */
const PLAY = `import { definePlay } from 'callsheet';
const follow = definePlay('follow', async (ctx, input: { text: string }) => {
  await ctx.dataset('in', [{ text: input.text }]).withColumn('v', async (row, ctx) => { ${ask('ctx', "row.text + '!'")} }).run();
  return {};
});
export default definePlay('starts', async (ctx, input: { csv: string }) => {
  await ctx.runPlayAsync('body', follow, { text: 'body' });
  const rows = await ctx.dataset('rows', await ctx.csv<any>(input.csv))
    .withColumn('first', async (row, ctx) => (await ctx.runPlayAsync('one', follow, { text: row.text })).runId)
    .withColumn('own', async (row, ctx) => { ${ask('ctx', 'row.text')} })
    .run({ key: 'name' });
  return { rows };
});
`;

let dir = '';
let id = '';
const env = { PAID_KEY: 'k' };
beforeAll(async () => {
  dir = newFolder({ ...FILES, 'starts.play.ts': PLAY, 'again.play.ts': PLAY });
  const ran = await typed(dir, ['run', 'starts.play.ts', '--csv', 'rows.csv', '--yes', '--json'], { env });
  id = documentOf<{ run: { id: string } }>(ran).run.id;
}, 60_000);
afterAll(() => removeFolder(dir));

const rerun = (...args: string[]) => typed(dir, ['runs', 'rerun', id, ...args], { env });

describe('a rerun whose rows have started runs', () => {
  verifies(
    'RERUN-STARTED-1',
    'says before which of them it starts again, and that a refresh buys theirs anew',
    async () => {
      const chosen = await rerun('--rows', 'Ada', '--refresh');
      expect(chosen.exit).toBe(2);
      expect(chosen.stderr).toContain(
        'follow: 2 runs that the play or these rows have started, started again with all rows, asked anew by --refresh, for up to 4 credits\n',
      );
      expect(chosen.stderr).toContain(
        'This may cost up to 6 credits, 4 of them by 2 runs that are started again, which is more than confirmAbove (5)',
      );
      const all = await rerun('--refresh=paid.lookup', '--json');
      expect(documentOf(all)).toMatchObject({
        error: { code: 'CONFIRMATION_NEEDED', message: expect.stringContaining('14 credits, 8 of them by 4 runs') },
      });
      // What a column before has started is kept with its cell.
      const from = await rerun('--column', 'own', '--refresh', '--json');
      expect(from.stderr).toContain('follow: 1 run that the play or these rows have started');
      const other = await rerun('--refresh=local.upper', '--rows', 'Ada', '--max-credits', '0');
      expect(other.stderr).toContain(
        'follow: 2 runs that the play or these rows have started, started again with all rows, answered',
      );
      const code = await rerun('--refresh', '--code', 'again.play.ts', '--rows', 'Ada');
      expect(code.stderr).toContain(
        'Runs that the code of now starts, if any, do all their rows, with the same --refresh.',
      );
    },
  );

  verifies('RERUN-STARTED-1', 'costs what it said', async () => {
    const again = await rerun('--rows', 'Ada', '--refresh', '--yes', '--json');
    const { run, children } = documentOf<{ run: { id: string }; children: { id: string }[] }>(again);
    expect(children).toHaveLength(2);
    const credits: number[] = [];
    for (const one of [run, ...children]) {
      const shown = await typed(dir, ['runs', 'show', one.id, '--json']);
      credits.push(documentOf<{ credits: { settled: number } }>(shown).credits.settled);
    }
    expect(credits).toEqual([2, 2, 2]);
  });
});
