import { roundedCredits } from '../scope/index.ts';
import type { CostView, JsonValue, Tool, ToolReading, ToolResponseView } from '../sdk/index.ts';
import { answerView, type CatalogueTool, type RawAnswer } from '../tool/index.ts';
import { type Answer, rawOf } from './answer.ts';
import type { BatchHead, BatchPart } from './batch-answer.ts';
import { MemberFailed, memberReading } from './batch-member.ts';
import { ContractBroken, PriceAboveMax } from './contract-broken.ts';
import { extractPath } from './extract.ts';

export { ContractBroken, PriceAboveMax };

/** A raw answer as its tool reads it today. */
export interface Reading {
  readonly status: 'completed' | 'no_result' | 'pending';
  readonly data: JsonValue;
  readonly meta: JsonValue | undefined;
  readonly jobId: string | undefined;
  readonly values: Readonly<Record<string, JsonValue>>;
  /** What the answer cost, by the tool's declaration. */
  readonly credits: number;
  /** Set where the provider answered several questions together. */
  readonly batch?: BatchHead;
}

interface HttpParts {
  readonly noResult?: readonly number[];
  readonly response?: (view: ToolResponseView<unknown>) => ToolReading;
}

/**
 * Runs the tool's `response` (or its batch's `split`), `extract` and `cost` over a raw answer. Throws `ContractBroken`, and
 * `MemberFailed` where a batch's answer leaves this question out.
 */
export function readAnswer(tool: CatalogueTool, input: JsonValue, raw: RawAnswer | BatchPart): Reading {
  if (raw.kind === 'part') return readPart(tool, input, raw);
  if (raw.kind === 'value' && raw.given === true) return readGiven(tool, input, raw.value);
  const read = raw.kind === 'value' ? readValue(raw.value) : readHttp(tool, input, raw);
  return readingOf(tool, input, { read, httpStatus: raw.kind === 'http' ? raw.status : undefined });
}

/** As `readAnswer` of an answer that is kept; undefined where it is a batch's that leaves this question out. */
export function readingUnlessFailed(
  { tool, input }: { readonly tool: CatalogueTool; readonly input: JsonValue },
  answer: Answer,
): Reading | undefined {
  try {
    return readAnswer(tool, input, rawOf(answer));
  } catch (error) {
    if (error instanceof MemberFailed) return undefined;
    throw error;
  }
}

function readPart(tool: CatalogueTool, input: JsonValue, { whole, index }: BatchPart): Reading {
  const { head, said } = whole.member(tool, index);
  const read = memberReading(said, index);
  return { ...readingOf(tool, input, { read, httpStatus: head.status ?? undefined }), batch: head };
}

function readingOf(
  tool: CatalogueTool,
  input: JsonValue,
  { read, httpStatus }: { readonly read: ToolReading; readonly httpStatus: number | undefined },
): Reading {
  const { status, jobId } = read;
  const data = (read.data ?? null) as JsonValue;
  const meta = read.meta as JsonValue | undefined;
  // What it costs is known, even where the rest of it cannot be read.
  const credits = creditsOf(tool, { status, data, input: input as never, httpStatus });
  const values = valuesOf(tool.definition, { root: { data, meta: meta ?? null, status }, credits });
  return { status, data, meta, jobId, values, credits };
}

/** What is said of an operation that was done need not have the form of an answer: what it lacks is null. */
function readGiven(tool: CatalogueTool, input: JsonValue, data: JsonValue): Reading {
  const { status } = readValue(data);
  const { extract } = tool.definition;
  const values: Record<string, JsonValue> = {};
  for (const name of Object.keys(extract ?? {})) {
    try {
      values[name] = extracted(extract?.[name] ?? '', { data, meta: null, status });
    } catch {
      values[name] = null;
    }
  }
  return { status, data, meta: undefined, jobId: undefined, values, credits: givenCredits(tool, input, data) };
}

/** What was done costs what its tool reads from what is said of it, and the most that it may where that cannot be read. */
function givenCredits(tool: CatalogueTool, input: JsonValue, data: JsonValue): number {
  // That nobody has its answer does not say that there was none.
  if (data === null) return tool.maxCredits;
  try {
    return creditsOf(tool, { status: 'completed', data, input: input as never, httpStatus: undefined });
  } catch (error) {
    return error instanceof PriceAboveMax ? error.price : tool.maxCredits;
  }
}

function readValue(value: JsonValue): ToolReading {
  return value === null ? { status: 'no_result' } : { status: 'completed', data: value };
}

function readHttp(tool: CatalogueTool, input: JsonValue, raw: RawAnswer & { kind: 'http' }): ToolReading {
  const { noResult, response } = tool.definition as HttpParts;
  const view = answerView(raw);
  if (response === undefined) {
    if (raw.status === 204 || noResult?.includes(raw.status)) return { status: 'no_result' };
    return { status: 'completed', data: view.json === undefined ? view.text : view.json };
  }
  let reading: ToolReading;
  try {
    reading = response({ ...view, input });
  } catch (error) {
    throw new ContractBroken('response', messageOf(error), { cause: error });
  }
  const status: unknown = (reading as ToolReading | undefined)?.status;
  if (status !== 'completed' && status !== 'no_result' && status !== 'pending')
    throw new ContractBroken(
      'response',
      `returned ${describe(reading)} instead of { status: 'completed' | 'no_result' | 'pending', … }`,
    );
  return reading;
}

const NO_VALUES: Readonly<Record<string, JsonValue>> = Object.freeze({});

function valuesOf(
  { extract }: Tool,
  { root, credits }: { readonly root: Readonly<Record<string, JsonValue>>; readonly credits: number },
): Readonly<Record<string, JsonValue>> {
  if (extract === undefined) return NO_VALUES;
  const values: Record<string, JsonValue> = {};
  for (const name of Object.keys(extract)) {
    try {
      values[name] = extracted(extract[name] ?? '', root);
    } catch (error) {
      throw new ContractBroken('extract', `'${name}': ${messageOf(error)}`, { cause: error, price: credits });
    }
  }
  return values;
}

function extracted(how: string | ((data: unknown) => unknown), root: Readonly<Record<string, JsonValue>>): JsonValue {
  return (typeof how === 'function' ? (how(root.data) as JsonValue) : extractPath(root, how)) ?? null;
}

function creditsOf(tool: CatalogueTool, view: CostView<never>): number {
  const { cost } = tool.definition;
  if (cost === undefined) return 0;
  if (typeof cost.credits === 'number')
    return cost.per === 'result' && view.status !== 'completed' ? 0 : roundedCredits(cost.credits);
  let credits: unknown;
  try {
    credits = cost.credits(view);
  } catch (error) {
    throw new ContractBroken('cost', messageOf(error), { cause: error });
  }
  if (typeof credits !== 'number' || !(credits >= 0) || !Number.isFinite(credits))
    throw new ContractBroken('cost', `returned ${describe(credits)} instead of a number of credits`);
  const price = roundedCredits(credits);
  // Credits were reserved by the declared maximum: a higher cost would go over a limit unasked.
  if (price > tool.maxCredits) throw new PriceAboveMax(price, tool.maxCredits);
  return price;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : `threw ${describe(error)}`;
}

function describe(value: unknown): string {
  if (value === null || typeof value !== 'object') return String(value);
  return `an object with ${Object.keys(value).slice(0, 5).join(', ') || 'no properties'}`;
}
