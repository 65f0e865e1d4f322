import { defineTool, type JobTool } from '../../src/sdk/index.ts';
import { json, type TestProvider, testProvider } from './provider.ts';

/** A tool whose answers come from jobs below `/jobs`: `{ job: { id } }` starts one, `{ state, answer }` is how it stands. */
export function jobTool({ url }: TestProvider, parts: Partial<JobTool<{ n: number }>> = {}) {
  return defineTool<{ n: number }>({
    id: 'acme.research',
    effect: 'read',
    input: { type: 'object' },
    cost: { credits: 3 },
    response: ({ json: body }) =>
      body.state === 'done' ? { status: 'completed', data: body.answer } : { status: 'pending' },
    ...parts,
    async: {
      start: ({ input }) => ({ method: 'POST', url: `${url}/jobs`, body: input }),
      handle: ({ json: body }) => body.job.id,
      poll: ({ handle }) => ({ url: `${url}/jobs/${handle}` }),
      intervalMs: 5,
      timeoutMs: 60_000,
      ...parts.async,
    },
  });
}

/** A provider that charges three credits when a job is started, and whose jobs are done at so manieth a look, or all at once. */
export async function jobProvider(needed = 2) {
  const looks = new Map<string, number>();
  let [started, gone, isFinished] = [0, 0, false];
  const provider = await testProvider((response, { method, url }) => {
    if (method === 'POST') return json(response, 202, { job: { id: ++started } });
    if (Number(url.slice('/jobs/'.length)) <= gone) return json(response, 404, {});
    const seen = (looks.get(url) ?? 0) + 1;
    looks.set(url, seen);
    const isDone = isFinished || seen >= needed;
    return json(response, 200, isDone ? { state: 'done', answer: url } : { state: 'working' });
  });
  return {
    provider,
    tool: jobTool(provider),
    started: () => started,
    /** How many jobs were asked about. */
    seen: () => looks.size,
    finish: (): void => {
      isFinished = true;
    },
    /** It knows none any more of those that were started. */
    lose: (): void => {
      gone = started;
    },
  };
}

/** So many rows, each with one call, and how many there are. */
export function jobRows(count: number, tool = 'acme.research'): string {
  return `async (ctx) => {
    const rows = await ctx.dataset('rows', Array.from({ length: ${count} }, (_, n) => ({ n })))
      .withColumn('v', async (row, ctx) =>
        (await ctx.tools.execute({ id: 'x', tool: '${tool}', input: { n: row.n } })).status)
      .run({ key: 'n' });
    return await rows.count();
  }`;
}
