import { afterAll, beforeAll, describe, expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { addFiles, documentOf, newFolder, removeFolder, typed } from './command-line.ts';
import { FILES } from './plays.ts';

const ask = (tool: string, of = 'ctx'): string =>
  `await ${of}.tools.execute({ id: 'ask', tool: '${tool}', input: { text: row.text } });`;

/** A play whose one column does this for `row` and `ctx`; line 4 is the first of it. */
const playOf = (does: string): string => `import { definePlay, steps } from 'callsheet';
const child = definePlay('child', async (own, row: any) => { ${ask('paid.lookup', 'own')} ${ask('paid.lookup', 'own')} return {}; });
export default definePlay('cost', async (ctx, input: { csv: string }) => ({
  rows: await ctx.dataset('rows', await ctx.csv<any>(input.csv)).withColumn('answer', ${does}).run({ key: 'name' }),
}));
void [child, steps];
`;

let dir = '';
beforeAll(() => {
  dir = newFolder(FILES);
});
afterAll(() => removeFolder(dir));

interface Checked {
  readonly plan: {
    readonly datasets: readonly {
      readonly mostCreditsPerRow: number | null;
      readonly countedCreditsPerRow: number;
      readonly unbounded: readonly string[];
      readonly columns: readonly { readonly legs: readonly object[] }[];
    }[];
  };
}

/** What check says of the dataset, for people and in JSON. */
async function checked(does: string): Promise<{ said: string; legs: readonly object[]; cost: unknown }> {
  addFiles(dir, { 'cost.play.ts': playOf(does) });
  const { stdout } = await typed(dir, ['check', 'cost.play.ts#default', '--no-types']);
  const { plan } = documentOf<Checked>(await typed(dir, ['check', 'cost.play.ts#default', '--no-types', '--json']));
  const [dataset] = plan.datasets;
  const { mostCreditsPerRow: most, countedCreditsPerRow: counted, unbounded } = dataset ?? {};
  return {
    said: /dataset rows, keyed by name; (.*)/.exec(stdout)?.[1] ?? stdout,
    legs: dataset?.columns[0]?.legs ?? [],
    cost: { most, counted, unbounded },
  };
}

describe('the providers of the config', () => {
  verifies('CHECK-PROVIDER-1', 'are warned of where no tool has them', async () => {
    const own = newFolder({
      ...FILES,
      'cost.play.ts': playOf('async () => null'),
      'callsheet.config.ts': `export default { providers: { paid: { account: 'a' }, payd: { limits: { concurrency: 1 } } } };`,
    });
    const { exit, stderr } = await typed(own, ['check', 'cost.play.ts#default', '--no-types']);
    expect(exit).toBe(0);
    expect(stderr.match(/PROVIDER_UNKNOWN/g)).toHaveLength(1);
    expect(stderr).toMatch(/^warning: PROVIDER_UNKNOWN: .*'payd'.*Did you mean 'paid'\?$/m);
    removeFolder(own);
  });
});

const resolver = (does: string): string => `async (row, ctx) => { ${does} }`;

describe('what check says that a row costs', () => {
  verifies(
    'CHECK-COST-1',
    'counts each call of a resolver, of inline children and of what a program returns',
    async () => {
      const twice = await checked(resolver(`${ask('paid.lookup')} ${ask('paid.lookup')} ${ask('local.upper')}`));
      expect(twice).toMatchObject({ said: 'at most 4 credits a row', cost: { most: 4, counted: 4, unbounded: [] } });
      expect((await checked(resolver(`${ask('paid.lookup')} await ctx.runPlay('c', child, row);`))).said).toBe(
        'at most 6 credits a row',
      );
      const program = `steps<any>().step('one', async (row, ctx) => { ${ask('paid.lookup')} })
      .return(async (row, ctx) => { ${ask('paid.lookup')} })`;
      expect(await checked(program)).toMatchObject({
        said: 'at most 4 credits a row',
        legs: [
          { name: 'one', tools: ['paid.lookup'], mostCredits: 2, unbounded: [] },
          { name: 'answer', tools: ['paid.lookup'], mostCredits: 2 },
        ],
      });
      expect((await checked(resolver(`for (const n of row.all) { ${ask('local.upper')} }`))).said).toBe(
        'at most 0 credits a row',
      );
    },
  );

  verifies('CHECK-COST-1', 'says what keeps it from being bounded', async () => {
    const loop = 'the loop at cost.play.ts:5 (paid.lookup)';
    const looped = await checked(
      resolver(`${ask('paid.lookup')}\n for (const n of row.all) { ${ask('paid.lookup')} }`),
    );
    expect(looped).toMatchObject({
      said: `2 credits a row with each loop gone through once, and not bounded: ${loop}`,
      legs: [{ mostCredits: null, unbounded: [loop] }],
      cost: { most: null, counted: 2, unbounded: [loop] },
    });
    const hidden = await checked(resolver(`${ask('paid.lookup')} await ctx.runPlayAsync('c', child, row);`));
    expect(hidden.said).toContain('not bounded: a run that it starts calls what its own plan tells');
    const computed = await checked(resolver('await ctx.tool("ask", row.tool, {});'));
    expect(computed.cost).toEqual({ most: null, counted: 0, unbounded: ["a tool's id is computed"] });
  });
});
