import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { errorsReport, exportDataset, runReport, whyRow } from '../../src/report/index.ts';
import { defineTool } from '../../src/sdk/index.ts';
import { reportSource } from '../../src/workspace/index.ts';
import { fastClock, zeroChance } from '../harness/crash.ts';
import { json, testProvider } from '../harness/provider.ts';
import { runPlay, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const SECRET = 'sk-live-0123456789abcdef"\\/ü';
const OTHER = 'function-tool-secret-42';

/** Every file of a folder, as bytes read one to one. */
function everyFile(dir: string): { readonly name: string; readonly text: string }[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((name) => ({ name, text: readFileSync(name).toString('latin1') }));
}

/** The ways in which a text may stand in a file or a message. */
function spellings(secret: string): string[] {
  const asJson = JSON.stringify(secret).slice(1, -1);
  return [secret, asJson, JSON.stringify(asJson).slice(1, -1), encodeURIComponent(secret)].flatMap((text) => [
    text,
    Buffer.from(text).toString('latin1'),
  ]);
}

describe('the value of a secret', () => {
  verifies(
    ['SECRET-GREP-1', 'SECRET-HANDLE-1'],
    'is in no file, event, result, report or error, though the provider and a tool echo it',
    async () => {
      const provider = await testProvider((response, { url, headers }) => {
        const echoed = { header: headers['x-key'], url, said: `your key ${SECRET} is nice` };
        const more = { 'x-request-id': `req-${encodeURIComponent(SECRET)}` };
        if (url.startsWith('/fetch')) return json(response, 200, { header: headers['x-key'] });
        if (url.startsWith('/refuse')) return json(response, 401, { error: echoed }, more);
        if (url.startsWith('/fail')) return json(response, 500, { error: echoed }, more);
        return json(response, 200, { echoed, list: [SECRET, { deep: SECRET }] }, more);
      });
      const http = defineTool<{ path: string }>({
        id: 'acme.find',
        effect: 'read',
        input: { type: 'object' },
        secrets: ['ACME_KEY'],
        maxTries: 2,
        request: ({ input, secret }) => ({
          url: provider.url + input.path,
          query: { key: secret('ACME_KEY') },
          headers: { 'x-key': encodeURIComponent(secret('ACME_KEY')) },
        }),
      });
      const fn = defineTool<{ how: string }>({
        id: 'local.echo',
        effect: 'read',
        input: { type: 'object' },
        secrets: ['LOCAL_KEY'],
        run: ({ how }, { secret }) => {
          if (how === 'throw') throw new Error(`cannot use ${secret('LOCAL_KEY')}`);
          return { key: secret('LOCAL_KEY'), [secret('LOCAL_KEY')]: 1 };
        },
      });
      const workspace = await testWorkspace({
        tools: [http, fn],
        env: { ACME_KEY: SECRET, LOCAL_KEY: OTHER },
        chance: zeroChance(),
        clock: fastClock(100),
      });
      const ended = await runPlay(
        workspace,
        `async (ctx) => {
          const rows = await ctx.dataset('rows', ['/fine', '/refuse', '/fail', 'return', 'throw'].map((path) => ({ path })))
            .withColumn('v', async (row, ctx) => {
              if (row.path.startsWith('/')) return (await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { path: row.path } })).toolResponse;
              return (await ctx.tools.execute({ id: 'y', tool: 'local.echo', input: { how: row.path } })).data;
            })
            .run();
          const fetched = await ctx.fetch('f', '${provider.url}/fetch', { auth: ctx.secrets.header('x-key', 'LOCAL_KEY') });
          const caught = await ctx.tools.execute({ id: 'z', tool: 'acme.find', input: { path: '/refuse' } }).catch((error) => [error.message, error.details, error.stack]);
          console.log('said', fetched, caught);
          ctx.log('said', { context: { fetched, caught: String(caught) } });
          return { all: await rows.materialize(), fetched, caught };
        }`,
        { options: `{ secrets: ['LOCAL_KEY'] }` },
      );
      expect(ended.outcome.kind).toBe('completed');
      expect(provider.requests.filter(({ headers }) => headers['x-key'] === OTHER)).toHaveLength(1);
      expect(JSON.stringify(ended.result)).toContain('[secret');

      const source = reportSource(workspace);
      const path = join(workspace.paths.dir, 'out.csv');
      await exportDataset(source, ended.run, { path, provenance: true });
      await exportDataset(source, ended.run, { path: join(workspace.paths.dir, 'out.jsonl'), provenance: true });
      const shown = JSON.stringify([
        ended,
        await runReport(source, ended.run),
        await errorsReport(source, ended.run),
        await whyRow(source, ended.run, { row: '#2' }),
      ]);
      const places = [{ name: 'what is shown', text: shown }, ...everyFile(workspace.paths.dir)];
      expect(places.some(({ name, text }) => name.endsWith('.db-wal') && text.includes('your key'))).toBe(true);
      for (const { name, text } of places)
        for (const spelling of [...spellings(SECRET), ...spellings(OTHER)])
          expect([name, text.includes(spelling)]).toEqual([name, false]);
    },
  );

  verifies(
    'SECRET-HANDLE-1',
    'a handle that reaches a result, a log, an input or a step is refused with its place',
    async () => {
      const workspace = await testWorkspace({
        env: { LOCAL_KEY: OTHER },
        tools: [defineTool({ id: 'local.any', effect: 'read', input: { type: 'object' }, run: () => 1 })],
      });
      const options = `{ secrets: ['LOCAL_KEY', 'UNSET_KEY'] }`;
      const { result } = await runPlay(
        workspace,
        `async (ctx) => {
        const key = ctx.secrets.get('LOCAL_KEY');
        const of = async (fn) => { try { await fn(); return 'let through'; } catch (error) { return [error.code, error.message]; } };
        return [
          await of(() => ctx.tools.execute({ id: 'x', tool: 'local.any', input: { deep: { key } } })),
          await of(() => ctx.log('x', { context: { key } })),
          await of(() => ctx.step('s', () => ({ list: [key] }))),
          await of(() => JSON.stringify({ key })),
          await of(() => 'text ' + key),
          await of(() => ctx.secrets.get('UNSET_KEY')),
          await of(() => ctx.secrets.get('OTHER_KEY')),
        ];
      }`,
        { options },
      );
      expect(result.map(([code]: string[]) => code)).toEqual([
        'SECRET_LEAK',
        'SECRET_LEAK',
        'SECRET_LEAK',
        'SECRET_LEAK',
        'SECRET_LEAK',
        'SECRET_MISSING',
        'SECRET_NOT_DECLARED',
      ]);
      expect(result[0][1]).toContain('deep.key');
      expect(result[2][1]).toContain('list[0]');
      const returned = await runPlay(workspace, `async (ctx) => ({ a: [ctx.secrets.get('LOCAL_KEY')] })`, { options });
      expect(returned.code).toBe('SECRET_LEAK');
      expect(JSON.parse(returned.run.error ?? '{}').message).toContain('a[0]');
    },
  );

  verifies('SECRET-HANDLE-1', 'is not sent on to where a redirect points', async () => {
    const other = await testProvider((response) => json(response, 200, {}));
    const provider = await testProvider((response, { url }) =>
      response.writeHead(302, { location: url === '/self' ? '/end' : `${other.url}/end` }).end(),
    );
    const workspace = await testWorkspace({ env: { LOCAL_KEY: OTHER } });
    const { result } = await runPlay(
      workspace,
      `async (ctx) => {
        const auth = ctx.secrets.header('x-key', 'LOCAL_KEY');
        const answer = await ctx.fetch('a', '${provider.url}/', { auth }, { throwOnError: false });
        const open = await ctx.fetch('b', '${provider.url}/');
        return [answer.status, open.status];
      }`,
      { options: `{ secrets: ['LOCAL_KEY'] }` },
    );
    expect(result).toEqual([302, 200]);
    expect(other.requests.map(({ headers }) => headers['x-key'])).toEqual([undefined]);
  });
});
