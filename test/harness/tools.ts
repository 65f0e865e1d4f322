import {
  defineTool,
  type FunctionBatch,
  type FunctionTool,
  type Tool,
  type ToolDefinition,
} from '../../src/sdk/index.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests ask with whatever input they need
type AnyInput = any;

export interface CountedTool {
  readonly tool: Tool;
  /** Every request that went out, in order. */
  readonly sent: { readonly input: AnyInput; readonly operationKey: string }[];
}

type Parts = Partial<Omit<FunctionTool<AnyInput>, 'run' | 'request'>>;
type Run = FunctionTool<AnyInput>['run'];

const FIND = { id: 'acme.find', effect: 'read', input: { type: 'object' }, cost: { credits: 1 } } as const;

/** A function tool that says what it was asked: the ledger of a test. One credit a call unless told otherwise. */
export function countedTool(parts: Parts = {}, run: Run = (input) => ({ got: input })): CountedTool {
  const sent: CountedTool['sent'] = [];
  const tool = defineTool<AnyInput>({
    ...FIND,
    ...parts,
    run: (input, context) => {
      sent.push({ input, operationKey: context.operationKey });
      return run(input, context);
    },
  });
  return { tool, sent };
}

/** An error that a function tool throws to end as it likes. */
export function endsAs(ending: string, more: { readonly retryAfterMs?: number } = {}): Error {
  return Object.assign(new Error(`ends as ${ending}`), { endsAs: ending, ...more });
}

export interface Latch {
  readonly opened: Promise<void>;
  readonly open: () => void;
}

/** A promise that the test fulfils. */
export function latch(): Latch {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** Lets the process work until a condition holds; gives up after many turns of the event loop. */
export async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 500_000; turn++) {
    if (condition()) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  throw new Error('the condition did not come to hold');
}

/** Six rows, two at a time, each with one call. */
export const ROWS = `async (ctx) => {
  const rows = await ctx.dataset('rows', Array.from({ length: 6 }, (_, n) => ({ n })))
    .withColumn('v', async (row, ctx) => (await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: row.n } })).data)
    .run({ concurrency: 2 });
  return (await rows.materialize()).map((row) => row.v);
}`;

/** Answers at once but for those inputs that are held. */
export function heldTool(holds: (n: number) => boolean, more: object = {}) {
  const gate = latch();
  const counted = countedTool(more, async ({ n }, { signal }) => {
    if (holds(n))
      await Promise.race([
        gate.opened,
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(endsAs('ambiguous')))),
      ]);
    return n;
  });
  return { ...counted, open: gate.open };
}

/** As many rows as the input says, each with one call; `first` is what the play does before. */
export function inputRows(concurrency: number, first = ''): string {
  return `async (ctx, input) => {
    ${first}
    const ds = await ctx.dataset('rows', Array.from({ length: input.rows }, (_, n) => ({ n })), { key: 'n' })
      .withColumn('v', async (row, ctx) => (await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: row.n } })).data)
      .run({ concurrency: ${concurrency} });
    return (await ds.materialize()).length;
  }`;
}

/** What a provider charges that does and charges all it is asked: once a key where it is told one. */
export function chargedFor(sent: CountedTool['sent'], parts: object): number {
  return 'idempotency' in parts ? new Set(sent.map(({ operationKey }) => operationKey)).size : sent.length;
}

export interface BatchedTool {
  readonly tool: Tool;
  /** Every batch that went out, in order. */
  readonly sent: { readonly inputs: readonly AnyInput[]; readonly operationKey: string }[];
}

type BatchRun = FunctionBatch<AnyInput>['run'];
type BatchParts = Pick<FunctionBatch<AnyInput>, 'maxSize'> &
  Partial<Pick<FunctionBatch<AnyInput>, 'maxWaitMs' | 'split'>>;

/** A function tool that is asked in batches only, and says what it was asked. One credit a question unless told otherwise. */
export function batchedTool(
  { maxSize, maxWaitMs, split, ...parts }: BatchParts & Parts,
  run: BatchRun = (inputs) => inputs.map((input) => ({ got: input })),
): BatchedTool {
  const sent: BatchedTool['sent'] = [];
  const tool = defineTool<AnyInput>({
    ...FIND,
    ...parts,
    batch: {
      maxSize,
      ...(maxWaitMs === undefined ? {} : { maxWaitMs }),
      ...(split === undefined ? {} : { split }),
      run: (inputs, context) => {
        sent.push({ inputs, operationKey: context.operationKey });
        return run(inputs, context);
      },
    },
  } as ToolDefinition<AnyInput>);
  return { tool, sent };
}
