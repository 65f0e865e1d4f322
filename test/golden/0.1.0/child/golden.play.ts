import { definePlay } from 'callsheet';
const leaf = (name) => definePlay(name, async (ctx, input) => (await ctx.tools.execute({ id: 'find', tool: 'acme.find', input: { n: input.n } })).data);
const [inner, beside] = [leaf('inner'), leaf('beside')];
void [inner, beside];
export default definePlay('golden', async (ctx, input) => {
  const find = async (ctx, n) => (await ctx.tools.execute({ id: 'find', tool: 'acme.find', input: { n } })).data;
  const go = (ctx) => ctx.waitForEvent('go', { event: 'go' });
  const before = await find(ctx, 1);
  const inner = await ctx.runPlay('inner', 'inner', { n: 21 });
      const { runId, playName } = await ctx.runPlayAsync('beside', 'beside', { n: 22 });
      const value = { inner, playName, isNamed: runId.startsWith('run_') };
  const gone = await go(ctx);
  return { before, value, gone, after: await find(ctx, 2) };
});
