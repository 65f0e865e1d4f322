/** Plays and tools of a workspace that needs no provider: every tool is a function. */
export const FILES = {
  'callsheet.config.ts': `import { defineConfig } from 'callsheet';
export default defineConfig({ confirmAbove: 5 });
`,
  'tools/local.ts': `import { defineTool } from 'callsheet';
const input = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
export const upper = defineTool<{ text: string }>({
  id: 'local.upper', description: 'in capitals', effect: 'read', input, run: ({ text }) => ({ text: text.toUpperCase() }),
  extract: { text: 'data.text' },
});
export const picky = defineTool<{ text: string }>({
  id: 'local.picky', effect: 'read', input,
  run: ({ text }) => { if (text.startsWith('b')) throw new Error('no ' + text); return { text }; },
});
export const paid = defineTool<{ text: string }>({
  id: 'paid.lookup', effect: 'read', input, cost: { credits: 2 }, run: ({ text }) => ({ text }), secrets: ['PAID_KEY'],
});
export const slow = defineTool<{ text: string }>({
  id: 'local.slow', effect: 'read', input,
  run: async ({ text }) => { await new Promise((done) => setTimeout(done, 40)); return { text }; },
});
`,
  'rows.csv': 'name,text\nAda,apple\nBob,banana\nCleo,cherry\n',
  'upper.play.ts': playOf('upper', 'local.upper'),
  'picky.play.ts': playOf('picky', 'local.picky'),
  'paid.play.ts': playOf('paid', 'paid.lookup'),
  'unseen.play.ts': `import { definePlay } from 'callsheet';
export default definePlay('unseen', async (ctx) => {
  const texts = await ctx.step('texts', () => ['a', 'b']);
  for (const text of texts) await ctx.tools.execute({ id: 'paid', tool: 'paid.lookup', input: { text } });
  return {};
});
`,
  'slow.play.ts': playOf('slow', 'local.slow'),
  'throws.play.ts': `import { definePlay } from 'callsheet';
export default definePlay('throws', async (ctx) => { ctx.log('before'); console.log('on the console'); throw new Error('broken'); });
`,
  'loud.play.ts': `import { definePlay } from 'callsheet';
console.log('while loading');
process.stdout.write('past the console');
export default definePlay('loud', async () => { console.log('while running'); process.stdout.write('again'); return 1; });
`,
  'broken.play.ts': `import { definePlay } from 'callsheet';
export default definePlay('broken', async (ctx) => { const = 3; });
`,
  'two.play.ts': `import { definePlay } from 'callsheet';
export const one = definePlay('one', async (ctx, input) => input);
export const two = definePlay('two', async () => 2);
`,
  'typed.play.ts': `import { definePlay } from 'callsheet';
export default definePlay('typed', async (ctx, input) => input, {
  input: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
});
`,
} as const;

function playOf(name: string, tool: string): string {
  return `import { definePlay } from 'callsheet';
export default definePlay('${name}', async (ctx, input: { csv: string }) => {
  const file = await ctx.csv<{ name: string; text: string }>(input.csv, { required: ['text'] });
  const rows = await ctx.dataset('rows', file).withColumn('answer', async (row, ctx) => {
    const found = await ctx.tools.execute({ id: 'ask', tool: '${tool}', input: { text: row.text } });
    return (found.data as { text: string }).text;
  }).run({ key: 'name', concurrency: 2 });
  return { rows };
});
`;
}
