import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { checkPlay, stopBundler } from '../index.ts';
import { folderWith } from '../temp-folder.test-support.ts';
import { body } from './plays.test-support.ts';

afterAll(() => stopBundler());

const LIB = `
export const find = async (c: any, name: string) => (await c.tools.execute({ id: name, tool: \`\${name}.find\`, input: {} })).data;
export const retry = async ({ fn, times }: any) => { for (let i = 0; i < times; i++) await fn(); };
export const once = async (fn: any) => fn();
export const finder = (name: string) => { const tool = name + '.find'; return async (row: any, c: any) => c.tool('i', tool, row); };
`;

/** What the text shows of these columns, by leg: `tool:count`, `?:count` for computed ids, `!why` for what is hidden. */
async function shown(columns: string, before = ''): Promise<Record<string, string[]>> {
  const text = body(`${before}\nawait ctx.dataset('d', [])${columns}.run();`);
  const play = `import { find, retry, once, finder } from './lib.ts';\nimport * as path from 'node:path';\n${text}`;
  const folder = folderWith({ 'x.play.ts': `${play}\nvoid [find, retry, once, finder, path];`, 'lib.ts': LIB });
  const check = await checkPlay(path.join(folder, 'x.play.ts'), { types: false });
  expect(check.play).not.toBeNull();
  return Object.fromEntries(
    [...check.calls()].map(([place, { tools, computed, hidden }]) => [
      place.replace('d|', ''),
      [
        ...[...tools].map(([tool, count]) => `${tool}:${count}`),
        ...(computed > 0 ? [`?:${computed}`] : []),
        ...hidden.map((why) => `!${why}`),
      ],
    ]),
  );
}

/** One column whose resolver does this for `row` and `c`. */
const does = async (code: string, before = ''): Promise<string[] | undefined> =>
  (await shown(`.withColumn('a', async (row: any, c: any) => { ${code} })`, before)).a;

const CALL = (tool: string): string => `await c.tools.execute({ id: 'i', tool: '${tool}', input: {} });`;

describe('the most calls that a row makes, by the text', () => {
  verifies('PLAN-TEXT-1', 'counts calls one after the other, and of two ways the one that calls more', async () => {
    expect(await does(`${CALL('a.x')} ${CALL('b.x')} ${CALL('a.x')}`)).toEqual(['a.x:2', 'b.x:1']);
    expect(await does(`if (row.n) { ${CALL('a.x')} ${CALL('a.x')} } else { ${CALL('a.x')} ${CALL('b.x')} }`)).toEqual([
      'a.x:2',
      'b.x:1',
    ]);
    expect(await does(`await c.tool('i', row.n ? 'a.x' : 'b.x', {});`)).toEqual(['a.x:1', 'b.x:1']);
    expect(await does(`await c.tool('i', T[row.n], {});`, `const T: any = { a: 'a.x', b: 'b.x' };`)).toEqual([
      'a.x:1',
      'b.x:1',
    ]);
  });

  verifies('PLAN-TEXT-1', 'counts loops as endless, but those over what is written out', async () => {
    expect(await does(`for (const one of row.all) { ${CALL('a.x')} }`)).toEqual(['a.x:Infinity']);
    expect(await does(`do { ${CALL('a.x')} } while (row.more);`)).toEqual(['a.x:Infinity']);
    expect(await does(`await Promise.all(row.all.map(async () => { ${CALL('a.x')} }));`)).toEqual(['a.x:Infinity']);
    expect(await does(`for (const t of ['a', 'b']) await c.tool(t, t + '.x', {});`)).toEqual(['a.x:1', 'b.x:1']);
    expect(
      await does(`await Promise.all(T.map((t) => c.tool(t, t, {})));`, `const T = ['a.x', 'b.x', 'a.x'];`),
    ).toEqual(['a.x:2', 'b.x:1']);
    expect(
      await does(`const go = async (n: number): Promise<any> => { ${CALL('a.x')} return go(n - 1); }; await go(3);`),
    ).toEqual(['a.x:Infinity']);
  });

  verifies('PLAN-TEXT-1', 'follows functions, of other files too, with what they are told', async () => {
    expect(await does(`await find(c, 'one'); await find(c, 'two'); await find(c, 'one');`)).toEqual([
      'one.find:2',
      'two.find:1',
    ]);
    expect(await does(`await once(async () => { ${CALL('a.x')} });`)).toEqual(['a.x:1']);
    expect(await does(`await retry({ fn: async () => { ${CALL('a.x')} }, times: 3 });`)).toEqual(['a.x:Infinity']);
    expect(await does(`const { tools } = c; await tools.execute({ id: 'i', tool: 'a.x' });`)).toEqual(['a.x:1']);
    const program = `steps().step('one', finder('one')).step('in', steps().step('two', finder('two')).return(finder('four')))
      .return(async (row, c) => find(c, 'three'))`;
    expect(
      await shown(`.withColumn('a', ${program}).withColumn('b', { run: async ({ ctx: c }: any) => find(c, 'two') })`),
    ).toEqual({
      'a.one': ['one.find:1'],
      'a.in.two': ['two.find:1'],
      a: ['four.find:1', 'three.find:1'],
      b: ['two.find:1'],
    });
  });

  verifies(['PLAN-TEXT-1', 'CHECK-COST-1'], 'follows inline children and programs that a row runs', async () => {
    const child = (run: string): string => `const child = definePlay('c', async (own: any) => { ${run} return {}; });`;
    const own = CALL('a.x').replace('c.tools', 'own.tools');
    expect(await does(`${CALL('b.x')} await c.runPlay('k', child, {});`, child(own))).toEqual(['b.x:1', 'a.x:1']);
    expect(
      await does(
        `for (const one of row.all) await c.runPlay(one, child, {});`,
        `const child = definePlay({ id: 'c', run: async (own: any) => { ${own} ${own} return {}; } });`,
      ),
    ).toEqual(['a.x:Infinity']);
    expect(await does(`await c.runPlayAsync('k', child, {});`, child(own))).toEqual([
      '!a run that it starts calls what its own plan tells',
    ]);
    const program = `const program = steps<any>().step('one', finder('one'))
      .step('in', steps<any>().step('two', finder('two')).return((row: any) => row.two))
      .return(async (row: any, of: any) => find(of, 'three'));`;
    const programs = ['one.find:1', 'two.find:1', 'three.find:1'];
    expect(await does(`await c.runSteps(program, row);`, program)).toEqual(programs);
    expect(await does(program.replace('const program =', 'await c.runSteps(').replace(/;$/, ', row);'))).toEqual(
      programs,
    );
    expect(await does(`await c.runSteps(row.program, row);`)).toEqual(['!a program that it runs is not written out']);
  });

  verifies('CHECK-COST-1', 'says where a count has no end, and why', async () => {
    const text = body(
      `await ctx.dataset('d', []).withColumn('a', async (row: any, c: any) => {
  for (const one of row.all) {
    ${CALL('a.x')}
    while (row.more) { ${CALL('a.x')} ${CALL('b.x')} }
  }
  await Promise.all(row.all.map(() => c.tool('i', row.tool, {})));
  const again = async (): Promise<any> => { ${CALL('c.x')} return again(); };
  await again();
}).run();`,
    );
    const folder = folderWith({ 'x.play.ts': text });
    const [calls] = (await checkPlay(path.join(folder, 'x.play.ts'), { types: false })).calls().values();
    expect(calls?.repeats).toEqual([
      { tool: 'a.x', why: 'the loop at x.play.ts:6' },
      { tool: 'b.x', why: 'the loop at x.play.ts:6' },
      { tool: null, why: 'the function at x.play.ts:8, which may be called any number of times' },
      { tool: 'c.x', why: 'what calls itself at x.play.ts:9' },
    ]);
  });

  verifies(['PLAN-TEXT-1', 'PLAN-BLIND-1'], 'says where it cannot tell', async () => {
    expect(await does(`await c.tool('i', row.tool, {});`)).toEqual(['?:1']);
    expect(await does(`for (;;) await find(c, row.tool);`)).toEqual(['?:Infinity']);
    expect(await does(`await input.helper(c, row);`)).toEqual(['!ctx is handed on']);
    expect(await does(`const all = { c }; await input.helper(all);`)).toEqual(['!ctx is handed on']);
    expect(await does(`await input.helper(c.tools);`)).toEqual(['!ctx.tools is handed on']);
    expect(await does(`const { tool } = c; await tool('i', 'a.x', {});`)).toEqual(['!ctx is handed on']);
    expect(await does(`const call = c.tools.execute; await call({});`)).toEqual(['!ctx.tools is handed on']);
    expect(await does(`let f = async () => { ${CALL('a.x')} }; await f();`)).toEqual(['a.x:Infinity']);
    expect(await does(`await c.runPlay('k', input.play, {});`)).toEqual([
      '!a child play calls what its own plan tells',
    ]);
    const apart = (param: string): Promise<Record<string, string[]>> =>
      shown(
        `.withColumn('a', async (row: any, { ${param} }: any) => { await tools.execute({ id: 'i', tool: 'a.x' }); })`,
      );
    expect(await apart('tools, log')).toEqual({ a: ['a.x:1'] });
    expect(await apart('tools, tool: call')).toEqual({ a: ['a.x:1', '!ctx is taken apart'] });
    expect(await apart('runPlay, ...tools')).toEqual({ a: ['a.x:1', '!ctx is taken apart'] });
    expect(await shown(`.withColumn('a', input.resolver)`)).toEqual({ a: ['!input.resolver is not written out'] });
  });

  it('finds nothing hidden in what calls nothing', async () => {
    expect(
      await does(
        `c.log.info('x'); const n = await c.step('s', () => path.join(row.id)); return [n].map((one) => one.trim());`,
      ),
    ).toEqual([]);
  });
});
