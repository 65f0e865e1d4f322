import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Clock, systemClock } from '../../src/scope/index.ts';
import { defineTool, type JsonValue, type Tool } from '../../src/sdk/index.ts';
import type { Write } from '../../src/store/index.ts';
import { existingRun, resolveOperation, resumeOptions, sendSignal, type Workspace } from '../../src/workspace/index.ts';
import { endsAs } from '../harness/tools.ts';

const HOUR = 3_600_000;

// biome-ignore lint/suspicious/noExplicitAny: the tools of the stories take what they are given
type AnyInput = any;

/** Where jobs are done: until they are, a poll finds them at work. */
export interface GoldenJobs {
  readonly isDone: boolean;
  readonly url: string;
  close(): Promise<void>;
}

/** A provider of jobs on loopback. */
export async function goldenJobs(isDone: boolean): Promise<GoldenJobs> {
  const server = createServer((request, response) =>
    response.end(JSON.stringify(request.method === 'POST' ? { job: 'j7' } : { done: isDone, answer: 42 })),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): Promise<void> => new Promise((resolve) => server.close(() => resolve()));
  return { isDone, url: `http://127.0.0.1:${port}`, close };
}

/** The tools of all stories; each request is written down as `tool input`. Their ids, versions and inputs never change. */
export function goldenTools(jobs: GoldenJobs): { readonly tools: readonly Tool[]; readonly sent: string[] } {
  const sent: string[] = [];
  const noted = (id: string, input: AnyInput): void => void sent.push(`${id} ${JSON.stringify(input)}`);
  const common = { input: { type: 'object' }, cost: { credits: 1 } } as const;
  const find = defineTool<AnyInput>({
    ...{ ...common, id: 'acme.find', effect: 'read' },
    run: (input) => {
      noted('acme.find', input);
      if (input.n === 404) throw endsAs('rejected');
      return input.n === 0 ? null : { found: input.n };
    },
  });
  const flaky = defineTool<AnyInput>({
    ...{ ...common, id: 'acme.flaky', effect: 'read', maxTries: 3 },
    run: (input) => {
      noted('acme.flaky', input);
      throw endsAs('notDispatched');
    },
  });
  const send = defineTool<AnyInput>({
    ...{ ...common, id: 'acme.send', effect: 'write', idempotency: { header: 'Idempotency-Key' } },
    run: (input) => {
      noted('acme.send', input);
      return { sent: input.to };
    },
  });
  const post = defineTool<AnyInput>({
    ...{ ...common, id: 'acme.post', effect: 'write' },
    run: (input) => {
      noted('acme.post', input);
      return { posted: input.to };
    },
  });
  const ask = defineTool<AnyInput>({
    ...{ ...common, id: 'acme.ask', effect: 'write' },
    event: {
      name: 'asked',
      arm: {
        run: ({ input }) => {
          noted('acme.ask', input);
          return { card: input.n };
        },
      },
      onEvent: ({ payload, armed }) => ({ said: payload.said, card: armed.card }),
    },
  });
  const bulk = defineTool<AnyInput>({
    ...{ ...common, id: 'acme.bulk', effect: 'write', idempotency: { header: 'Idempotency-Key' } },
    batch: {
      maxSize: 4,
      run: (inputs) => {
        noted('acme.bulk', inputs);
        return inputs.map((input: AnyInput) => ({ sent: input.to }));
      },
    },
  });
  const slow = defineTool<AnyInput>({
    ...{ ...common, id: 'acme.slow', effect: 'read', limits: { rate: [{ calls: 2, per: '1m' }] } },
    run: (input) => {
      noted('acme.slow', input);
      return { found: input.n };
    },
  });
  const job = defineTool<AnyInput>({
    ...{ ...common, id: 'acme.job', effect: 'read' },
    async: {
      start: ({ input }) => {
        noted('acme.job:start', input);
        return { method: 'POST', url: jobs.url, body: input };
      },
      handle: ({ json }) => json.job,
      poll: ({ handle }) => {
        // How often it is looked at while it is at work is chance.
        if (jobs.isDone) noted('acme.job:poll', handle);
        return { url: `${jobs.url}/${handle}` };
      },
      intervalMs: 500,
      timeoutMs: 24 * HOUR,
    },
    response: ({ json }) => (json.done ? { status: 'completed', data: json.answer } : { status: 'pending' }),
  });
  return { tools: [find, flaky, send, post, ask, bulk, slow, job], sent };
}

/** Two hours after a journal was made, wherever the machine's clock stands, and quicker than it. */
export function clockAfter(madeAt: number, ms = 2 * HOUR): Clock {
  const times = 20;
  const first = systemClock.monotonic();
  const monotonic = (): number => (systemClock.monotonic() - first) * times;
  return {
    now: () => Math.round(madeAt + ms + monotonic()),
    monotonic,
    after: (delay, fn, options) => systemClock.after(delay / times, fn, options),
  };
}

export interface Story {
  readonly name: string;
  /** The source of the play's function. */
  readonly play: string;
  readonly files?: Readonly<Record<string, string>>;
  /** Its process dies before this write; without it, the run suspends. */
  readonly dies?: () => (write: Write) => boolean;
  /** What the journal is to hold: kinds of boundaries and waits, states of operations and rows. */
  readonly holds: readonly string[];
  /** Brings the run to its end. */
  readonly goOn: (world: GoingOn) => Promise<void>;
}

export interface GoingOn {
  readonly workspace: Workspace;
  readonly runId: string;
  readonly attempt: (runId?: string) => Promise<void>;
}

interface Answer {
  readonly row?: string;
  readonly data?: JsonValue;
  readonly keep?: boolean;
}

async function answer({ workspace, runId }: GoingOn, event: string, more: Answer = {}) {
  const { row = null, data = { said: 'yes' }, keep = false } = more;
  await sendSignal(workspace, { runId, event, row, wait: null, all: false, keep, data });
}

/** Answers 'go' and makes the last attempt. */
async function go(world: GoingOn): Promise<void> {
  await answer(world, 'go');
  await world.attempt();
}

const HELPERS = `const find = async (ctx, n) => (await ctx.tools.execute({ id: 'find', tool: 'acme.find', input: { n } })).data;
  const go = (ctx) => ctx.waitForEvent('go', { event: 'go' });`;

const around = (boundary: string): string => `async (ctx, input) => {
  ${HELPERS}
  const before = await find(ctx, 1);
  ${boundary}
  const gone = await go(ctx);
  return { before, value, gone, after: await find(ctx, 2) };
}`;

const rows = (cell: string, options = '{ key: "n" }'): string => `async (ctx) => {
  ${HELPERS}
  const rows = await ctx.dataset('rows', [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }])
    .withColumn('v', async (row, ctx) => { ${cell} }).run(${options});
  return (await rows.materialize()).map(({ n, v }) => ({ n, v: v ?? null }));
}`;

/** A kept run for each kind of boundary, and for each state in which a process may leave one. */
export const STORIES: readonly Story[] = [
  {
    name: 'step',
    play: around(`const value = [
      await ctx.step('draws', () => 'drawn ' + Math.random()),
      await ctx.step('fails', () => { throw new Error('fails each time'); }).catch((error) => error.message),
    ];`),
    holds: ['step', 'event:open'],
    goOn: go,
  },
  {
    name: 'fetch',
    play: around(`const value = (await ctx.fetch('page', input.url)).bodyText;`),
    holds: ['fetch', 'event:open'],
    goOn: go,
  },
  {
    name: 'now',
    play: around(
      `const value = [(await ctx.now()).toISOString(), (await ctx.now('named')).toISOString(), ctx.random(), ctx.uuid('u')];`,
    ),
    holds: ['now', 'event:open'],
    goOn: go,
  },
  {
    name: 'csv',
    play: around(`const leads = await ctx.csv('leads.csv');
      const rows = await ctx.dataset('leads', leads).withColumn('v', async (row, ctx) => { await go(ctx); return find(ctx, Number(row.n)); }).run({ key: 'n' });
      const value = await rows.materialize();`),
    files: { 'leads.csv': 'n,name\n11,Ada\n12,Grace\n' },
    holds: ['csv', 'event:open', 'row:parked'],
    goOn: async (world) => {
      await answer(world, 'go', { row: '12' });
      await world.attempt();
      await answer(world, 'go', { row: '11' });
      await answer(world, 'go', { keep: true });
      await world.attempt();
    },
  },
  {
    name: 'sleep',
    play: around(`const value = 'slept'; await ctx.sleep(5); await ctx.sleep('1h');`),
    holds: ['sleep:timedOut', 'sleep:open'],
    goOn: async (world) => {
      await world.attempt();
      await go(world);
    },
  },
  {
    name: 'event',
    play: around(
      `const value = await ctx.waitForEvent('first', { event: 'first', timeout: '30m', onTimeout: 'null' });`,
    ),
    holds: ['event:open'],
    goOn: async (world) => {
      await world.attempt();
      await go(world);
    },
  },
  {
    name: 'child',
    play: around(`const inner = await ctx.runPlay('inner', 'inner', { n: 21 });
      const { runId, playName } = await ctx.runPlayAsync('beside', 'beside', { n: 22 });
      const value = { inner, playName, isNamed: runId.startsWith('run_') };`),
    holds: ['child', 'event:open'],
    goOn: async (world) => {
      await go(world);
      for (const { id } of await world.workspace.store.runs.childrenOf(world.runId)) await world.attempt(id);
    },
  },
  {
    name: 'event-tool',
    play: around(`const value = (await ctx.tools.execute({ id: 'ask', tool: 'acme.ask', input: { n: 31 } })).data;`),
    holds: ['event:open'],
    goOn: async (world) => {
      await answer(world, 'asked', { data: { said: 'approved' } });
      await go(world);
    },
  },
  {
    name: 'calls',
    play: around(`const call = async (tool, input) => {
        try { const { status, data, execution } = await ctx.tools.execute({ id: 'call', tool, input }); return { status, data, credits: execution.credits }; } catch (error) { return error.code; }
      };
      const value = [await call('acme.find', { n: 0 }), await call('acme.find', { n: 404 }), await call('acme.send', { to: 'a' }), await call('acme.post', { to: 'b' })];`),
    holds: ['event:open'],
    goOn: go,
  },
  {
    name: 'mid-retry',
    play: `async (ctx) => {
      try { return await ctx.tools.execute({ id: 'flaky', tool: 'acme.flaky', input: { n: 41 } }); }
      catch (error) { return { code: error.code, tries: error.details.tries }; }
    }`,
    dies: () => {
      let cursors = 0;
      return (write) => write.kind === 'operation' && ++cursors === 2;
    },
    holds: ['operation:retrying'],
    goOn: ({ attempt }) => attempt(),
  },
  {
    name: 'in-doubt',
    play: rows(
      `return (await ctx.tools.execute({ id: 'post', tool: 'acme.post', input: { to: row.n } })).data;`,
      '{ key: "n", concurrency: 1 }',
    ),
    dies: () => {
      let receipts = 0;
      return (write) => write.kind === 'receipt' && ++receipts === 2;
    },
    holds: ['operation:intended', 'row:completed'],
    goOn: async ({ workspace, runId, attempt }) => {
      await attempt();
      const run = await existingRun(workspace, runId);
      const operations = await workspace.store.report.operationsOfRun(run.no, 10);
      for (const { callId, state } of operations)
        if (state === 'intended')
          await resolveOperation(workspace, run, { call: callId, as: 'done', data: { posted: 'as they say' } });
      await resumeOptions(workspace, run, { retryFailed: true });
      await attempt();
    },
  },
  {
    name: 'parked',
    play: rows(`const found = await find(ctx, row.n); return row.n % 2 === 0 ? found : [found, await go(ctx)];`),
    holds: ['event:open', 'row:parked', 'row:completed'],
    goOn: async (world) => {
      await answer(world, 'go', { row: '3', data: { said: 'three' } });
      await answer(world, 'go', { row: '1', data: { said: 'one' } });
      await world.attempt();
    },
  },
  {
    name: 'mid-batch',
    play: rows(`return (await ctx.tools.execute({ id: 'bulk', tool: 'acme.bulk', input: { to: row.n } })).data;`),
    dies: () => (write) => write.kind === 'receipt',
    holds: ['operation:retrying'],
    goOn: ({ attempt }) => attempt(),
  },
  {
    name: 'batch-answered',
    play: rows(`return (await ctx.tools.execute({ id: 'bulk', tool: 'acme.bulk', input: { to: row.n } })).data;`),
    dies: () => {
      let rowsDone = 0;
      return (write) => write.kind === 'row' && ++rowsDone === 2;
    },
    holds: [],
    goOn: ({ attempt }) => attempt(),
  },
  {
    name: 'provider-wait',
    play: rows(`return (await ctx.tools.execute({ id: 'slow', tool: 'acme.slow', input: { n: row.n } })).data;`),
    dies: () => {
      let parked = 0;
      return (write) => {
        if (write.kind === 'row' && write.row.state === 'parked') parked++;
        return parked === 2 && write.kind === 'heartbeat';
      };
    },
    holds: ['provider:open', 'row:parked', 'row:completed'],
    goOn: ({ attempt }) => attempt(),
  },
  {
    name: 'job',
    play: `async (ctx) => (await ctx.tools.execute({ id: 'job', tool: 'acme.job', input: { n: 51 } })).data`,
    dies: () => (write) => write.kind === 'heartbeat',
    holds: [],
    goOn: ({ attempt }) => attempt(),
  },
  {
    name: 'killed',
    play: rows(
      `const first = await find(ctx, row.n); return [first, await find(ctx, row.n + 100)];`,
      '{ key: "n", concurrency: 2 }',
    ),
    dies: () => {
      let rowsDone = 0;
      return (write) => write.kind === 'row' && ++rowsDone === 3;
    },
    holds: ['row:completed'],
    goOn: ({ attempt }) => attempt(),
  },
];

/** The play file of a story. */
export function playText(story: Story): string {
  return `import { definePlay } from 'callsheet';
const leaf = (name) => definePlay(name, async (ctx, input) => (await ctx.tools.execute({ id: 'find', tool: 'acme.find', input: { n: input.n } })).data);
const [inner, beside] = [leaf('inner'), leaf('beside')];
void [inner, beside];
export default definePlay('golden', ${story.play});
`;
}

/** What the store holds of a run, by kind and state. */
export async function heldBy({ store }: Workspace, runId: string): Promise<readonly string[]> {
  const run = await store.runs.run(runId);
  if (run === undefined) throw new Error(`there is no run ${runId}`);
  const held = new Set<string>();
  for (const { kind } of await store.report.boundariesOfRun(run.no, 100)) held.add(kind);
  for (const { state } of await store.report.operationsOfRun(run.no, 100)) held.add(`operation:${state}`);
  const places = [[0, 0], ...[0, 1, 2, 3].map((ordinal) => [1, ordinal])] as const;
  for (const [datasetNo = 0, ordinal = 0] of places)
    for (const waits of (await store.runs.waits(run.no, datasetNo, [ordinal])).values())
      for (const { kind, state } of waits) held.add(`${kind}:${state}`);
  for (const { state } of await store.datasets.rows(run.no, 1, { from: 0, to: 4, maxBytes: 1_000_000 }))
    held.add(`row:${state}`);
  return [...held].sort();
}
