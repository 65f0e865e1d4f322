import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { documentOf, newFolder, removeFolder, typed } from './command-line.ts';
import { FILES } from './plays.ts';

let dir = '';
const json = async <Document>(...args: string[]): Promise<Document> =>
  documentOf(await typed(dir, [...args, '--json']));

beforeAll(() => {
  dir = newFolder(FILES);
});
afterAll(() => removeFolder(dir));

interface Called {
  readonly status: string;
  readonly data: unknown;
  readonly execution: { readonly source: string; readonly receiptId: string };
}

describe('tools', () => {
  verifies(
    'CLI-TOOLS-1',
    'can be listed, described and called; a call leaves a receipt that the next one reads',
    async () => {
      const { tools } = await json<{ tools: { id: string }[] }>('tools', 'list');
      expect(tools.map((tool) => tool.id)).toEqual([
        'human_approval',
        'local.picky',
        'local.slow',
        'local.upper',
        'paid.lookup',
        'slack_message_with_hitl',
      ]);
      const described = await json<{ input: unknown; secrets: unknown }>('tools', 'describe', 'paid.lookup');
      expect(described).toMatchObject({
        input: { required: ['text'] },
        secrets: [{ name: 'PAID_KEY', set: false }],
        cost: { max: 2 },
      });
      const first = await json<Called>('tools', 'call', 'local.upper', '--input', '{"text":"fig"}');
      expect(first).toMatchObject({
        ...{ status: 'completed', data: { text: 'FIG' }, values: { text: 'FIG' }, execution: { source: 'live' } },
      });
      const again = await json<Called>('tools', 'call', 'local.upper', '--set', 'text=fig');
      expect(again.execution).toMatchObject({ source: 'receipt', receiptId: first.execution.receiptId });
      const fresh = await json<Called>('tools', 'call', 'local.upper', '--set', 'text=fig', '--refresh');
      expect(fresh.execution.source).toBe('live');
    },
  );
});

describe('a tool that batches', () => {
  verifies(['BATCH-REPORT-1', 'CLI-TOOLS-1'], 'says so where it is described and where a play is checked', async () => {
    const folder = newFolder({
      'callsheet.config.ts': 'export default {};\n',
      'tools/bulk.ts': `import { defineTool } from 'callsheet';
export const bulk = defineTool({
  id: 'local.bulk', effect: 'read', input: { type: 'object' },
  batch: { maxSize: 40, run: (inputs) => inputs },
});
`,
      'bulk.play.ts': `import { definePlay } from 'callsheet';
export default definePlay('bulk', async (ctx) => {
  await ctx.dataset('rows', [{ n: 1 }])
    .withColumn('v', async (row, ctx) => (await ctx.tools.execute({ id: 'x', tool: 'local.bulk', input: { n: 1 } })).data)
    .run({ key: 'n' });
});
`,
    });
    try {
      const described = documentOf(await typed(folder, ['tools', 'describe', 'local.bulk', '--json']));
      expect(described).toMatchObject({ kind: 'function', batch: { maxSize: 40, maxWaitMs: null } });
      const checked = await typed(folder, ['check', 'bulk.play.ts', '--no-types']);
      expect(checked.stdout).toContain('local.bulk (at most 0 credits, up to 40 in one request)');
      const called = documentOf(await typed(folder, ['tools', 'call', 'local.bulk', '--set', 'n=1', '--json']));
      const { receiptId } = (called as unknown as Called).execution;
      const shown = documentOf(await typed(folder, ['receipts', 'show', receiptId, '--json']));
      expect(shown).toMatchObject({ partOf: 'rcp_1', receipt: { tool: 'local.bulk' } });
      expect((await typed(folder, ['receipts', 'show', receiptId])).stdout).toContain('partOf: rcp_1');
    } finally {
      removeFolder(folder);
    }
  });
});

describe('receipts', () => {
  verifies('CLI-RECEIPTS-1', 'can be listed, shown and evicted; evicting ends reuse and keeps the bytes', async () => {
    const called = await json<Called>('tools', 'call', 'local.upper', '--set', 'text=kiwi');
    const id = called.execution.receiptId;
    const listed = await json<{ receipts: { id: string; input: unknown }[] }>(
      'receipts',
      'list',
      '--tool',
      'local.upper',
    );
    expect(listed.receipts.find((one) => one.id === id)?.input).toEqual({ text: 'kiwi' });
    const shown = await json<{ raw: unknown; run: string }>('receipts', 'show', id, '--raw');
    expect(JSON.stringify(shown.raw)).toContain('KIWI');
    expect(shown.run).toMatch(/^run_/);
    expect(await json('receipts', 'evict', id)).toEqual({ evicted: 1 });
    expect(await json('receipts', 'evict', id)).toEqual({ evicted: 0 });
    expect(await json<{ receipt: { evictedAt: string } }>('receipts', 'show', id)).toMatchObject({
      receipt: { evictedAt: expect.stringMatching(/^\d{4}-/) },
    });
    const again = await json<Called>('tools', 'call', 'local.upper', '--set', 'text=kiwi');
    expect(again.execution.source).toBe('live');
  });

  verifies('CLI-RECEIPTS-1', 'are evicted in numbers only when somebody says so', async () => {
    await typed(dir, ['tools', 'call', 'local.picky', '--set', 'text=lime']);
    const asked = await typed(dir, ['receipts', 'evict', '--tool', 'local.picky']);
    expect(asked).toMatchObject({ exit: 2, stderr: expect.stringContaining('CONFIRMATION_NEEDED: 1 receipt') });
    expect(await json('receipts', 'evict', '--tool', 'local.picky', '--older-than', '1d', '--yes')).toEqual({
      evicted: 0,
    });
    expect(await json('receipts', 'evict', '--tool', 'local.picky', '--yes')).toEqual({ evicted: 1 });
  });
});

describe('secrets', () => {
  verifies('SECRET-STORE-1', 'are set from stdin, listed by name, deleted, and never printed', async () => {
    const value = 'the-value-of-a-secret';
    const told: string[] = [];
    const secrets = async (args: string[], stdin = '') => {
      const ended = await typed(dir, ['secrets', ...args], { stdin });
      told.push(ended.stdout, ended.stderr);
      return ended;
    };
    expect((await secrets(['set', 'PAID_KEY'], `${value}\n`)).exit).toBe(0);
    expect((await secrets(['list'])).stdout).toMatch(/PAID_KEY +file +paid\.lookup/);
    expect((await secrets(['set', 'EMPTY'], '')).exit).toBe(2);
    expect(readFileSync(join(dir, '.callsheet/secrets.json'), 'utf8')).not.toContain(value);
    expect((await secrets(['delete', 'PAID_KEY'])).stderr).toContain('PAID_KEY is deleted');
    expect((await secrets(['list', '--json'])).stdout).toContain('"source": null');
    expect(told.join('\n')).not.toContain(value);
  });
});
