/** A play with these statements; line 3 is the first of them. */
export const body = (statements: string, options = '{}') =>
  `import { definePlay, steps, defineTool } from 'callsheet';\nexport default definePlay('p', async (ctx, input: any) => {\n${statements}\nreturn {};\n}, ${options});\n`;

/** A play that uses most of the surface; needs LIB beside it as lib.ts. */
export const WATERFALL = `
import { definePlay, steps, type RowCtx } from 'callsheet';
import { verify, TOOLS } from './lib.ts';
type Lead = { first_name: string; domain: string };
const phones = steps<Lead>().step('a', (row, c) => c.tool('1', 'phones.a', row)).return((row) => row.a);
async function hunt(row: Lead, c: RowCtx) { return c.tools.execute({ id: 'h', tool: TOOLS.hunter, input: row }); }
export default definePlay('find', async (ctx, input: { csv: string }) => {
  console.log(process.cwd.length);  const leads = await ctx.csv<Lead>(input.csv, { required: ['first_name', 'domain'] });
  const fixed = await ctx.csv('companies.csv');
  const rows = await ctx.dataset('leads', leads)
    .withColumn('email', steps<Lead>()
      .step('hunter', hunt)
      .step('prospeo', async (row, ctx) => ctx.tools.execute('p', \`prospeo.find\`, { row }), { runIf: (row) => !row.hunter })
      .step('phone', phones)
      .return((row) => row.hunter ?? row.prospeo))
    .withColumn('ok', { run: async ({ row, ctx }) => verify(ctx, row), runIf: (row) => !!row.email })
    .withColumn('plain', (row) => row.domain)
    .run({ key: ['first_name', 'domain'], description: 'x' });
  const other = await ctx.dataset(\`by-\${input.csv}\`, fixed).run({ key: (row: any) => row.id });
  const key = ctx.secrets.get('CRM_KEY');
  await ctx.fetch('crm', 'https://example.com', { auth: ctx.secrets.bearer('CRM_TOKEN') });
  return { rows, other };
}, { secrets: ['CRM_KEY', 'CRM_TOKEN'] });
`;
export const LIB = `
import type { RowCtx } from 'callsheet';
export const TOOLS = { hunter: 'hunter.email_finder' } as const;
export const verify = (context: RowCtx, row: unknown) => context.tools.execute({ id: 'v', tool: 'zero' + 'bounce.verify', input: row });
`;
