import { CallsheetError } from '../sdk/index.ts';

/** What an author asked for, in one shape whichever form was written. */
export interface AskedCall {
  readonly label: string;
  readonly toolId: string;
  readonly input: unknown;
  readonly refresh: boolean;
  readonly staleAfterSeconds: number | undefined;
  readonly timeoutMs: number | undefined;
  /** True where the caller polls a provider job by hand. */
  readonly startOnly: boolean;
}

/** The author's arguments, as `execute({ id, tool, input })` or `execute(id, tool, input, options)`. */
export function askedCall(args: readonly unknown[]): AskedCall {
  const [first, tool, input, options] = args;
  if (typeof first === 'string') return checked({ ...asObject(options, 'options'), id: first, tool, input });
  return checked(asObject(first, 'the request'));
}

function asObject(value: unknown, what: string): Record<string, unknown> {
  if (value === undefined) return {};
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw refused(`${what} must be an object`, undefined);
  return value as Record<string, unknown>;
}

function checked(request: Record<string, unknown>): AskedCall {
  const { id, tool, input, refresh, force, staleAfterSeconds, timeoutMs, wait } = request;
  if (typeof tool !== 'string' || tool === '') throw refused("`tool` must be a tool's id", id);
  if (typeof id !== 'string' || id.trim() === '') throw refused('`id` must be a label that is not empty', tool);
  if (id.length > 200) throw refused('`id` has more than 200 characters', tool);
  if (input === undefined) throw refused('`input` is missing', id);
  if (wait !== undefined && wait !== 'caller') throw refused("`wait` can only be 'caller'", id);
  return {
    label: id,
    startOnly: wait === 'caller',
    toolId: tool,
    input,
    refresh: refresh === true || force === true,
    staleAfterSeconds: staleAfterSeconds === undefined ? undefined : atLeast(0, { staleAfterSeconds }, id),
    timeoutMs: timeoutMs === undefined ? undefined : atLeast(1, { timeoutMs }, id),
  };
}

function atLeast(least: number, given: Readonly<Record<string, unknown>>, id: string): number {
  const [[name, value] = ['', undefined]] = Object.entries(given);
  if (typeof value !== 'number' || !(value >= least))
    throw refused(`\`${name}\` must be a number of at least ${least}`, id);
  return value;
}

function refused(problem: string, where: unknown): CallsheetError {
  const place = typeof where === 'string' ? ` (call '${where}')` : '';
  return new CallsheetError('CALL_REQUEST_INVALID', `ctx.tools.execute${place}: ${problem}.`, {
    details: { call: typeof where === 'string' ? where : null },
    next: ["Write ctx.tools.execute({ id: 'label', tool: 'provider.action', input: { … } })."],
  });
}
