import type { FunctionBatch, FunctionTool, HttpBatch, HttpTool, JsonValue, Tool } from '../sdk/index.ts';
import type { CatalogueTool } from './port.ts';

/** How a tool sends many questions at once. */
export type BatchOptions = HttpBatch<never> | FunctionBatch<never>;

/** The `batch` of a tool; undefined where each of its questions goes out alone. */
export function batchOf(tool: CatalogueTool): BatchOptions | undefined {
  return (tool.definition as { readonly batch?: BatchOptions }).batch;
}

const batchTools = new WeakMap<CatalogueTool, CatalogueTool>();

/**
 * The tool that sends questions of `tool` together, as a tool of its own: its input is the list of theirs. So a batch is
 * paced, delivered and recorded (in fixtures too, as `<id>:batch`) like any call. What it answers is read member by member,
 * by the tool itself.
 */
export function batchTool(tool: CatalogueTool, batch: BatchOptions): CatalogueTool {
  let made = batchTools.get(tool);
  if (made === undefined) {
    made = derived(tool, batch);
    batchTools.set(tool, made);
  }
  return made;
}

function derived(tool: CatalogueTool, batch: BatchOptions): CatalogueTool {
  const { version, versions, provider, account, description, timeoutMs, maxTries, maxCredits, secrets } = tool;
  const id = `${tool.id}:batch`;
  return {
    ...{ id, version, versions, provider, account, description, timeoutMs, maxTries, maxCredits, secrets },
    definition: definitionOf(tool.definition, id, batch),
    get digest() {
      return tool.digest;
    },
    isFunction: batch.run !== undefined,
    reuseScope: 'never',
    staleAfterSeconds: undefined,
    sendsIdempotencyKey: tool.sendsIdempotencyKey,
    // Members of different effects never share a batch.
    effectOf: (inputs) => tool.effectOf((inputs as readonly JsonValue[])[0] ?? null),
    // Each member was validated when it was asked.
    validateInput: (inputs) => ({ ok: true, value: inputs as JsonValue }),
    validateOutput: () => undefined,
  };
}

type Sends = Pick<HttpTool<never>, 'request'> | Pick<FunctionTool<never>, 'run'>;

function definitionOf(definition: Tool, id: string, { request, run }: BatchOptions): Tool {
  const { batch: _, extract: __, output: ___, ...rest } = definition as HttpTool<never>;
  const sends: Sends =
    run === undefined
      ? { request: ({ input, secret, baseUrl }) => request(input as never, { secret, baseUrl }) }
      : { run: (inputs, context) => run(inputs as never, context) };
  return { ...rest, ...sends, id } as unknown as Tool;
}
