/**
 * What must not compile. tsc checks this file with all others: an `@ts-expect-error` over a line that compiles is an
 * error itself. Nothing here runs; requirements.ts lists it as TYPES-WRONG-USE-1 through sdk.test.ts.
 */
import type { PlayCtx, PlayDataset, RowCtx, ToolResult } from '../sdk/index.ts';
import { CallsheetError, defineConfig, definePlay, defineTool, steps } from '../sdk/index.ts';

interface Lead {
  readonly first_name: string;
  readonly domain: string;
}

declare const ctx: PlayCtx<{ csv: string }>;
declare const rowCtx: RowCtx;
declare const leads: PlayDataset<Lead>;
declare const found: ToolResult<{ email: string }>;

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(_equal: Equal<A, B>): void {}

// A dataset is no array.
// @ts-expect-error -- count() is the way
leads.length;
// @ts-expect-error -- at(0) is the way
leads[0];
// @ts-expect-error -- for await, or materialize(), is the way
[...leads];
// @ts-expect-error -- for await is the way
for (const lead of leads) void lead;
// @ts-expect-error -- the callback of map is async
leads.map((lead) => lead.domain);
// @ts-expect-error -- the callback of filter is async
leads.filter((lead) => lead.domain !== '');
// @ts-expect-error -- there is no reduce
leads.reduce;
// @ts-expect-error -- count is a function
leads.count > 5;
// @ts-expect-error -- first may find nothing
leads.first().then((lead) => lead.domain);
same<
  typeof leads.map<string>,
  (change: (row: Lead, index: number) => Promise<string>) => ReturnType<typeof leads.map<string>>
>(true);

// Keys are fields of the rows that go in.
ctx.dataset('leads', leads).run({ key: ['first_name', 'domain'] });
ctx.dataset('leads', leads).run({ key: (row, index) => `${row.domain}#${index}` });
// @ts-expect-error -- no such field
ctx.dataset('leads', leads).run({ key: 'last_name' });
// @ts-expect-error -- no such field
ctx.dataset('leads', leads).run({ key: ['first_name', 'last_name'] });
const withEmail = ctx.dataset('leads', leads).withColumn('email', () => 'a@b.c');
// @ts-expect-error -- a derived column is no key
withEmail.run({ key: 'email' });
// @ts-expect-error -- a key is a scalar
ctx.dataset('leads', leads).run({ key: (row) => [row.domain] });
// @ts-expect-error -- isolate or fail
ctx.dataset('leads', leads).run({ onRowError: 'ignore' });
// @ts-expect-error -- rows, not one row
ctx.dataset('leads', { first_name: 'Ada', domain: 'example.com' });

// Columns see the row and what columns before them made.
const enriched = ctx
  .dataset('leads', leads)
  .withColumn('email', async (row, _ctx, index) => `${row.first_name}${index}@${row.domain}`)
  .withColumn('size', {
    run: ({ row, previousCell }) => previousCell ?? row.email?.length ?? 0,
    runIf: (row) => row.email !== null,
  });
enriched.withColumn('note', (row) => `${row.email ?? 'none'} ${row.size ?? 0}`);
// @ts-expect-error -- a cell may be null
withEmail.withColumn('upper', (row) => row.email.toUpperCase());
// @ts-expect-error -- no column before this one has that name
ctx.dataset('leads', leads).withColumn('upper', (row) => row.email);
// @ts-expect-error -- a resolver is a function, a spec or a program
ctx.dataset('leads', leads).withColumn('fixed', 'value');
// @ts-expect-error -- the row's ctx makes no datasets
rowCtx.dataset('inner', []);
// @ts-expect-error -- nor does it read files
rowCtx.csv('leads.csv');

// Steps.
const program = steps<Lead>()
  .step('hunter', async (row) => `${row.first_name}@${row.domain}`)
  .step('prospeo', () => 'x', { runIf: (row) => row.hunter === null })
  .return((row) => row.hunter ?? row.prospeo);
ctx.dataset('leads', leads).withColumn('email', program);
const oneStep = steps<Lead>().step('one', () => 'x');
// @ts-expect-error -- a program ends with return
ctx.dataset('leads', leads).withColumn('email', oneStep);
// @ts-expect-error -- a step does not see the steps behind it
steps<Lead>().step('zero', (row) => row.one);
// @ts-expect-error -- a step that was left out is null
oneStep.return((row) => row.one.length);
// @ts-expect-error -- runIf decides with a boolean
steps<Lead>().step('one', () => 'x', { runIf: () => 'yes' });
// @ts-expect-error -- the program wants a Lead
ctx.runSteps(program, { first_name: 'Ada' });
same<ReturnType<typeof ctx.runSteps<Lead, string | null>>, Promise<string | null>>(true);

// Tools.
const input = { type: 'object' };
defineTool({ id: 'hunter.find', effect: 'read', input, run: () => null });
// @ts-expect-error -- effect is required
defineTool({ id: 'hunter.find', input, run: () => null });
// @ts-expect-error -- no such effect
defineTool({ id: 'hunter.find', effect: 'readonly', input, run: () => null });
// @ts-expect-error -- input is required
defineTool({ id: 'hunter.find', effect: 'read', run: () => null });
// @ts-expect-error -- request or run
defineTool({ id: 'hunter.find', effect: 'read', input });
// @ts-expect-error -- not both
defineTool({
  id: 'hunter.find',
  effect: 'read',
  input,
  run: () => null,
  request: () => ({ url: 'https://example.com' }),
});
// @ts-expect-error -- a request has a url
defineTool({ id: 'hunter.find', effect: 'read', input, request: () => ({ method: 'GET' }) });
// @ts-expect-error -- reuse has no such scope
defineTool({ id: 'hunter.find', effect: 'read', input, run: () => null, reuse: { scope: 'account' } });
// @ts-expect-error -- a limit says per what
defineTool({ id: 'hunter.find', effect: 'read', input, run: () => null, limits: { rate: [{ calls: 5 }] } });

// Calls and results.
ctx.tools.execute({ id: 'find', tool: 'hunter.find', input: {} });
ctx.tools.execute('find', 'hunter.find', {}, { refresh: true });
// @ts-expect-error -- a call names its tool
ctx.tools.execute({ id: 'find', input: {} });
// @ts-expect-error -- no such option
ctx.tools.execute({ id: 'find', tool: 'hunter.find', input: {}, retries: 3 });
// @ts-expect-error -- an answer is completed or no_result
found.status === 'failed';
// @ts-expect-error -- read only
found.data = { email: '' };
// @ts-expect-error -- no such source
found.execution.source === 'cache';

// Plays, config, errors.
definePlay('find', async (ctx, input: { csv: string }) => ({ rows: await ctx.csv(input.csv) }));
definePlay({ id: 'find', run: async (ctx, input: { csv: string }) => ({ rows: await ctx.csv(input.csv) }) });
// @ts-expect-error -- a play has a function
definePlay('find');
// @ts-expect-error -- a play has an id
definePlay({ run: () => ({}) });
// @ts-expect-error -- a limit of credits is a number
definePlay('find', () => ({}), { billing: { maxCreditsPerRun: '50' } });
// @ts-expect-error -- the input is read only
ctx.input = { csv: '' };
// @ts-expect-error -- no such field of the input
ctx.input.file;
// @ts-expect-error -- a header is a handle or a name, not a number
ctx.secrets.bearer(5);
// @ts-expect-error -- auth takes handles, not values
ctx.fetch('get', 'https://example.com', { auth: 'Bearer abc' });
// @ts-expect-error -- tools are made by defineTool
defineConfig({ tools: [{ id: 'hunter.find' }] });
// @ts-expect-error -- no such mode
defineConfig({ providers: { hunter: { mode: 'test' } } });
// @ts-expect-error -- codes are a closed list
new CallsheetError('SOMETHING', 'message');
