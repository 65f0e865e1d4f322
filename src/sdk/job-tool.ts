import type { HttpRequestSpec, ToolResponseView } from './tool-terms.ts';

interface RequestContext<Input> {
  readonly input: Input;
  readonly secret: (name: string) => string;
  readonly baseUrl: string | undefined;
}

/** A job at the provider: started once, then polled. The tool's `response` reads what a poll brings: 'pending' polls again. */
export interface JobOptions<Input> {
  readonly start: (args: RequestContext<Input>) => HttpRequestSpec;
  /** Pure: what names the job, from the answer to `start`. Runs on reading, so mending it starts no second job. */
  readonly handle: (answer: ToolResponseView<Input>) => string | number;
  readonly poll: (args: RequestContext<Input> & { readonly handle: string }) => HttpRequestSpec;
  /** From one poll to the next, in milliseconds. */
  readonly intervalMs: number;
  /** How long a job may take from its start, in milliseconds. */
  readonly timeoutMs: number;
}

const JOB_OPTIONS: readonly string[] = ['start', 'handle', 'poll', 'intervalMs', 'timeoutMs'];
/** What makes no sense where the answer comes from a later request. */
const NOT_WITH_ASYNC = ['request', 'run', 'batch'] as const;

/** What is wrong with a definition that has `async`, or undefined. */
export function jobProblem(definition: Readonly<Record<string, unknown>>): string | undefined {
  const { async: job } = definition;
  if (typeof job !== 'object' || job === null) return '`async` must be an object';
  const options = job as Readonly<Record<string, unknown>>;
  const unknown = Object.keys(options).find((name) => !JOB_OPTIONS.includes(name));
  if (unknown !== undefined) return `\`async\` has no option '${unknown}' (there is: ${JOB_OPTIONS.join(', ')})`;
  for (const name of ['start', 'handle', 'poll'])
    if (typeof options[name] !== 'function') return `\`async.${name}\` must be a function`;
  for (const name of ['intervalMs', 'timeoutMs'])
    if (!(typeof options[name] === 'number' && options[name] > 0 && Number.isFinite(options[name])))
      return `\`async.${name}\` must be milliseconds above 0`;
  if (typeof definition.response !== 'function')
    return "`async` needs `response`, which tells by `{ status: 'pending' }` that a job is still at work";
  const other = NOT_WITH_ASYNC.find((name) => definition[name] !== undefined);
  return other === undefined ? undefined : `\`${other}\` and \`async\` do not go together`;
}
