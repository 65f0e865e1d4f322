import { afterEach, beforeEach, describe, expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { addFiles, documentOf, newFolder, removeFolder, typed } from './command-line.ts';
import { FILES } from './plays.ts';

const PLAYS = {
  ...FILES,
  'ask.play.ts': `import { definePlay } from 'callsheet';
export default definePlay('ask', async (ctx) => {
  const rows = await ctx.dataset('rows', [{ text: 'a' }])
    .withColumn('up', async (row, ctx) => (await ctx.tools.execute({ id: 'up', tool: 'local.upper', input: row })).data)
    .run({ key: 'text' });
  return { rows, answer: await ctx.waitForEvent('ask', { event: 'approved' }) };
});
`,
};

const SLIPS = {
  'a tool that is none': [
    {
      'tools/broken.ts': "import { defineTool } from 'callsheet';\nexport const x = defineTool({ id: 'x' } as any);\n",
    },
    'TOOL_DEFINITION_INVALID',
    'tools/broken.ts',
  ],
  'two tools of one id': [
    { 'tools/again.ts': FILES['tools/local.ts'] },
    'TOOL_DEFINITION_INVALID',
    'two tools have this id',
  ],
  'a config that is none': [
    { 'callsheet.config.ts': 'export default { confirmAbve: 5 };\n' },
    'CONFIG_INVALID',
    'callsheet.config.ts',
  ],
  'a config that does not parse': [
    { 'callsheet.config.ts': 'export default {\n' },
    'CONFIG_INVALID',
    'callsheet.config.ts',
  ],
} as const;

let dir = '';
beforeEach(() => {
  dir = newFolder(PLAYS);
});
afterEach(() => removeFolder(dir));

describe('a workspace whose config or tools are broken', () => {
  verifies(
    'CLI-RECORDS-1',
    'shows, answers and cancels its runs, and says what is broken',
    async () => {
      const first = await typed(dir, ['run', 'ask.play.ts', '--yes', '--json']);
      expect(first.exit).toBe(5);
      const { id } = documentOf<{ run: { id: string } }>(first).run;
      await typed(dir, ['run', 'ask.play.ts', '--yes', '--json']);
      const looks = [
        ['runs', 'list'],
        ...['show', 'errors', 'export'].map((command) => ['runs', command, id]),
        ['why', id, '--row', 'a'],
        ['receipts', 'list'],
        ['receipts', 'show', 'rcp_1'],
        ['secrets', 'list'],
      ];
      for (const [what, [files, code, named]] of Object.entries(SLIPS)) {
        addFiles(dir, files);
        for (const args of looks) {
          const ended = await typed(dir, [...args, '--json']);
          expect(ended, `${args.join(' ')} with ${what}`).toMatchObject({ exit: 0 });
          expect(ended.stderr).toContain(`warning: ${code}: `);
          expect(ended.stderr).toContain(named);
        }
        for (const args of [
          ['runs', 'logs', id],
          ['runs', 'events', id],
        ])
          expect(await typed(dir, args), `${args.join(' ')} with ${what}`).toMatchObject({ exit: 0 });
        expect((await typed(dir, ['runs', 'watch', id])).exit).toBe(5);
        // What runs, plans or asks about tools says that it cannot.
        for (const args of [
          ['run', 'ask.play.ts'],
          ['plan', 'ask.play.ts'],
          ['runs', 'resume', id],
          ['runs', 'rerun', id],
          ['tools', 'list'],
          ['check', 'ask.play.ts'],
          ['worker', '--once'],
        ]) {
          const refused = documentOf<{ error?: { code: string } }>(await typed(dir, [...args, '--json']));
          expect(refused.error?.code, `${args.join(' ')} with ${what}`).toBe(code);
        }
        // The next slip is the only one.
        removeFolder(`${dir}/tools`);
        addFiles(dir, {
          'callsheet.config.ts': FILES['callsheet.config.ts'],
          'tools/local.ts': FILES['tools/local.ts'],
        });
      }
    },
    60_000,
  );

  verifies('CLI-RECORDS-1', 'lets its runs be signalled, cancelled and resolved, and secrets be set', async () => {
    const run = await typed(dir, ['run', 'ask.play.ts', '--yes', '--json']);
    const { id } = documentOf<{ run: { id: string } }>(run).run;
    addFiles(dir, SLIPS['a tool that is none'][0]);
    expect((await typed(dir, ['signal', id, '--event', 'approved', '--data', '1'])).exit).toBe(0);
    expect((await typed(dir, ['runs', 'cancel', id])).exit).toBe(0);
    expect((await typed(dir, ['runs', 'resolve', id, 'abc', '--as', 'done'])).stderr).toContain('OPERATION_NOT_FOUND');
    // What was answered can only be checked against the tool.
    expect((await typed(dir, ['runs', 'resolve', id, 'abc', '--as', 'done', '--data', '1'])).stderr).toContain(
      'TOOL_DEFINITION_INVALID: ',
    );
    expect((await typed(dir, ['secrets', 'set', 'PAID_KEY'], { stdin: 'value' })).exit).toBe(0);
    expect((await typed(dir, ['secrets', 'delete', 'PAID_KEY'])).exit).toBe(0);
    expect((await typed(dir, ['receipts', 'evict', 'rcp_1'])).exit).toBe(0);
  });
});
