import { durationMs, microCredits } from '../scope/index.ts';
import {
  CallsheetError,
  type EventOptions,
  type EventTimeoutMode,
  isTool,
  type ProviderLimits,
  type Tool,
  type ToolCost,
} from '../sdk/index.ts';
import { limitsProblem, partsProblem } from './part-names.ts';

const HTTP_TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const SECRET_NAME = /^[A-Z][A-Z0-9_]*$/;
/** What may become of a call whose time is over. */
const EVENT_MODES: readonly string[] = ['null', 'fail', 'park'] satisfies EventTimeoutMode[];
const LONGEST_TIMEOUT_MS = 2_147_483_647;

/**
 * Checks what `defineTool` leaves open: ranges, names, and parts that contradict each other.
 * Throws `TOOL_DEFINITION_INVALID` that names the tool and the field.
 */
export function checkDefinition(value: unknown, place: string): Tool {
  if (!isTool(value))
    throw definitionRefusal(place, 'is not a tool; write it as `export const … = defineTool({ … })`', undefined);
  const tool = value;
  const wrong = partsProblem(tool as unknown as Readonly<Record<string, unknown>>);
  if (wrong !== undefined) throw fieldRefusal(tool.id)(wrong.part, wrong.problem);
  checkNames(tool);
  checkAmounts(tool);
  checkReuse(tool);
  if (tool.event !== undefined) checkEvent(tool.id, tool.event);
  if (tool.cost !== undefined) checkCost(tool.id, tool.cost);
  if (tool.limits !== undefined)
    checkLimits(tool.limits, { place: `Tool ${tool.id}: \`limits\``, refuse: toolRefusal(tool.id) });
  return tool;
}

export function definitionRefusal(place: string, problem: string, tool: string | undefined): CallsheetError {
  return new CallsheetError('TOOL_DEFINITION_INVALID', `${place} ${problem}.`, {
    details: tool === undefined ? {} : { tool },
    next: ['Mend the defineTool call and run again.'],
  });
}

type Refuse = (place: string, problem: string) => CallsheetError;

function toolRefusal(id: string): Refuse {
  return (place, problem) => definitionRefusal(place, problem, id);
}

/** A refusal of what the config file says about a provider. */
export function configRefusal(place: string, problem: string): CallsheetError {
  return new CallsheetError('CONFIG_INVALID', `${place} ${problem}.`, {
    details: { field: place },
    next: ['Mend callsheet.config.ts and run again.'],
  });
}

function checkNames(tool: Tool): void {
  const refuse = fieldRefusal(tool.id);
  if (tool.provider !== undefined && !isName(tool.provider)) throw refuse('provider', 'must be a name without spaces');
  if (tool.version !== undefined && !isName(tool.version)) throw refuse('version', "must be a string such as '1'");
  if (!isListOf(tool.reads, isName)) throw refuse('reads', "must be a list of versions such as ['0']");
  if (!isListOf(tool.secrets, (name) => typeof name === 'string' && SECRET_NAME.test(name)))
    throw refuse('secrets', 'must be a list of names in capital letters, digits and underscores');
  const header = tool.idempotency?.header;
  if (tool.idempotency !== undefined && (typeof header !== 'string' || !HTTP_TOKEN.test(header)))
    throw refuse('idempotency.header', "must be the name of an HTTP header, such as 'Idempotency-Key'");
}

function checkAmounts(tool: Tool): void {
  const refuse = fieldRefusal(tool.id);
  if (tool.timeoutMs !== undefined && !(tool.timeoutMs > 0 && tool.timeoutMs <= LONGEST_TIMEOUT_MS))
    throw refuse('timeoutMs', `must be milliseconds, above 0 and at most ${LONGEST_TIMEOUT_MS}`);
  if (tool.maxTries !== undefined && !isCount(tool.maxTries)) throw refuse('maxTries', 'must be a whole number from 1');
  const { noResult } = tool as { readonly noResult?: unknown };
  if (!isListOf(noResult, isFinalStatus)) throw refuse('noResult', 'must be a list of HTTP statuses such as [404]');
}

function checkReuse(tool: Tool): void {
  if (tool.reuse === undefined || tool.reuse === 'never') return;
  const refuse = fieldRefusal(tool.id);
  const { scope, staleAfterSeconds } = tool.reuse;
  if (scope !== undefined && !['workspace', 'play', 'run'].includes(scope))
    throw refuse('reuse.scope', "must be 'workspace', 'play' or 'run'");
  if (staleAfterSeconds !== undefined && !(staleAfterSeconds >= 0))
    throw refuse('reuse.staleAfterSeconds', 'must be a number of seconds from 0');
}

function checkEvent(id: string, { name, timeout, mode }: EventOptions<never>): void {
  const refuse = fieldRefusal(id);
  if (name !== undefined && typeof name !== 'function' && !isName(name))
    throw refuse('event.name', "must be a name without spaces, such as 'approved', or a function of the input");
  const isTimeout = timeout === undefined || timeout === null || typeof timeout === 'function';
  if (!isTimeout && durationMs(timeout) === undefined)
    throw refuse('event.timeout', "must be a duration such as '3d', milliseconds, null, or a function of the input");
  if (mode !== undefined && typeof mode !== 'function' && !EVENT_MODES.includes(mode))
    throw refuse('event.mode', "must be 'null', 'fail' or 'park', or a function of the input");
}

function checkCost(id: string, cost: ToolCost<never>): void {
  const refuse = fieldRefusal(id);
  if (typeof cost.credits !== 'function' && !isAmount(cost.credits))
    throw refuse('cost.credits', 'must be a number from 0, or a function that returns one');
  if (cost.max !== undefined && !isAmount(cost.max)) throw refuse('cost.max', 'must be a number from 0');
  if (cost.per !== undefined && cost.per !== 'call' && cost.per !== 'result')
    throw refuse('cost.per', "must be 'call' or 'result'");
  if (typeof cost.credits === 'number' && cost.max !== undefined && microCredits(cost.max) < microCredits(cost.credits))
    throw refuse('cost.max', 'is below `cost.credits`');
}

/** Checks limits of a tool or of a provider in the config; `place` is how the message names them. */
export function checkLimits(limits: ProviderLimits, { place, refuse }: { place: string; refuse: Refuse }): void {
  const wrong = limitsProblem(limits, place);
  if (wrong !== undefined) throw refuse(wrong.part, wrong.problem);
  if (limits.concurrency !== undefined && !isCount(limits.concurrency))
    throw refuse(`${place}.concurrency`, 'must be a whole number from 1');
  for (const [index, rate] of (limits.rate ?? []).entries()) {
    if (!isCount(rate.calls)) throw refuse(`${place}.rate[${index}].calls`, 'must be a whole number from 1');
    if (!((durationMs(rate.per) ?? 0) > 0))
      throw refuse(`${place}.rate[${index}].per`, "must be a duration such as '1s', or milliseconds");
    if (rate.smooth !== undefined && typeof rate.smooth !== 'boolean')
      throw refuse(`${place}.rate[${index}].smooth`, 'must be true or false');
  }
}

function fieldRefusal(id: string): Refuse {
  return (field, problem) => definitionRefusal(`Tool ${id}: \`${field}\``, problem, id);
}

function isListOf(list: unknown, fits: (item: unknown) => boolean): boolean {
  return list === undefined || (Array.isArray(list) && list.every(fits));
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && !/\s/.test(value);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}

function isAmount(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function isFinalStatus(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 200 && (value as number) <= 599;
}
