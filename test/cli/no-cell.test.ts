import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { documentOf, newFolder, removeFolder, typed } from './command-line.ts';
import { FILES } from './plays.ts';

const PLAY = `import { definePlay } from 'callsheet';
export default definePlay('beside', async (ctx, input: { csv: string }) => {
  for (const text of ['one', 'two', 'three']) await ctx.tools.execute({ id: 'warm', tool: 'paid.lookup', input: { text } });
  const rows = await ctx.dataset('rows', await ctx.csv(input.csv)).withColumn('answer', async (row, ctx) =>
    (await ctx.tools.execute({ id: 'ask', tool: 'paid.lookup', input: { text: row.text } })).data.text,
  ).run({ key: 'name' });
  return { rows };
});
`;

const LOST = `import { definePlay } from 'callsheet';
export default definePlay('lost', async (ctx) => {
  const rows = await ctx.dataset('rows', [{ n: 1 }, { n: 2 }, { n: 3 }]).withColumn('answer', async (row, ctx) =>
    (await ctx.tools.execute({ id: 'ask', tool: 'lost.lookup', input: { n: row.n } })).data,
  ).run({ key: 'n' });
  return { rows };
});
`;
const LOST_TOOL = `import { defineTool } from 'callsheet';
export const lost = defineTool<{ n: number }>({
  id: 'lost.lookup', effect: 'read', input: { type: 'object' }, cost: { credits: 3 }, maxTries: 1,
  run: ({ n }) => {
    if (n === 2) return n;
    throw Object.assign(new Error('reset'), { endsAs: 'ambiguous' });
  },
});
`;

let dir = '';
let id = '';
const env = { PAID_KEY: 'k' };
beforeAll(async () => {
  dir = newFolder({ ...FILES, 'beside.play.ts': PLAY, 'lost.play.ts': LOST, 'tools/lost.ts': LOST_TOOL });
  const ran = await typed(dir, ['run', 'beside.play.ts', '--csv', 'rows.csv', '--yes', '--json'], { env });
  id = documentOf<{ run: { id: string } }>(ran).run.id;
}, 30_000);
afterAll(() => removeFolder(dir));

describe('credits that are in no cell', () => {
  verifies(['WHY-OUTSIDE-1'], 'are told by why, call by call and page by page', async () => {
    const { stdout, exit } = await typed(dir, ['why', 'last', '--limit', '2']);
    expect(exit).toBe(0);
    const at = String.raw`\d{4}-\d\d-\d\dT[\d:.]+Z`;
    const call = String.raw`warm: completed, by paid\.lookup, from a live call, rcp_\d+, 2 credits, ${at}`;
    expect(stdout).toMatch(
      new RegExp(
        `^run ${id}: 12 credits, 6 of them in cells\n {2}3 calls in no cell: 6 credits outside rows\n${call}\n${call}\ncode \\S+\n`,
      ),
    );
    const cursor = /callsheet why (\S+) --cursor (\S+) {3}\(more of them\)/.exec(stdout);
    expect(cursor?.[1]).toBe(id);
    expect(stdout).toContain(`  → callsheet why ${id} --row '#1'\n`);
    const rest = await typed(dir, ['why', id, '--cursor', cursor?.[2] ?? '', '--json']);
    expect(documentOf(rest)).toMatchObject({
      run: id,
      credits: { settled: 12, cells: 6, outsideRows: 6, outsideColumns: 0 },
      total: 3,
      calls: [{ label: 'warm', leg: 'warm', tool: 'paid.lookup', dataset: null, row: null, credits: 2, error: null }],
      nextCursor: null,
    });
    const wrong = await typed(dir, ['why', id, '--cursor', 'x', '--json']);
    expect(wrong.exit).toBe(2);
    expect(documentOf(wrong)).toMatchObject({
      error: { code: 'USAGE', next: [`callsheet why ${id}   (the first page)`] },
    });
  });

  verifies('PROVENANCE-CREDITS-2', 'are told by runs show and by the provenance export', async () => {
    const shown = await typed(dir, ['runs', 'show', id]);
    expect(shown.stdout).toContain(`  credits  12, of these 6 outside rows (callsheet why ${id})\n`);
    expect(documentOf(await typed(dir, ['runs', 'show', id, '--json']))).toMatchObject({
      credits: { settled: 12, outsideRows: 6, outsideColumns: 0 },
    });
    const line = `6 credits in its cells; 6 more in no cell: callsheet why ${id}\n`;
    const written = await typed(dir, ['runs', 'export', id, '--provenance', '-o', 'out.csv']);
    expect(written.stderr).toMatch(new RegExp(`^wrote out\\.csv: 3 rows of rows\n${line}$`));
    expect(readFileSync(join(dir, 'out.csv'), 'utf8')).toContain('answer.credits');
    expect((await typed(dir, ['runs', 'export', id, '--provenance'])).stderr).toBe(line);
    expect((await typed(dir, ['runs', 'export', id])).stderr).toBe('');
    const failed = ['runs', 'export', id, '--provenance', '--rows', 'failed'];
    expect((await typed(dir, failed)).stderr).toContain('0 credits in its cells; 6 more in cells of other rows');
    expect(documentOf(await typed(dir, [...failed, '--json']))).toMatchObject({
      rows: 0,
      credits: { written: 0, elsewhere: 6, inNoCell: 6 },
      next: [`callsheet why ${id}`],
    });
  });

  verifies('WHY-UNKNOWN-1', 'are told call by call where nobody knows whether they were charged', async () => {
    const ran = await typed(dir, ['run', 'lost.play.ts', '--yes', '--json'], { env });
    const lost = documentOf<{ run: { id: string } }>(ran).run.id;
    const { stdout } = await typed(dir, ['why', lost]);
    const line = (row: string) => String.raw`  rows #${row}, lost\.lookup \S+: up to 3 credits, its answer was lost\n`;
    expect(stdout).toMatch(
      new RegExp(`up to 6 credits more, by 2 calls whose cost is not known\n${line('1')}${line('3')}code `),
    );
    const { unknown } = documentOf<{ unknown: object }>(await typed(dir, ['why', lost, '--json']));
    expect(unknown).toMatchObject({
      credits: 6,
      total: 2,
      calls: [{ tool: 'lost.lookup', dataset: 'rows', row: '#1', credits: 3, why: 'answer_lost' }, { row: '#3' }],
    });
    expect((await typed(dir, ['runs', 'show', lost])).stdout).toContain(
      `, and up to 6 more by what was begun and is not settled (callsheet why ${lost})\n`,
    );
  });

  verifies('WHY-OUTSIDE-1', 'are none where every call was made for a cell', async () => {
    await typed(dir, ['run', 'upper.play.ts', '--csv', 'rows.csv']);
    expect((await typed(dir, ['why', 'last'])).stdout).toContain(
      '0 credits, 0 of them in cells\n  every call was made for a cell\n',
    );
    expect((await typed(dir, ['runs', 'show', 'last'])).stdout).toContain('  credits  0\n');
    const exported = await typed(dir, ['runs', 'export', 'last', '--provenance', '--json']);
    expect(documentOf(exported)).toMatchObject({ credits: { written: 0, elsewhere: 0, inNoCell: 0 }, next: [] });
  });
});
