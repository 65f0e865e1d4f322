import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { cli, cliJson, type Json, jsonOf } from './harness/cli.ts';
import { finderFiles, peopleCsv, playText, toolText } from './harness/finder.ts';
import { type Files, folder } from './harness/folders.ts';
import { type WatchedSandbox, watchedSandbox } from './harness/watched-sandbox.ts';

const TIMEOUT = 120_000;

interface Case {
  readonly args: readonly string[];
  readonly code: string;
  readonly exit: number;
  /** What the message says: the place, and what was found there. */
  readonly says: readonly (string | RegExp)[];
  /** What the next step looks like. */
  readonly next: string | RegExp;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs the cases in a folder, two at once, each with `--json`, and expects of each all that an error owes its reader. */
async function expectFailures(dir: string, cases: readonly Case[], sandbox: WatchedSandbox): Promise<void> {
  const waiting = [...cases];
  const worker = async (): Promise<void> => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) await expectFailure(dir, one, sandbox);
  };
  await Promise.all([worker(), worker()]);
}

async function expectFailure(dir: string, one: Case, sandbox: WatchedSandbox): Promise<Json> {
  const ended = await cli(dir, [...one.args, '--json'], { env: { ...sandbox.env, ...one.env } });
  const document = jsonOf(ended);
  const told = `${one.args.join(' ')}: ${JSON.stringify(document.error ?? document, null, 1)}\n${ended.stderr}`;
  expect(document.error?.code, told).toBe(one.code);
  expect(ended.exit, told).toBe(one.exit);
  const said = `${document.error.message} ${JSON.stringify(document.error.details)}`;
  for (const part of one.says) expect(said, told).toMatch(part instanceof RegExp ? part : new RegExp(escaped(part)));
  expect(document.error.next.length, told).toBeGreaterThan(0);
  expect(document.error.next.join('\n'), told).toMatch(
    one.next instanceof RegExp ? one.next : new RegExp(escaped(one.next)),
  );
  return document;
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

/** A play whose function is this text. */
function play(body: string, { name = 'play', options = '{}' } = {}): string {
  return `import { definePlay } from 'callsheet';
export default definePlay('${name}', async (ctx, input: any) => { ${body} }, ${options});
`;
}

const EXECUTE = `await ctx.tools.execute({ id: 'find', tool: 'hunter.email_finder', input: { first_name: row.first_name, last_name: row.last_name, domain: row.domain } })`;

function datasetPlay(
  run: string,
  column = `.withColumn('email', async (row, ctx) => (${EXECUTE}).values.email)`,
): string {
  return play(
    `const rows = await ctx.dataset('people', await ctx.csv(input.csv))${column}.run(${run}); return { rows };`,
  );
}

async function workspace(files: Files): Promise<{ dir: string; sandbox: WatchedSandbox }> {
  return { dir: folder({ ...finderFiles(peopleCsv(3)), ...files }), sandbox: await watchedSandbox() };
}

verifies(
  ['ERROR-NEXT-1', 'CLI-ERROR-JSON-1', 'CLI-EXIT-1', 'PLAY-SYNTAX-1', 'PLAY-EXPORTS-1', 'PLAY-INPUT-1', 'CLI-CONFIG-1'],
  'a play that is missing, broken, none, several, or given the wrong input says so with code, place and next step',
  async () => {
    const { dir, sandbox } = await workspace({
      'broken.play.ts': `import { definePlay } from 'callsheet';\n\nexport default definePlay('x', async (ctx => {});\n`,
      'none.play.ts': 'export const notAPlay = 1;\n',
      'two.play.ts': `import { definePlay } from 'callsheet';
export const one = definePlay('one', async () => ({}));
export const two = definePlay('two', async () => ({}));
`,
      'throws.play.ts': `throw new Error('at load');\n`,
      'strict.play.ts': play('return {};', {
        options: `{ input: { type: 'object', properties: { limit: { type: 'integer' } }, required: ['limit'] } }`,
      }),
      'broken-config/callsheet.config.ts': `export default { providers: { hunter: { mode: 'fast' } } };\n`,
    });
    await expectFailures(
      dir,
      [
        { args: ['run', 'fnd.play.ts'], code: 'PLAY_FILE_NOT_FOUND', exit: 4, says: ['fnd.play.ts'], next: /./ },
        { args: ['run', 'broken.play.ts'], code: 'PLAY_SYNTAX', exit: 3, says: [/broken\.play\.ts:3/], next: /./ },
        {
          args: ['run', 'none.play.ts'],
          code: 'PLAY_MISSING',
          exit: 3,
          says: ['none.play.ts', 'notAPlay'],
          next: 'definePlay',
        },
        {
          args: ['run', 'two.play.ts'],
          code: 'PLAY_AMBIGUOUS',
          exit: 3,
          says: ['#one', '#two'],
          next: 'two.play.ts#one',
        },
        {
          args: ['run', 'two.play.ts#twoo'],
          code: 'PLAY_EXPORT_NOT_FOUND',
          exit: 4,
          says: ['twoo', 'two'],
          next: '#two',
        },
        {
          args: ['run', 'throws.play.ts'],
          code: 'PLAY_LOAD_FAILED',
          exit: 3,
          says: ['at load', 'throws.play.ts'],
          next: /./,
        },
        {
          args: ['run', 'strict.play.ts', '--set', 'limit=much'],
          code: 'PLAY_INPUT_INVALID',
          exit: 3,
          says: ['limit'],
          next: /./,
        },
        {
          args: ['run', 'strict.play.ts', '--input', '{nope'],
          code: 'USAGE',
          exit: 2,
          says: ['{nope'],
          next: '--input',
        },
        { args: ['run', 'find.play.ts', '--fast'], code: 'USAGE', exit: 2, says: ['--fast'], next: '--help' },
        { args: ['rum', 'find.play.ts'], code: 'USAGE', exit: 2, says: ['rum'], next: /run|--help/ },
        {
          args: ['runs', 'show', 'run_none'],
          code: 'RUN_NOT_FOUND',
          exit: 4,
          says: ['run_none'],
          next: 'callsheet runs list',
        },
        {
          args: ['run', 'find.play.ts', '--workspace', 'broken-config'],
          code: 'CONFIG_INVALID',
          exit: 3,
          says: ['providers.hunter.mode'],
          next: /./,
        },
      ],
      sandbox,
    );
    expect(sandbox.ledger()).toHaveLength(0);
  },
  TIMEOUT,
);

verifies(
  ['FILE-EMPTY-1', 'FILE-REQUIRED-1', 'FILE-ENCODING-1', 'CLI-OUTPUT-1', 'FILE-OUT-4', 'ERROR-NEXT-1'],
  'a CSV or an output that cannot be used is refused before anything is paid',
  async () => {
    const { dir, sandbox } = await workspace({
      'empty.csv': '',
      'header.csv': 'n,first_name,last_name,domain\n',
      'other.csv': 'n,Vorname,Nachname,Firma\n1,Ada,Ashvale,Stripe\n',
      'rubbish.csv': Buffer.concat([
        Buffer.from('\uFEFFn,first_name,last_name,domain\n1,'),
        Buffer.from([0xff, 0xfe, 0xc3, 0x28, 0x0a]),
      ]),
      'folder.csv/x': '',
    });
    const run = (csv: string, ...more: string[]): string[] => ['run', 'find.play.ts', '--csv', csv, ...more];
    await expectFailures(
      dir,
      [
        { args: run('missing.csv'), code: 'FILE_NOT_FOUND', exit: 3, says: ['missing.csv'], next: /./ },
        { args: run('empty.csv'), code: 'FILE_EMPTY', exit: 3, says: ['empty.csv'], next: /./ },
        {
          args: run('other.csv'),
          code: 'COLUMN_MISSING',
          exit: 3,
          says: ['first_name', 'Vorname', 'Nachname', 'Firma'],
          next: /./,
        },
        { args: run('rubbish.csv'), code: 'FILE_UNDECODABLE', exit: 3, says: ['rubbish.csv', 'line'], next: /UTF-8/ },
        { args: run('folder.csv'), code: 'FILE_UNREADABLE', exit: 3, says: ['folder.csv'], next: /./ },
        {
          args: run('people.csv', '-o', 'people.csv'),
          code: 'OUTPUT_IS_INPUT',
          exit: 2,
          says: ['people.csv'],
          next: /./,
        },
        {
          args: run('people.csv', '-o', 'nowhere/out.csv'),
          code: 'OUTPUT_FOLDER_MISSING',
          exit: 2,
          says: ['nowhere'],
          next: /./,
        },
      ],
      sandbox,
    );
    const empty = await cli(dir, [...run('header.csv', '-o', 'out.csv'), '--json'], { env: sandbox.env });
    expect(empty.exit).toBe(0);
    expect(empty.stderr).toContain('The file has a header and no rows');
    expect(readFileSync(join(dir, 'out.csv'), 'utf8')).toBe('n,first_name,last_name,domain,email\n');
    expect(readFileSync(join(dir, 'people.csv'), 'utf8')).toBe(peopleCsv(3));
    expect(sandbox.ledger()).toHaveLength(0);
  },
  TIMEOUT,
);

verifies(
  [
    'DATA-KEY-2',
    'DATA-KEY-4',
    'DATA-COLUMN-2',
    'DATA-ARRAY-1',
    'CTX-NESTED-1',
    'PLAY-RESULT-1',
    'ERROR-NEXT-1',
    'CLI-EXIT-1',
  ],
  'a dataset or a result that cannot be is refused with rows, column or path',
  async () => {
    const { dir, sandbox } = await workspace({
      'keys.csv': 'n,first_name,last_name,domain\n1,Ada,Ashvale,stripe.com\n,Bea,Ashvale,stripe.com\n',
      'key.play.ts': datasetPlay(`{ key: 'n' }`),
      'unstable.play.ts': datasetPlay('{ key: (row) => String(row.n) + Math.random() }'),
      'hides.play.ts': datasetPlay(`{ key: 'n' }`, `.withColumn('domain', () => 1)`),
      'array.play.ts': play(
        `const rows = await ctx.dataset('people', await ctx.csv(input.csv)).run({ key: 'n' }); return { count: (rows as any).length };`,
      ),
      'nested.play.ts': datasetPlay(
        `{ key: 'n', onRowError: 'fail' }`,
        `.withColumn('inner', async (row, ctx: any) => { await ctx.dataset('inner', [row]).run(); })`,
      ),
      'result.play.ts': play('return { deep: [{ big: 10n }] };'),
    });
    const run = (file: string, csv = 'people.csv'): string[] => ['run', `${file}.play.ts`, '--csv', csv];
    await expectFailures(
      dir,
      [
        {
          args: run('key', 'keys.csv'),
          code: 'ROW_KEY_INVALID',
          exit: 1,
          says: ['people', /row 2|rows 2|\[2\]/, 'n'],
          next: /./,
        },
        { args: run('unstable'), code: 'ROW_KEY_UNSTABLE', exit: 1, says: ['people', 'row 1'], next: /./ },
        { args: run('hides'), code: 'COLUMN_HIDES_INPUT', exit: 1, says: ['domain'], next: 'replace: true' },
        { args: run('array'), code: 'DATASET_AS_ARRAY', exit: 1, says: ['length', 'count()'], next: /./ },
        { args: run('nested'), code: 'ROW_FAILED', exit: 1, says: [/dataset/, 'DATASET_NESTED'], next: /./ },
        { args: run('result'), code: 'RESULT_NOT_JSON', exit: 1, says: ['deep[0].big'], next: /./ },
      ],
      sandbox,
    );
    expect(sandbox.ledger()).toHaveLength(0);
  },
  TIMEOUT,
);

verifies(
  ['TOOL-UNKNOWN-1', 'TOOL-INPUT-1', 'SECRET-SOURCES-1', 'ERROR-NEXT-1'],
  'an unknown tool, a missing secret and a wrong tool input are named before anything is paid',
  async () => {
    const { dir, sandbox } = await workspace({
      'unknown.play.ts': play(
        `return (await ctx.tools.execute({ id: 'x', tool: 'hunter.email_findr', input: {} })).values;`,
      ),
      'input.play.ts': play(
        `return (await ctx.tools.execute({ id: 'x', tool: 'hunter.email_finder', input: { first_name: 'Ada', last_name: 7, domain: 'x.com' } })).values;`,
      ),
      'live/callsheet.config.ts': 'export default {};\n',
      'live/tools/finder.ts': toolText(),
      'live/find.play.ts': playText(),
    });
    await expectFailures(
      dir,
      [
        {
          args: ['run', 'unknown.play.ts'],
          code: 'TOOL_NOT_FOUND',
          exit: 3,
          says: ['hunter.email_findr', 'hunter.email_finder'],
          next: /tools list/,
        },
        {
          args: ['run', 'input.play.ts'],
          code: 'TOOL_INPUT_INVALID',
          exit: 1,
          says: ['hunter.email_finder', 'last_name'],
          next: 'callsheet tools describe hunter.email_finder',
        },
      ],
      sandbox,
    );
    const live = ['--workspace', 'live'];
    const run = ['run', 'live/find.play.ts', '--csv', 'people.csv', ...live];
    const { error } = await cliJson(dir, run, { env: sandbox.env, exit: 3 });
    expect(error).toMatchObject({ code: 'SECRET_MISSING' });
    expect(error.message).toContain('HUNTER_API_KEY');
    expect(error.next.join()).toContain('callsheet secrets set HUNTER_API_KEY');
    expect(error.next.join()).toContain('callsheet runs resume run_');
    expect(sandbox.ledger()).toHaveLength(0);
  },
  TIMEOUT,
);

verifies(
  ['DELIVER-ERRORS-1', 'DELIVER-LARGE-1', 'CLI-ERRORS-1', 'DATA-ERROR-1', 'CLI-EXIT-1'],
  'each way in which a provider fails is a code of its own on its row; the other rows go on',
  async () => {
    const faults: Readonly<Record<string, string>> = {
      none: '',
      PROVIDER_AUTHENTICATION: 'status=401',
      PROVIDER_BILLING: 'status=402',
      PROVIDER_AUTHORIZATION: 'status=403',
      NO_RESULT: 'status=404',
      PROVIDER_VALIDATION: 'status=422',
      PROVIDER_RATE_LIMITED: 'status=429',
      PROVIDER_UPSTREAM: 'status=500',
      PROVIDER_TIMEOUT: 'hang',
      PROVIDER_CONNECTION_LOST: 'reset-after',
      PROVIDER_BAD_RESPONSE: 'truncate',
      TOOL_CONTRACT: 'rubbish',
      large: 'huge',
    };
    const names = Object.keys(faults);
    const csv = `n,fault,first_name,last_name,domain\n${names.map((name, row) => `${name},${faults[name]},Given${row},Ashvale,stripe.com`).join('\n')}\n`;
    const tool = (id: string, more: string): string =>
      toolText(more, {
        response: `response: ({ json }) => (json.data?.email ? { status: 'completed', data: json.data } : { status: 'no_result' })`,
      })
        .replace('hunter.email_finder', id)
        .replace(/export const \w+/, `export const ${id.split('.')[1]}`)
        .replace('domain: text }', 'domain: text, fault: { type: "string" } }')
        .replace('domain: string }', 'domain: string; fault: string }')
        .replace(
          'query: { ...input }',
          'query: { first_name: input.first_name, last_name: input.last_name, domain: input.domain }',
        )
        .replace('headers: {', `headers: { 'x-sandbox-fault': input.fault || undefined,`);
    const { dir, sandbox } = await workspace({
      'callsheet.config.ts': `export default { continueOnContractError: true, providers: { hunter: { mode: 'sandbox' } } };\n`,
      'tools/finder.ts': tool('hunter.patient', 'maxTries: 1,'),
      'tools/hasty.ts': tool('hunter.hasty', 'maxTries: 1, timeoutMs: 250,'),
      'faults.csv': csv,
      'faults.play.ts': datasetPlay(
        `{ key: 'n' }`,
        `.withColumn('email', async ({ first_name, last_name, domain, fault }: any, ctx) => (await ctx.tools.execute({ id: 'find', tool: fault === 'hang' ? 'hunter.hasty' : 'hunter.patient', input: { first_name, last_name, domain, fault } })).values.email)`,
      ),
    });
    const { env } = sandbox;
    const ended = await cliJson(dir, ['run', 'faults.play.ts', '--csv', 'faults.csv', '-o', 'out.csv'], {
      env,
      exit: 6,
    });
    const isFailure = (name: string): boolean =>
      /^[A-Z_]+$/.test(name) && name !== 'NO_RESULT' && name !== 'PROVIDER_NOT_FOUND';
    const failing = names.filter(isFailure);
    expect(ended.datasets[0]).toMatchObject({ failed: failing.length, completed: names.length - failing.length });
    const { groups } = await cliJson(dir, ['runs', 'errors', 'last'], { env });
    const codes = groups.flatMap(({ code, samples, next }: Json) => {
      expect(next, code).not.toEqual([]);
      return samples.map(({ row }: Json) => [row, code]);
    });
    expect(Object.fromEntries(codes)).toEqual(Object.fromEntries(failing.map((name) => [name, name])));
  },
  TIMEOUT,
);
