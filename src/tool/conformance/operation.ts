import { defineTool, type JsonValue, type ProviderConfig } from '../../sdk/index.ts';
import { buildCatalogue } from '../catalogue.ts';
import type { CatalogueTool, Operation } from '../port.ts';

type Definition = { readonly [option: string]: unknown };

/** A tool out of the few fields that a test is about; by default a read of `acme.find` that takes any input. */
export function toolOf(definition: Definition, config: ProviderConfig = {}): CatalogueTool {
  const whole = { id: 'acme.find', effect: 'read', input: {}, ...definition };
  const tool = defineTool(whole as never);
  const provider = tool.provider ?? tool.id.slice(0, tool.id.indexOf('.'));
  return buildCatalogue({ tools: [tool], providers: { [provider]: config } }).get(tool.id);
}

export function operationOf(tool: CatalogueTool, input: JsonValue = {}, rest: Partial<Operation> = {}): Operation {
  return {
    tool,
    input,
    operationKey: () => 'operation-key-1',
    timeoutMs: tool.timeoutMs,
    signal: new AbortController().signal,
    ...rest,
  };
}
