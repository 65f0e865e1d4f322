import { nearestNames, prepareSchema, roundedCredits, SchemaUnusableError, validateWith } from '../scope/index.ts';
import {
  CallsheetError,
  type Effect,
  type JsonValue,
  type ProviderConfig,
  type SchemaLike,
  type Tool,
} from '../sdk/index.ts';
import { type CatalogueMode, providerAccount } from './account.ts';
import { checkDefinition, definitionRefusal } from './definition.ts';
import { definitionDigest } from './definition-digest.ts';
import { sendsRequest } from './event-message.ts';
import type { CatalogueTool, ProviderAccount, Validation } from './port.ts';

const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_TRIES = 5;

/** The tools of a workspace, by id. */
export interface Catalogue {
  /** Throws `TOOL_NOT_FOUND` with the nearest names. */
  get(id: string): CatalogueTool;
  has(id: string): boolean;
  /** In the order of their ids. */
  list(): readonly CatalogueTool[];
  /** Compiles every schema; rejects with `TOOL_DEFINITION_INVALID` for the first that is broken. */
  prepare(): Promise<void>;
}

export interface CatalogueOptions {
  readonly tools: readonly Tool[];
  readonly providers?: Readonly<Record<string, ProviderConfig>> | undefined;
  /** 'fixture' where every answer comes from recorded files; then it counts for all accounts. Default 'live'. */
  readonly mode?: CatalogueMode | undefined;
}

/**
 * Fills in defaults and joins tools with their provider accounts. Tools of one provider share one account object.
 * Throws `TOOL_DEFINITION_INVALID` (also for two tools of one id) and `CONFIG_INVALID`.
 */
export function buildCatalogue({ tools, providers = {}, mode = 'live' }: CatalogueOptions): Catalogue {
  const checked = tools.map((tool, index) => checkDefinition(tool, `tools[${index}]`));
  const byProvider = Map.groupBy(checked, providerOf);
  const entries = new Map<string, CatalogueTool>();
  for (const [provider, ofProvider] of byProvider) {
    const config = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
    const account = providerAccount(provider, ofProvider, { config, mode });
    for (const tool of ofProvider) {
      if (entries.has(tool.id)) throw definitionRefusal(`Tool ${tool.id}:`, 'two tools have this id', tool.id);
      entries.set(tool.id, new CatalogueEntry(tool, account));
    }
  }
  const sorted = [...entries.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  return {
    get: (id) => entries.get(id) ?? missing(id, sorted),
    has: (id) => entries.has(id),
    list: () => sorted,
    async prepare() {
      for (const { id, definition } of sorted) {
        await prepared(id, 'input', definition.input);
        if (definition.output !== undefined) await prepared(id, 'output', definition.output);
      }
    },
  };
}

function providerOf(tool: Tool): string {
  return tool.provider ?? tool.id.slice(0, tool.id.indexOf('.'));
}

function missing(id: string, known: readonly CatalogueTool[]): never {
  const near = nearestNames(
    String(id),
    known.map((tool) => tool.id),
  );
  const hint = near.length === 0 ? '' : ` Did you mean ${near.join(' or ')}?`;
  throw new CallsheetError('TOOL_NOT_FOUND', `There is no tool '${id}' in this workspace.${hint}`, {
    details: { tool: id, nearest: near },
    next: ['callsheet tools list'],
  });
}

async function prepared(id: string, field: 'input' | 'output', schema: SchemaLike): Promise<void> {
  try {
    await prepareSchema(schema);
  } catch (error) {
    throw unusable(error, id, field);
  }
}

function unusable(error: unknown, id: string, field: 'input' | 'output'): unknown {
  if (!(error instanceof SchemaUnusableError)) return error;
  return definitionRefusal(`Tool ${id}: \`${field}\``, `cannot be used: ${error.message}`, id);
}

function runsFunction(tool: Tool): boolean {
  if (tool.event !== undefined) return !sendsRequest(tool.event.arm);
  return tool.run !== undefined || tool.batch?.run !== undefined;
}

/** A class, so that all entries have one shape and a call allocates nothing here. */
class CatalogueEntry implements CatalogueTool {
  readonly id: string;
  readonly provider: string;
  readonly version: string;
  readonly definition: Tool;
  readonly account: ProviderAccount;
  readonly description: string;
  readonly isFunction: boolean;
  readonly timeoutMs: number;
  readonly maxTries: number;
  readonly reuseScope: CatalogueTool['reuseScope'];
  readonly staleAfterSeconds: number | undefined;
  readonly versions: readonly string[];
  readonly maxCredits: number;
  readonly sendsIdempotencyKey: boolean;
  readonly secrets: readonly string[];
  readonly #effect: Effect | ((input: never) => Effect);
  #digest: string | undefined;

  constructor(tool: Tool, account: ProviderAccount) {
    this.id = tool.id;
    this.provider = account.provider;
    this.version = tool.version ?? '1';
    this.definition = tool;
    this.account = account;
    this.description = tool.description ?? '';
    this.isFunction = runsFunction(tool);
    this.timeoutMs = tool.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.maxTries = tool.maxTries ?? DEFAULT_TRIES;
    const reuse = tool.event === undefined ? tool.reuse : 'never';
    this.reuseScope = reuse === 'never' ? 'never' : (reuse?.scope ?? 'workspace');
    this.staleAfterSeconds = reuse === 'never' ? undefined : reuse?.staleAfterSeconds;
    this.versions = [...new Set([this.version, ...(tool.reads ?? [])])];
    this.maxCredits = roundedCredits(
      tool.cost?.max ?? (typeof tool.cost?.credits === 'number' ? tool.cost.credits : 0),
    );
    this.sendsIdempotencyKey = tool.idempotency !== undefined;
    this.secrets = tool.secrets ?? [];
    this.#effect = tool.effect;
  }

  get digest(): string {
    this.#digest ??= definitionDigest(this.definition);
    return this.#digest;
  }

  effectOf(input: JsonValue): Effect {
    if (typeof this.#effect !== 'function') return this.#effect;
    const refusal = (problem: string) => definitionRefusal(`Tool ${this.id}: \`effect\``, problem, this.id);
    let effect: unknown;
    try {
      effect = this.#effect(input as never);
    } catch (error) {
      throw refusal(`threw: ${error instanceof Error ? error.message : String(error)}`);
    }
    if (effect === 'read' || effect === 'idempotent' || effect === 'write') return effect;
    throw refusal(`returned ${String(effect)} instead of 'read', 'idempotent' or 'write'`);
  }

  validateInput(input: unknown): Validation | Promise<Validation> {
    return this.#validate('input', this.definition.input, input);
  }

  validateOutput(data: unknown): Validation | Promise<Validation> | undefined {
    const { output } = this.definition;
    return output === undefined ? undefined : this.#validate('output', output, data);
  }

  #validate(field: 'input' | 'output', schema: SchemaLike, value: unknown): Validation | Promise<Validation> {
    try {
      return validateWith(schema as SchemaLike<JsonValue>, value);
    } catch (error) {
      throw unusable(error, this.id, field);
    }
  }
}
