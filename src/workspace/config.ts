import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { loadModule } from '../play/index.ts';
import { didYouMean, durationMs } from '../scope/index.ts';
import { type CallsheetConfig, CallsheetError, isTool, type Tool } from '../sdk/index.ts';

const CONFIG_NAMES = ['callsheet.config.ts', 'callsheet.config.js', 'callsheet.config.mjs', 'callsheet.config.json'];

/** The nearest folder upwards with a config or a `.callsheet` folder; else `from` itself. */
export function findWorkspace(from: string): string {
  for (let dir = from; ; dir = dirname(dir)) {
    if ([...CONFIG_NAMES, '.callsheet'].some((name) => existsSync(join(dir, name)))) return dir;
    if (dirname(dir) === dir) return from;
  }
}

export interface LoadedConfig {
  readonly config: CallsheetConfig;
  readonly tools: readonly Tool[];
  /** The config file, or undefined where there is none. */
  readonly file: string | undefined;
}

/** The workspace's config and tools: those of the config and every exported tool of every file under `tools/`. */
export async function loadConfig(dir: string, cacheDir: string): Promise<LoadedConfig> {
  const name = CONFIG_NAMES.find((one) => existsSync(join(dir, one)));
  const file = name === undefined ? undefined : join(dir, name);
  const config = file === undefined ? {} : await configOf(file, cacheDir);
  const found = await toolsBelow(dir, cacheDir);
  return { config, tools: [...(config.tools ?? []), ...found], file };
}

async function configOf(file: string, cacheDir: string): Promise<CallsheetConfig> {
  const exports = await loadModule(file, { code: 'CONFIG_INVALID', label: 'config file', cacheDir });
  const config: unknown = exports.default ?? exports;
  const issues = await configIssues(config);
  if (issues.length === 0) return config as CallsheetConfig;
  throw new CallsheetError('CONFIG_INVALID', `The config ${file} is not valid. ${issues.join('; ')}.`, {
    details: { file, issues },
    next: [`Mend ${file}.`],
  });
}

async function configIssues(config: unknown): Promise<string[]> {
  const { z } = await import('zod');
  const duration = z.union([z.number().nonnegative(), z.string()]).refine((value) => durationMs(value) !== undefined, {
    message: "must be a duration such as '5m' or milliseconds",
  });
  const rate = z.strictObject({ calls: z.number().int().positive(), per: duration, smooth: z.boolean().optional() });
  const limits = z.strictObject({
    rate: z.array(rate).optional(),
    concurrency: z.number().int().positive().optional(),
  });
  const provider = z.strictObject({
    account: z.string().min(1).optional(),
    baseUrl: z.url().optional(),
    mode: z.enum(['live', 'sandbox']).optional(),
    limits: limits.optional(),
  });
  const schema = z.strictObject({
    tools: z.array(z.custom(isTool, 'must be made with defineTool')).optional(),
    providers: z.record(z.string(), provider).optional(),
    confirmAbove: z.number().nonnegative().optional(),
    creditsPerDay: z.number().nonnegative().optional(),
    providerMaxWait: duration.optional(),
    continueOnContractError: z.boolean().optional(),
    concurrency: z.number().int().positive().max(10_000).optional(),
  });
  const parsed = schema.safeParse(config);
  if (parsed.success) return [];
  // By how deep it lies: the config, a provider, its limits, one of its rates.
  const known = [schema, undefined, provider, limits, undefined, rate].map((one) => Object.keys(one?.shape ?? {}));
  return parsed.error.issues.slice(0, 10).map((issue) => {
    const unknown = issue.code === 'unrecognized_keys' ? issue.keys : [];
    const near = unknown.map((name) => didYouMean(name, known[issue.path.length] ?? [])).join('');
    return `${issue.path.join('.') || 'the config'}: ${issue.message}${near && `.${near}`}`;
  });
}

async function toolsBelow(dir: string, cacheDir: string): Promise<Tool[]> {
  const folder = join(dir, 'tools');
  if (!existsSync(folder)) return [];
  const names = (await readdir(folder, { recursive: true })).filter(
    (name) => /\.(ts|js|mjs)$/.test(name) && !/\.(test|d)\.[a-z]+$/.test(name) && !name.includes('node_modules'),
  );
  const tools: Tool[] = [];
  for (const name of names.sort()) {
    const file = join(folder, name);
    const label = `tool file ${relative(dir, file)}`;
    const exports = await loadModule(file, { code: 'TOOL_DEFINITION_INVALID', label, cacheDir });
    // One tool may be exported under two names.
    const names = new Map(Object.entries(exports).map(([exported, value]) => [value, exported]));
    for (const [tool, exported] of names) {
      if (isTool(tool)) tools.push(tool);
      else if (looksLikeTool(tool)) throw undefinedTool(file, exported);
    }
  }
  return tools;
}

/** What somebody meant to be a tool and forgot to define. */
function looksLikeTool(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'id' in value && ('effect' in value || 'request' in value);
}

function undefinedTool(file: string, exported: string): CallsheetError {
  return new CallsheetError(
    'TOOL_DEFINITION_INVALID',
    `${file}: the export '${exported}' looks like a tool, but is not made with defineTool.`,
    {
      details: { file, export: exported },
      next: [`Write export const ${exported === 'default' ? 'tool' : exported} = defineTool({ … }).`],
    },
  );
}
