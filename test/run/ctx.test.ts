import { describe, expect } from 'vitest';
import { crash, laterClock } from '../harness/crash.ts';
import { json, testProvider } from '../harness/provider.ts';
import { countedTool } from '../harness/tools.ts';
import { attempt, openTest, queued, runPlay, testFolder, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

/** Runs a play to its end twice: the first process dies before it can say that the run has ended. */
async function twice(source: string, options: { readonly tools?: Parameters<typeof openTest>[1] } = {}) {
  const dir = testFolder();
  const now = await openTest(dir, options.tools);
  const run = await queued(now, source);
  await crash(now, run.id, (write) => write.kind === 'runState');
  const later = await openTest(dir, { ...options.tools, clock: laterClock() });
  const ended = await attempt(later, run.id);
  return { ...ended, workspace: later };
}

// The only way for code of a play to tell what an earlier attempt saw: a step for each attempt.
const SAY = (what: string): string =>
  `await ctx.step('attempt ' + ctx.run.attempt, () => ${what}); return [await ctx.step('attempt 1', () => null), ${what}];`;

describe('values that are the same on every attempt', () => {
  verifies(
    ['CTX-NOW-1', 'CTX-CHANCE-1'],
    'instants are recorded, chance is derived by key or counter, apart in each row',
    async () => {
      const { result, workspace, run } = await twice(`async (ctx) => {
      const nows = [await ctx.now(), await ctx.now(), await ctx.now('a'), await ctx.now('a')].map((at) => at.toISOString());
      const chance = [ctx.random(), ctx.random(), ctx.random('k'), ctx.random('k'), ctx.random('l'), ctx.uuid(), ctx.uuid(), ctx.uuid('k'), ctx.uuid('k')];
      const rows = await ctx.dataset('rows', [{ n: 1 }, { n: 2 }])
        .withColumn('chance', async (row, ctx) => [ctx.random('k'), ctx.uuid(), (await ctx.now()).toISOString()]).run();
      const inRows = (await rows.materialize()).map((row) => row.chance);
      ${SAY('({ nows, chance, inRows })')}
    }`);
      const [before, after] = result;
      expect(after).toEqual(before);
      expect(run.attempt).toBe(2);
      expect(after.nows.every((at: string) => Date.parse(at) <= Date.now())).toBe(true);
      const [r1, r2, k1, k2, l1, u1, u2, uk1, uk2] = after.chance;
      expect(k1).toBe(k2);
      expect(uk1).toBe(uk2);
      expect(new Set([r1, r2, k1, l1]).size).toBe(4);
      expect(new Set([u1, u2, uk1]).size).toBe(3);
      for (const number of [r1, r2, k1, l1]) expect(number >= 0 && number < 1).toBe(true);
      expect(u1).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      expect(after.inRows[0][0]).not.toBe(after.inRows[1][0]);
      expect(after.inRows[0][1]).not.toBe(after.inRows[1][1]);
      // Another run has another seed.
      const other = await runPlay(workspace, `async (ctx) => ctx.random('k')`);
      expect(other.result).not.toBe(k1);
    },
  );
});

describe('ctx.step', () => {
  verifies('CTX-STEP-1', 'runs its function once, in a row too, and gives its result to a later attempt', async () => {
    const counter = countedTool({ id: 'acme.count', reuse: 'never' });
    const { result } = await twice(
      `async (ctx) => {
        const step = (ctx, id, n) => ctx.step(id, async () => { globalThis.stepRuns = (globalThis.stepRuns ?? 0) + 1; return { n, at: globalThis.stepRuns }; });
        const own = [await step(ctx, 'a', 1), await step(ctx, 'a', 2), await step(ctx, 'b', 3), await ctx.step('none', () => undefined)];
        const rows = await ctx.dataset('rows', [{ n: 1 }, { n: 2 }]).withColumn('v', (row, ctx) => step(ctx, 'a', row.n)).run();
        return { own, rows: await rows.materialize(), runs: globalThis.stepRuns };
      }`,
      { tools: { tools: [counter.tool] } },
    );
    expect(result.own).toEqual([{ n: 1, at: 1 }, { n: 2, at: 2 }, { n: 3, at: 3 }, null]);
    expect(result.rows.map((row: { v: { n: number } }) => row.v.n)).toEqual([1, 2]);
    expect(result.runs).toBe(5);
    Reflect.deleteProperty(globalThis, 'stepRuns');
  });

  verifies(
    'CTX-STEP-2',
    'with staleAfterSeconds or semanticKey gives its result to later runs of the play, while it is young',
    async () => {
      const dir = testFolder();
      const now = await openTest(dir);
      const source = `async (ctx) => {
      const value = () => ctx.uuid('which');
      return [
        await ctx.step('plain', value),
        await ctx.step('stale', value, { staleAfterSeconds: 600 }),
        await ctx.step('semantic', value, { semanticKey: { of: 'this' } }),
        await ctx.step('other', value, { semanticKey: { of: ctx.run.id } }),
      ];
    }`;
      const [one, two] = [await runPlay(now, source), await runPlay(now, source)];
      expect(one.result.map((value: string, index: number) => value === two.result[index])).toEqual([
        false,
        true,
        true,
        false,
      ]);
      const another = await runPlay(now, source, { name: 'another-play' });
      expect(another.result.map((value: string, index: number) => value === one.result[index])).toEqual([
        false,
        false,
        false,
        false,
      ]);
      const later = await openTest(dir, { clock: laterClock() });
      const three = await runPlay(later, source);
      expect(three.result.map((value: string, index: number) => value === one.result[index])).toEqual([
        false,
        false,
        true,
        false,
      ]);
      const refreshed = await runPlay(now, source, { refresh: 'all' });
      expect(refreshed.result[2]).not.toBe(one.result[2]);
    },
  );

  verifies(
    'CTX-STEP-3',
    'whose result is not JSON fails with its path, and one that throws fails with what it threw',
    async () => {
      const workspace = await testWorkspace();
      const { result } = await runPlay(
        workspace,
        `async (ctx) => {
        const of = (id, fn) => ctx.step(id, fn).then(() => 'kept', (error) => [error.code ?? error.name, error.message]);
        return [
          await of('deep', () => ({ list: [1, { bad: () => 1 }] })),
          await of('date', () => ({ at: new Date(0) })),
          await of('big', () => 1n),
          await of('throws', () => { throw new RangeError('mine'); }),
          await of(' ', () => 1),
          await of('fn', 'no function'),
        ];
      }`,
      );
      expect(result[0][0]).toBe('RESULT_NOT_JSON');
      expect(result[0][1]).toMatch(/step 'deep'.*list\[1\]\.bad/);
      expect(result[1][1]).toContain('at');
      expect(result[2][0]).toBe('RESULT_NOT_JSON');
      expect(result[3]).toEqual(['RangeError', 'mine']);
      expect(result[4][0]).toBe('CALL_REQUEST_INVALID');
      expect(result[5][0]).toBe('CALL_REQUEST_INVALID');
    },
  );
});

describe('ctx.runSteps', () => {
  verifies('CTX-RUNSTEPS-1', 'runs a program over one value, and replays it', async () => {
    const { tool, sent } = countedTool({}, (input) => (input.leg === 1 ? null : `${input.of}@x.io`));
    const { result } = await twice(
      `async (ctx) => {
        const program = steps()
          .step('one', async (row, ctx) => (await ctx.tools.execute({ id: 'l', tool: 'acme.find', input: { leg: 1, of: row.name } })).data)
          .step('two', async (row, ctx) => (await ctx.tools.execute({ id: 'l', tool: 'acme.find', input: { leg: 2, of: row.name } })).data, { runIf: (row) => row.one === null })
          .step('three', () => 'never', { runIf: (row) => row.two === null })
          .return((row) => [row.one, row.two, row.three, row.name]);
        return [await ctx.runSteps(program, { name: 'ada' }, { description: 'x' }), await ctx.runSteps(program, { name: 'bob' })];
      }`,
      { tools: { tools: [tool] } },
    );
    expect(result).toEqual([
      [null, 'ada@x.io', null, 'ada'],
      [null, 'bob@x.io', null, 'bob'],
    ]);
    expect(sent).toHaveLength(4);
  });
});

describe('ctx.fetch', () => {
  verifies(
    ['CTX-FETCH-1', 'CTX-FETCH-5'],
    'is recorded once, whatever was answered; a transient one never',
    async () => {
      const provider = await testProvider((response, { url, headers, body, method }, number) => {
        if (url === '/404') return json(response, 404, { number });
        if (url === '/empty') return response.writeHead(200).end();
        return json(
          response,
          200,
          { number, method, body, key: headers['idempotency-key'] ?? null },
          { 'x-mine': 'yes' },
        );
      });
      const { result, workspace } = await twice(`async (ctx) => {
      const url = '${provider.url}';
      const get = await ctx.fetch('get', url + '/a');
      const post = await ctx.fetch('post', url + '/b', { method: 'POST', body: 'hello', headers: { 'Idempotency-Key': ctx.uuid('post') } });
      const missing = await ctx.fetch('missing', url + '/404', {}, { throwOnError: false });
      const empty = await ctx.fetch('empty', url + '/empty');
      const rows = await ctx.dataset('rows', [{ n: 1 }, { n: 2 }]).withColumn('v', async (row, ctx) => (await ctx.fetch('row', url + '/row')).json.number).run();
      const seen = { get, post, missing, empty, rows: await rows.materialize() };
      const transient = (await ctx.fetch('t', url + '/transient', {}, { transient: true })).json.number;
      ${SAY('seen')}
    }`);
      const [before, after] = result;
      expect(after).toEqual(before);
      expect(after.get).toMatchObject({
        ok: true,
        status: 200,
        statusText: 'OK',
        url: `${provider.url}/a`,
        json: { method: 'GET' },
      });
      expect(after.get.headers['x-mine']).toBe('yes');
      expect(JSON.parse(after.get.bodyText)).toEqual(after.get.json);
      expect(after.post.json).toMatchObject({ method: 'POST', body: 'hello' });
      expect(after.post.json.key).toMatch(/-8/);
      expect(after.missing).toMatchObject({ ok: false, status: 404 });
      expect([after.empty.bodyText, after.empty.json]).toEqual(['', null]);
      const urls = provider.requests.map(({ url }) => url);
      expect(urls.filter((url) => url === '/transient')).toHaveLength(2);
      expect(urls.filter((url) => url === '/row')).toHaveLength(2);
      expect(urls).toHaveLength(8);
      const kept = await workspace.store.report.boundariesOfRun(1, 100);
      expect(kept.some(({ label }) => label === 't')).toBe(false);
    },
  );

  verifies('CTX-FETCH-1', 'with staleAfterSeconds is shared by later runs, for each credential apart', async () => {
    const provider = await testProvider((response, { headers }, number) =>
      json(response, 200, { number, auth: headers.authorization ?? null }),
    );
    const workspace = await testWorkspace({ env: { KEY_A: 'secret-a-value', KEY_B: 'secret-b-value' } });
    const source = `async (ctx) => {
      const get = async (label, auth) =>
        (await ctx.fetch(label, '${provider.url}/', auth ? { auth: ctx.secrets.bearer(auth) } : {}, { staleAfterSeconds: 600 })).json.number;
      return [await get('none'), await get('a', 'KEY_A'), await get('b', 'KEY_B')];
    }`;
    const options = `{ secrets: ['KEY_A', 'KEY_B'] }`;
    expect((await runPlay(workspace, source, { options })).result).toEqual([1, 2, 3]);
    expect((await runPlay(workspace, source, { options })).result).toEqual([1, 2, 3]);
    expect(provider.requests.map(({ headers }) => headers.authorization)).toEqual([
      undefined,
      'Bearer secret-a-value',
      'Bearer secret-b-value',
    ]);
  });

  verifies(
    ['CTX-FETCH-2', 'CTX-FETCH-3', 'CTX-FETCH-4'],
    'refuses what it cannot send safely, and throws what is not 2xx',
    async () => {
      const provider = await testProvider((response) => json(response, 418, { tea: true }));
      const workspace = await testWorkspace({ env: { KEY_A: 'secret-a-value' } });
      const { result } = await runPlay(
        workspace,
        `async (ctx) => {
        const of = (...args) => ctx.fetch(...args).then((answer) => answer.status,
          (error) => [error.code, error.status ?? null, error.bodyText ?? error.message, error instanceof CtxFetchHttpError]);
        const url = '${provider.url}/';
        return {
          tea: await of('tea', url),
          again: await of('tea', url),
          post: await of('post', url, { method: 'post' }),
          remove: await of('delete', url, { method: 'DELETE', headers: { 'X-Other': '1' } }),
          relative: await of('rel', '/relative'),
          file: await of('file', 'file:///etc/passwd'),
          label: await of(' ', url),
          insecure: await of('insecure', 'http://example.com/', { auth: ctx.secrets.bearer('KEY_A') }),
          handle: await of('handle', url, { headers: { authorization: ctx.secrets.get('KEY_A') } }),
          nobody: await of('nobody', 'http://127.0.0.1:1/'),
        };
      }`,
        { options: `{ secrets: ['KEY_A'] }` },
      );
      expect(result.tea).toEqual(['FETCH_HTTP', 418, '{"tea":true}', true]);
      expect(result.again).toEqual(result.tea);
      for (const name of ['post', 'remove', 'relative', 'file', 'label', 'insecure'])
        expect([name, result[name][0]]).toEqual([name, 'FETCH_INVALID']);
      expect(result.post[2]).toMatch(/POST.*Idempotency-Key/);
      expect(result.handle[0]).toBe('SECRET_LEAK');
      expect(result.nobody[0]).toBe('FETCH_FAILED');
      expect(provider.requests).toHaveLength(2);
    },
  );
});

describe('what a play says', () => {
  verifies(
    ['CTX-LOG-1', 'CTX-CONSOLE-1'],
    'is an event of the run, with the row where it is said in one, and nothing on stdout',
    async () => {
      const written: string[] = [];
      const { write } = process.stdout;
      process.stdout.write = ((text: string) => written.push(String(text)) > 0) as typeof write;
      const workspace = await testWorkspace();
      const { events, run } = await runPlay(
        workspace,
        `async (ctx) => {
        ctx.log('hello', { level: 'warn', context: { b: 1, a: [2] } });
        console.log('printed %s %o', 'x', { y: 1 });
        console.error('an error');
        await ctx.dataset('rows', [{ n: 1 }, { n: 2 }]).withColumn('v', (row, ctx) => { ctx.log('row ' + row.n); if (row.n === 2) console.warn('in row'); return 1; }).run();
      }`,
      ).finally(() => {
        process.stdout.write = write;
      });
      const said = events.filter(({ type }) => type === 'log' || type === 'console');
      expect(said.map(({ type, level, message, ordinal, data }) => [type, level, message, ordinal, data])).toEqual([
        ['log', 'warn', 'hello', null, '{"a":[2],"b":1}'],
        ['console', 'info', 'printed x { y: 1 }', null, null],
        ['console', 'error', 'an error', null, null],
        ['log', 'info', 'row 1', 0, null],
        ['log', 'info', 'row 2', 1, null],
        ['console', 'warn', 'in row', null, null],
      ]);
      expect(said[3]?.datasetNo).toBe(1);
      const stored = await workspace.store.report.events(run.no, { afterSeq: 0, limit: 100 });
      expect(stored.filter(({ type }) => type === 'log' || type === 'console').map(({ message }) => message)).toEqual(
        said.map(({ message }) => message),
      );
      expect(written.join('')).not.toMatch(/printed|an error|in row|hello/);
    },
  );
});
