import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { checkPlay, FINDINGS, stopBundler } from '../index.ts';
import { folderWith, rejection } from '../temp-folder.test-support.ts';
import type { CheckOptions } from './check.ts';
import { body, LIB, WATERFALL } from './plays.test-support.ts';

afterAll(() => stopBundler());

const check = (files: Record<string, string>, options: CheckOptions = {}, spec = 'x.play.ts') => {
  const folder = folderWith(files);
  return checkPlay(path.join(folder, spec), { types: false, ...options });
};

const codesOf = async (statements: string, options: CheckOptions = {}) =>
  (await check({ 'x.play.ts': body(statements) }, options)).findings.map((item) => `${item.code}:${item.line}`);

describe('the plan', () => {
  it('tells datasets, columns, legs and tools by the text, through helpers and other files', async () => {
    const files = { 'x.play.ts': WATERFALL, 'lib.ts': LIB };
    const { plan, findings, ok, play } = await check(files);
    expect(findings).toEqual([]);
    expect([ok, play?.name]).toEqual([true, 'find']);
    expect(plan).toMatchObject({
      tools: ['hunter.email_finder', 'phones.a', 'prospeo.find', 'zerobounce.verify'],
      secrets: ['CRM_KEY', 'CRM_TOKEN'],
      csv: [
        { path: null, from: 'input.csv', required: ['first_name', 'domain'], line: 8 },
        { path: 'companies.csv', required: [] },
      ],
      datasets: [
        {
          key: 'leads',
          keyFields: ['first_name', 'domain'],
          line: 10,
          columns: [
            {
              name: 'email',
              legs: [
                { name: 'hunter', tools: ['hunter.email_finder'] },
                { name: 'prospeo', tools: ['prospeo.find'] },
                { name: 'phone.a', tools: ['phones.a'] },
              ],
            },
            { name: 'ok', legs: [{ name: 'ok', tools: ['zerobounce.verify'] }] },
            { name: 'plain', legs: [{ name: 'plain', tools: [] }] },
          ],
        },
        { keyFields: 'function', columns: [] },
      ],
    });
    expect(plan?.datasets[1]?.key).toMatch(/^\(`by-/);
  });

  it('follows a chain that goes on from a variable', async () => {
    const { plan } = await check({
      'x.play.ts': body(
        `let b: any = ctx.dataset('a', []);\nb = b.withColumn('c', async (row, ctx) => ctx.tool('i', 't.x', row));\nawait b.run();`,
      ),
    });
    expect(plan?.datasets).toMatchObject([
      { key: 'a', keyFields: 'content', columns: [{ name: 'c', legs: [{ tools: ['t.x'] }] }] },
    ]);
  });

  it('is of the named play and the children that it runs, not of others in the file', async () => {
    const text = `import { definePlay } from 'callsheet';
      export const child = definePlay('child', async (ctx) => ({ a: await ctx.tool('1', 'child.tool', {}) }));
      export const other = definePlay({ id: 'other', run: async (c) => ({ a: await c.tool('1', 'other.tool', {}), t: Date.now() }) });
      export const main = definePlay('main', async (ctx) => ({ a: await ctx.runPlay('k', child, {}), b: await ctx.tool('1', 'main.tool', {}) }));`;
    const files = { 'x.play.ts': text };
    const main = await check(files, {}, 'x.play.ts#main');
    expect(main.plan?.tools).toEqual(['child.tool', 'main.tool']);
    expect(main.findings).toEqual([]);
    const other = await check(files, {}, 'x.play.ts#other');
    expect(other.plan?.tools).toEqual(['other.tool']);
    expect(other.findings).toMatchObject([{ code: 'CLOCK_OUTSIDE_STEP' }]);
  });
});

describe('the catalogue and secrets', () => {
  verifies('PLAY-CHECK-1', 'TOOL_NOT_FOUND names the nearest tools', async () => {
    const options = { toolIds: ['hunter.email_finder', 'apollo.people'] };
    const { findings, ok } = await check(
      { 'x.play.ts': body(`await ctx.tool('1', 'hunter.email_findr', {});`) },
      options,
    );
    expect(ok).toBe(false);
    expect(findings).toMatchObject([{ code: 'TOOL_NOT_FOUND', severity: 'error', line: 3 }]);
    expect(findings[0]?.message).toContain("Did you mean 'hunter.email_finder'");
    expect(await codesOf(`await ctx.tool('1', input.tool, {});`, options)).toEqual([]);
    expect(await codesOf(`await ctx.tools.execute({ id: '1', tool: 'apollo.people', input: {} });`, options)).toEqual(
      [],
    );
  });

  verifies('PLAY-CHECK-1', 'SECRET_MISSING for what the play and its tools need', async () => {
    const { findings } = await check(
      { 'x.play.ts': body(`await ctx.tool('1', 'a.b', {});`, `{ secrets: ['ONE', 'SET'] }`) },
      { secretIsSet: (name) => name === 'SET', toolSecrets: () => ['TWO', 'SET'] },
    );
    expect(findings.map((item) => [item.code, item.next[0]])).toEqual([
      ['SECRET_MISSING', 'callsheet secrets set ONE'],
      ['SECRET_MISSING', 'callsheet secrets set TWO'],
    ]);
    expect(findings[1]?.message).toContain("tool 'a.b'");
    expect(findings[0]?.line).toBe(2);
  });

  it('SECRET_NOT_DECLARED for what the options do not list', async () => {
    expect(await codesOf(`ctx.secrets.header('X-Key', 'NAME');`)).toEqual(['SECRET_NOT_DECLARED:3']);
  });

  verifies('PLAY-OPTIONS-1', 'PLAY_OPTION_UNKNOWN and EDITION_UNKNOWN are warnings', async () => {
    const { findings, ok } = await check({
      'x.play.ts': body('', `{ descripton: 'x', compatibility: '2031-01' } as never`),
    });
    expect(ok).toBe(true);
    expect(findings.map((item) => item.code)).toEqual(['PLAY_OPTION_UNKNOWN', 'EDITION_UNKNOWN']);
    expect(findings[0]?.message).toContain("Did you mean 'description'");
  });
});

describe('datasets', () => {
  it('ROW_KEY_UNSTABLE for chance and counting, ROW_KEY_FROM_CLOCK for the clock', async () => {
    const run = (key: string) => `let n = 0;\nawait ctx.dataset('a', []).run({ key: ${key} });`;
    const keyCodes = async (key: string) => (await codesOf(run(key))).filter((code) => code.startsWith('ROW_KEY'));
    expect(await keyCodes('() => Math.random()')).toEqual(['ROW_KEY_UNSTABLE:4']);
    expect(await keyCodes('() => n++')).toEqual(['ROW_KEY_UNSTABLE:4']);
    expect(await keyCodes('() => Date.now()')).toEqual(['ROW_KEY_FROM_CLOCK:4']);
    expect(await keyCodes('(row: any) => { let k = row.a; k += row.b; return k; }')).toEqual([]);
  });

  it('DATASET_KEY_DUPLICATE, unless the two are in different branches', async () => {
    expect(await codesOf(`await ctx.dataset('a', []).run();\nawait ctx.dataset('a ', []).run();`)).toEqual([
      'DATASET_KEY_DUPLICATE:4',
    ]);
    expect(
      await codesOf(`if (input.x) await ctx.dataset('a', []).run();\nelse await ctx.dataset('a', []).run();`),
    ).toEqual([]);
  });

  it('COLUMN_DUPLICATE for columns of a chain and steps of a program', async () => {
    expect(
      await codesOf(`await ctx.dataset('a', [])\n.withColumn('c', () => 1)\n.withColumn('c', () => 2)\n.run();`),
    ).toEqual(['COLUMN_DUPLICATE:5']);
    expect(
      await codesOf(`const s = steps<any>()\n.step('c', () => 1)\n.step('c', () => 2)\n.return(() => 1);`),
    ).toContain('COLUMN_DUPLICATE:5');
  });

  it('DATASET_NESTED for one inside a row', async () => {
    expect(
      await codesOf(
        `await ctx.dataset('a', []).withColumn('c', async (row) => {\nawait ctx.dataset('b', []).run();\n}).run();`,
      ),
    ).toEqual(['DATASET_NESTED:4']);
  });

  it.each([
    ['rows.length', 'await rows.count()'],
    ['rows[0]', 'materialize'],
    ['[...rows]', 'materialize'],
    ['rows.forEach((r) => r)', 'for await'],
    ['Array.from(rows)', 'materialize'],
  ])('DATASET_AS_ARRAY: %s', async (use, instead) => {
    for (const made of [`ctx.csv('a.csv')`, `ctx.dataset('a', []).withColumn('b', () => 1).run()`]) {
      const { findings, ok } = await check({
        'x.play.ts': body(`const rows: any = await ${made};\nconst x = ${use};`),
      });
      expect(findings).toMatchObject([{ code: 'DATASET_AS_ARRAY', line: 4 }]);
      expect(findings[0]?.next[0]).toContain(instead);
      expect(ok).toBe(false);
    }
  });

  verifies('PLAY-CHECK-1', 'DATASET_AS_ARRAY: for … of without await, and destructuring', async () => {
    expect(await codesOf(`const rows: any = await ctx.csv('a.csv');\nfor (const r of rows) {}`)).toEqual([
      'DATASET_AS_ARRAY:4',
    ]);
    expect(await codesOf(`const rows: any = await ctx.csv('a.csv');\nconst [first] = rows;`)).toEqual([
      'DATASET_AS_ARRAY:4',
    ]);
  });

  it('DATASET_SYNC_CALLBACK warns where a callback cannot be async', async () => {
    const use = (callback: string) =>
      codesOf(`const rows: any = await ctx.csv('a.csv');\nconst x = rows.map(${callback});`);
    expect(await use('(r) => r.a + 1')).toEqual(['DATASET_SYNC_CALLBACK:4']);
    expect(await use('async (r) => r.a + 1')).toEqual([]);
    expect(await use('(r) => later(r)')).toEqual([]);
  });

  it('leaves arrays, handles and names of other scopes alone', async () => {
    expect(
      await codesOf(`const rows = await ctx.csv('a.csv');\nconst list = await rows.materialize();\nlist.length; list[0]; [...list];
        for await (const row of rows) {}\nawait rows.count();\n(() => { const rows = [1]; return rows.length; })();\nreturn { rows, ...rows };`),
    ).toEqual([]);
  });
});

describe('what a resume would do again', () => {
  it.each([
    ['Date.now()', 'CLOCK_OUTSIDE_STEP'],
    ['new Date()', 'CLOCK_OUTSIDE_STEP'],
    ['performance.now()', 'CLOCK_OUTSIDE_STEP'],
    ['process.hrtime.bigint()', 'CLOCK_OUTSIDE_STEP'],
    ['Math.random()', 'CHANCE_OUTSIDE_STEP'],
    ['crypto.randomUUID()', 'CHANCE_OUTSIDE_STEP'],
    ['await fetch("https://example.com")', 'NETWORK_OUTSIDE_STEP'],
    ['process.env.HOME', 'ENVIRONMENT_OUTSIDE_STEP'],
    ['setTimeout(() => {}, 1)', 'TIMER_OUTSIDE_STEP'],
    ['import.meta.url', 'IMPORT_META'],
  ])('%s is a warning, never an error', async (use, code) => {
    const { findings, ok } = await check({ 'x.play.ts': body(`const x: any = ${use};`) });
    expect(findings).toMatchObject([{ code, severity: 'warning', line: 3 }]);
    expect(ok).toBe(true);
  });

  verifies('PLAY-CHECK-2', 'all of it in one play is warned of, and the play is still fine to run', async () => {
    const text = `import { readFileSync } from 'node:fs';\n${body(
      'Date.now(); Math.random(); readFileSync("x"); await fetch("https://example.com"); process.env.HOME;',
    )}`;
    const { findings, ok } = await check({ 'x.play.ts': text });
    expect(findings.map((item) => item.code)).toEqual([
      'CLOCK_OUTSIDE_STEP',
      'CHANCE_OUTSIDE_STEP',
      'FILES_OUTSIDE_STEP',
      'NETWORK_OUTSIDE_STEP',
      'ENVIRONMENT_OUTSIDE_STEP',
    ]);
    expect(ok).toBe(true);
  });

  it('knows modules by their import', async () => {
    const text = `import * as fs from 'node:fs';\nimport { readFile as read } from 'fs/promises';\nimport { randomUUID, createHash } from 'node:crypto';\n${body(
      `fs.promises.readFile('x');\nread('x');\nrandomUUID();\ncreateHash('sha256');\n`,
    )}`;
    const { findings } = await check({ 'x.play.ts': text });
    expect(findings.map((item) => `${item.code}:${item.line}`)).toEqual([
      'FILES_OUTSIDE_STEP:6',
      'FILES_OUTSIDE_STEP:7',
      'CHANCE_OUTSIDE_STEP:8',
    ]);
  });

  it('all of it is fine in a step, in a helper that only steps use, in a tool, and under other names', async () => {
    expect(
      await codesOf(`await ctx.step('a', () => Date.now());\nconst draw = () => Math.random();\nawait ctx.step('b', async () => draw());\nawait ctx.step('c', draw);
        const t = defineTool({ id: 'a.b', effect: 'read', input: {}, run: async () => Date.now() });
        const fetch = (u: string) => u;\nfetch('x');\nnew Date('2026-01-01');`),
    ).toEqual([]);
  });

  it('UNKEYED_IN_PARALLEL for recorded values whose order may vary', async () => {
    expect(await codesOf(`await Promise.all([ctx.now(), ctx.now('k')]);`)).toEqual(['UNKEYED_IN_PARALLEL:3']);
    expect(await codesOf(`[1, 2].map(async () => ctx.uuid());`)).toEqual(['UNKEYED_IN_PARALLEL:3']);
    expect(
      await codesOf(
        `const a = await ctx.now();\nawait ctx.dataset('a', []).withColumn('c', (r, ctx) => ctx.random()).run();`,
      ),
    ).toEqual([]);
  });

  it('SUSPENSION_IN_STEP where something stands before the wait', async () => {
    expect(
      await codesOf(`await ctx.step('a', async () => {\nawait ctx.tool('1', 'a.b', {});\nawait ctx.sleep('3d');\n});`),
    ).toEqual(['SUSPENSION_IN_STEP:5']);
    expect(
      await codesOf(`await ctx.step('a', async () => {\nawait ctx.sleep('3d');\n});\nawait ctx.sleep(1);`),
    ).toEqual([]);
  });

  it('FETCH_WITHOUT_IDEMPOTENCY_KEY for a mutating method that is written out', async () => {
    const use = (init: string) =>
      codesOf(
        `const more: any = {};\nconst m = 'patch' as const;\nawait ctx.fetch('k', 'https://example.com', ${init});`,
      );
    expect(await use(`{ method: 'POST' }`)).toEqual(['FETCH_WITHOUT_IDEMPOTENCY_KEY:5']);
    expect(await use(`{ method: m, headers: { accept: 'x' } }`)).toEqual(['FETCH_WITHOUT_IDEMPOTENCY_KEY:5']);
    expect(await use(`{ method: 'POST', headers: { 'idempotency-key': '1' } }`)).toEqual([]);
    expect(await use(`{ method: 'POST', headers: { ...more } }`)).toEqual([]);
    expect(await use(`{ method: 'POST', headers: { [input.name]: '1' } }`)).toEqual([]);
    expect(await use(`{ method: 'POST', ...more }`)).toEqual([]);
    expect(await use(`{ method: 'GET' }`)).toEqual([]);
    expect(await use(`{ method: input.m }`)).toEqual([]);
  });

  it('looks into local files, not into packages', async () => {
    const { findings } = await check({
      'x.play.ts': `import { a } from './lib/a.ts';\nimport { b } from 'pack';\n${body('a(); b();')}`,
      'lib/a.ts': '\nexport const a = () => Date.now();',
      'node_modules/pack/index.js': 'exports.b = () => Date.now();',
    });
    expect(findings).toMatchObject([
      { code: 'CLOCK_OUTSIDE_STEP', line: 2, file: expect.stringMatching(/lib\/a\.ts$/) },
    ]);
  });
});

describe('a play that cannot be loaded', () => {
  it.each([
    ['PLAY_SYNTAX', `export default {`, 1],
    ['PLAY_LOAD_FAILED', `\nthrow new Error('x');`, 2],
    ['PLAY_MISSING', `export const a = 1;`, null],
    ['PLAY_DEFINITION_INVALID', `import { definePlay } from 'callsheet';\nexport default definePlay('', () => 1);`, 2],
  ])('%s is a finding', async (code, text, line) => {
    const checked = await check({ 'x.play.ts': text });
    expect(checked).toMatchObject({ ok: false, plan: null, play: null, findings: [{ code, severity: 'error', line }] });
    expect(checked.findings[0]?.next.length).toBeGreaterThan(0);
  });

  it('what is wrong on the command line is thrown', async () => {
    const two = `import { definePlay } from 'callsheet';\nexport const a = definePlay('a', () => 1);\nexport const b = definePlay('b', () => 1);`;
    expect((await rejection(check({}, {}))).code).toBe('PLAY_FILE_NOT_FOUND');
    expect((await rejection(check({ 'x.play.ts': two }))).code).toBe('PLAY_AMBIGUOUS');
    expect((await rejection(check({ 'x.play.ts': two }, {}, 'x.play.ts#c'))).code).toBe('PLAY_EXPORT_NOT_FOUND');
  });

  it('BUNDLE_WARNING keeps what the bundler remarks', async () => {
    expect(await codesOf('const a = { b: 1, b: 2 };')).toEqual(['BUNDLE_WARNING:3']);
  });
});

it('every finding says how grave it is and what it means', () => {
  for (const [code, { severity, means }] of Object.entries(FINDINGS)) {
    expect(code).toMatch(/^[A-Z_]+$/);
    expect(['error', 'warning']).toContain(severity);
    expect(means).toMatch(/\.$/);
  }
});
