import { NotJsonError, schemaAsJson, toJson } from '../scope/index.ts';
import type { JsonSchema, JsonValue, Play, PlayOptions } from '../sdk/index.ts';
import type { LoadedPlay } from './load.ts';

export interface PlayDescription {
  readonly name: string;
  readonly description: string | null;
  readonly exportName: string;
  /** Every play of the file. */
  readonly exports: readonly { readonly exportName: string; readonly name: string }[];
  /** The options, `input` apart. What is not JSON is described in words. */
  readonly options: Readonly<Record<string, JsonValue>>;
  readonly unknownOptions: readonly string[];
  /** The input as JSON Schema; null where the play declares none, or one that cannot be told as JSON Schema. */
  readonly inputSchema: JsonSchema | null;
  readonly artifact: string;
}

/** A play as people and agents read it; plain JSON. */
export function describePlay(loaded: LoadedPlay): PlayDescription {
  const { play } = loaded;
  return {
    name: play.name,
    description: play.description ?? null,
    exportName: loaded.exportName,
    exports: loaded.plays.map((item) => ({ exportName: item.exportName, name: item.play.name })),
    options: plainOptions(play.options),
    unknownOptions: play.unknownOptions,
    inputSchema: inputSchemaOf(play),
    artifact: loaded.artifact.hash,
  };
}

export function inputSchemaOf(play: Play): JsonSchema | null {
  const schema = play.options.input;
  return schema === undefined ? null : (schemaAsJson(schema, 'input') ?? null);
}

/** Options for keeping and showing: never what cannot be written down. */
export function plainOptions(options: PlayOptions): Record<string, JsonValue> {
  const plain: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(options)) {
    if (name === 'input' || value === undefined) continue;
    try {
      plain[name] = toJson(value);
    } catch (error) {
      if (!(error instanceof NotJsonError)) throw error;
      plain[name] = `(not JSON: ${error.path.replace('$', name)} is ${error.found})`;
    }
  }
  return plain;
}
