import type { HttpTool, JobTool, JsonValue, Tool, ToolResponseView } from '../sdk/index.ts';
import { definitionRefusal } from './definition.ts';
import type { CatalogueTool } from './port.ts';

/** A job at a provider, as its tool declares it. */
export type Job = JobTool<never>['async'];
type Part = Pick<HttpTool<never>, 'request' | 'noResult' | 'response' | 'classify'>;

/**
 * What starts the job, as a tool of its own, so that it is paced, recorded and never sent twice like any call. It is under
 * `<id>:start`, and reads its answer as the start alone: `job_id` is the handle.
 */
export function jobStartTool(tool: CatalogueTool, job: Job): CatalogueTool {
  const { classify } = tool.definition as HttpTool<never>;
  return partOf(tool, 'start', {
    request: job.start,
    response: (view) => ({
      status: 'completed',
      data: view.json ?? view.text,
      jobId: handleIn(tool, job, view),
    }),
    ...(classify !== undefined && { classify }),
  });
}

/** One look at the job, under `<id>:poll`: free of charge, and safe to repeat. */
export function jobPollTool(tool: CatalogueTool, job: Job, handle: string): CatalogueTool {
  const { noResult, classify } = tool.definition as HttpTool<never>;
  const part = partOf(tool, 'poll', {
    request: ({ input, secret, baseUrl }) => job.poll({ input, secret, baseUrl, handle }),
    ...(noResult !== undefined && { noResult }),
    ...(classify !== undefined && { classify }),
  });
  // Every poll is a request of its own: under one key, a provider would answer all of them as the first.
  const { idempotency: _, ...definition } = part.definition as HttpTool<never>;
  return { ...part, definition: definition as Tool, maxCredits: 0, sendsIdempotencyKey: false, effectOf: () => 'read' };
}

/** What names the job, by the tool's own `handle`. Throws what that throws, or a refusal of what it returned. */
export function handleIn(tool: CatalogueTool, job: Job, view: ToolResponseView<never>): string {
  const handle: unknown = job.handle(view);
  if (typeof handle === 'number' && Number.isFinite(handle)) return String(handle);
  if (typeof handle === 'string' && handle !== '') return handle;
  throw definitionRefusal(
    `Tool ${tool.id}: \`async.handle\``,
    `returned ${JSON.stringify(handle) ?? String(handle)} instead of what names the job`,
    tool.id,
  );
}

function partOf(tool: CatalogueTool, name: 'start' | 'poll', part: Part): CatalogueTool {
  const {
    async: _job,
    extract: _extract,
    output: _output,
    response: _response,
    ...rest
  } = tool.definition as JobTool<never>;
  const id = `${tool.id}:${name}`;
  const { provider, version, account, description, timeoutMs, maxTries, versions, maxCredits, secrets } = tool;
  return {
    id,
    ...{ provider, version, account, description, timeoutMs, maxTries, versions, maxCredits, secrets },
    definition: { ...rest, id, provider, ...part } as unknown as Tool,
    get digest() {
      return tool.digest;
    },
    isFunction: false,
    reuseScope: tool.reuseScope,
    staleAfterSeconds: undefined,
    sendsIdempotencyKey: tool.sendsIdempotencyKey,
    effectOf: (input) => tool.effectOf(input),
    // It was validated when the tool itself was asked.
    validateInput: (input) => ({ ok: true, value: input as JsonValue }),
    validateOutput: () => undefined,
  };
}
