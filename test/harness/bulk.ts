import { defineTool } from '../../src/sdk/index.ts';
import { json, testProvider } from './provider.ts';

/** A tool that asks in batches, over HTTP, and what its provider was asked, batch by batch: it answers `statusOf` them. */
export async function bulkTool(
  batch: { readonly maxSize: number; readonly maxWaitMs?: number },
  statusOf: (asked: readonly number[]) => number,
) {
  const sent: number[][] = [];
  const { url } = await testProvider((response, { body }) => {
    const asked = JSON.parse(body) as { n: number }[];
    const numbers = asked.map(({ n }) => n);
    sent.push(numbers);
    const status = statusOf(numbers);
    json(response, status, status === 200 ? { results: asked.map((one) => ({ got: one })) } : { error: 'no' });
  });
  const tool = defineTool<{ n: number }>({
    id: 'acme.find',
    effect: 'read',
    input: { type: 'object' } as never,
    batch: {
      ...batch,
      request: (inputs) => ({ method: 'POST', url: `${url}/bulk`, body: inputs }),
      split: ({ json: answered }) =>
        (answered as { results: unknown[] }).results.map((data) => ({ status: 'completed', data })),
    },
  });
  return { tool, sent };
}
