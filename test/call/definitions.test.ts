import { describe, expect } from 'vitest';
import { runPlay, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

describe('what is defined wrongly', () => {
  verifies(
    'TOOL-DEFINE-1',
    'a tool file that forgets defineTool is refused with the export that is meant',
    async () => {
      const files = {
        'tools/lost.ts': `export const lost = { id: 'acme.lost', effect: 'read', input: {}, run: () => 1 };`,
      };
      await expect(testWorkspace({ files })).rejects.toMatchObject({
        code: 'TOOL_DEFINITION_INVALID',
        message: expect.stringContaining("the export 'lost'"),
      });
    },
  );

  verifies(
    'DATA-COLUMN-2',
    'a column that would change what a row is, and a time-out that is none, are refused',
    async () => {
      const workspace = await testWorkspace();
      const proto = await runPlay(
        workspace,
        `async (ctx) => { await ctx.dataset('rows', [{ n: 1 }]).withColumn('__proto__', () => 1).run(); }`,
      );
      expect(proto.code).toBe('DATASET_DEFINITION_INVALID');
      await expect(
        runPlay(workspace, `async () => 1`, { options: `{ runtime: { timeout: 'soon' } }` }),
      ).rejects.toMatchObject({ code: 'PLAY_DEFINITION_INVALID' });
    },
  );
});

verifies('CTX-LATER-1', 'ctx.customerDb is refused with that word', async () => {
  const workspace = await testWorkspace();
  const ended = await runPlay(workspace, `async (ctx) => { await ctx.customerDb.query('select 1'); }`);
  expect(ended.code).toBe('NOT_YET_SUPPORTED');
});
