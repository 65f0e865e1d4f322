import { defineTool, type JobTool } from '../../src/sdk/index.ts';
import type { TestProvider } from './provider.ts';

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
