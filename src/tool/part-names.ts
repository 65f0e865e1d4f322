import { didYouMean } from '../scope/index.ts';

/** The names that each object may have. */
const LIMIT_NAMES = ['rate', 'concurrency'] as const;
const RATE_NAMES = ['calls', 'per', 'smooth'] as const;
export const PROVIDER_NAMES = ['account', 'baseUrl', 'mode', 'limits'] as const;
const COST_NAMES = ['credits', 'per', 'max'] as const;
const REUSE_NAMES = ['scope', 'staleAfterSeconds'] as const;
const IDEMPOTENCY_NAMES = ['header'] as const;
const SEND_HTTP_NAMES = ['request', 'noResult', 'response', 'classify'] as const;
const SEND_RUN_NAMES = ['run'] as const;

interface PartProblem {
  /** Within the definition, such as `limits.rate[0]`. */
  readonly part: string;
  readonly problem: string;
}

/**
 * What is wrong with the names in `value`: it is no object, or has a name that nothing reads. Such a name has no effect, and
 * somebody has written it for one: a limit that isn't kept, a cost that isn't counted.
 */
export function namesProblem(value: unknown, known: readonly string[]): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return `must be an object with ${known.join(', ')}`;
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown === undefined) return undefined;
  return `has no option '${unknown}' (there is: ${known.join(', ')})${didYouMean(unknown, known).replace(/\?$/, '')}`;
}

/** The same for `limits` and each of its rates; parts are named from `place` on. */
export function limitsProblem(limits: unknown, place: string): PartProblem | undefined {
  const own = namesProblem(limits, LIMIT_NAMES);
  if (own !== undefined) return { part: place, problem: own };
  const { rate } = limits as { readonly rate?: unknown };
  if (rate === undefined) return undefined;
  if (!Array.isArray(rate))
    return { part: `${place}.rate`, problem: "must be a list such as [{ calls: 15, per: '1s' }]" };
  for (const [index, one] of rate.entries()) {
    const problem = namesProblem(one, RATE_NAMES);
    if (problem !== undefined) return { part: `${place}.rate[${index}]`, problem };
  }
  return undefined;
}

type Given = Readonly<Record<string, unknown>>;

/** The same for the parts of a definition that `defineTool` doesn't look into, but for `limits`. */
export function partsProblem(tool: Given): PartProblem | undefined {
  const event = (tool.event ?? {}) as Given;
  const parts: readonly (readonly [part: string, value: unknown, known: readonly string[]])[] = [
    ['cost', tool.cost, COST_NAMES],
    ['reuse', tool.reuse === 'never' ? undefined : tool.reuse, REUSE_NAMES],
    ['idempotency', tool.idempotency, IDEMPOTENCY_NAMES],
    ['event.arm', ...sendNames(event.arm)],
    ['event.onTimeout', ...sendNames(event.onTimeout)],
  ];
  for (const [part, value, known] of parts) {
    const problem = value === undefined ? undefined : namesProblem(value, known);
    if (problem !== undefined) return { part, problem };
  }
  return extractProblem(tool.extract);
}

function sendNames(send: unknown): readonly [unknown, readonly string[]] {
  if (typeof send !== 'object' || send === null) return [undefined, []];
  return [send, 'run' in send ? SEND_RUN_NAMES : SEND_HTTP_NAMES];
}

/** The names in `extract` are the author's own. */
function extractProblem(extract: unknown): PartProblem | undefined {
  if (extract === undefined) return undefined;
  if (typeof extract !== 'object' || extract === null || Array.isArray(extract))
    return { part: 'extract', problem: "must be an object such as { email: 'data.email' }" };
  const wrong = Object.entries(extract).find(([, how]) => typeof how !== 'string' && typeof how !== 'function');
  if (wrong === undefined) return undefined;
  return { part: `extract.${wrong[0]}`, problem: "must be a path such as 'data.email', or a function of the data" };
}
