import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { CallProcess } from '../call/index.ts';
import { ChildRuns, type Engine, LocalEngine } from '../engine/index.ts';
import { installSdk, openArtifact, stopBundler } from '../play/index.ts';
import { type RunDeps, TreeBudgets } from '../run/index.ts';
import { type Chance, type Clock, systemChance, systemClock } from '../scope/index.ts';
import { type CallsheetConfig, CallsheetError, type Tool } from '../sdk/index.ts';
import { openSecrets, type Secrets } from '../secrets/index.ts';
import { type Committer, jobOfStart, openSqliteStore, type Store } from '../store/index.ts';
import {
  buildCatalogue,
  builtinTools,
  type Catalogue,
  fixtureTransport,
  functionTransport,
  httpTransport,
  type ReadSecret,
  reconciler,
  recordingTransport,
  routeTransport,
  type Transport,
} from '../tool/index.ts';
import { callProcess } from './call-process.ts';
import { findWorkspace, loadConfig } from './config.ts';
import { keepHeapSmall } from './heap.ts';
import { type LocalSandbox, openLocalSandbox } from './local-sandbox.ts';
import { makeHome, namedFolder, type WorkspacePaths, workspacePaths } from './paths.ts';
import { NOTHING_SHARED, type SharedLimits, sharedLimits } from './rates.ts';
import { RELEASE } from './release.ts';
import { RescueFiles } from './rescue.ts';
import { importRescued } from './rescue-import.ts';
import { rescuePlaces } from './rescue-places.ts';

export interface OpenOptions {
  /** Where the command was given. */
  readonly cwd: string;
  /** `--workspace`: the folder, instead of the nearest one upwards. */
  readonly dir?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `--fixtures`: answers come from these recorded files only. */
  readonly fixtures?: string | undefined;
  /** `--record`: answers are also written there. */
  readonly record?: string | undefined;
  readonly clock?: Clock;
  readonly chance?: Chance;
  /** More tools than the workspace's own: for tests and benchmarks. */
  readonly tools?: readonly Tool[];
  /**
   * For what needs no tool: is told why the config or the tools cannot be used, and the workspace opens all the same, with
   * the built-in tools and the defaults of a config.
   */
  readonly onUnusable?: ((error: CallsheetError) => void) | undefined;
}

/** A workspace with its rooms wired together. */
export interface Workspace {
  readonly paths: WorkspacePaths;
  readonly config: CallsheetConfig;
  readonly catalogue: Catalogue;
  readonly secrets: Secrets;
  readonly store: Store;
  readonly committer: Committer;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly calls: CallProcess;
  readonly deps: RunDeps;
  readonly engine: Engine;
  /** What this process works on because its runs have started it. */
  readonly children: ChildRuns;
  /** The sandbox that this process runs for providers in mode 'sandbox', if any. */
  readonly sandbox: LocalSandbox | undefined;
  readonly mode: 'live' | 'fixture';
  close(): Promise<void>;
}

const DEFAULT_CONCURRENCY = 64;
/** What rows in flight may hold together: a row of 50 MB does not multiply by the pool. */
const MAX_BYTES_IN_FLIGHT = 64 * 1024 * 1024;

/** Opens, and where needed makes, the workspace. Throws what config, tools, secrets and store throw. */
export async function openWorkspace(options: OpenOptions): Promise<Workspace> {
  try {
    return await open(options);
  } catch (error) {
    // The bundler is a process of its own that would keep this one alive.
    await stopBundler();
    throw error;
  }
}

async function open(options: OpenOptions): Promise<Workspace> {
  const { cwd, env, clock = systemClock, chance = systemChance } = options;
  const chosen = options.dir ?? env.CALLSHEET_WORKSPACE;
  const paths = workspacePaths(chosen === undefined ? findWorkspace(cwd) : namedFolder(resolve(cwd, chosen)));
  makeHome(paths);
  installSdk();
  const mode = options.fixtures === undefined ? 'live' : 'fixture';
  const { config, catalogue } = await definitionsOf(paths, options, mode);
  const secrets = secretsOf(paths, env);
  const { store, rescue, bringBack } = await openStore(paths, { clock, chance });
  const sandbox = await sandboxOf({ env, mode, catalogue, ledgerFile: paths.sandboxLedger }).catch(async (error) => {
    await store.close();
    throw error;
  });
  const shared =
    mode === 'fixture' ? NOTHING_SHARED : sharedLimits({ path: paths.rates, config, store, clock, chance });
  const readSecret = secretReader(secrets, catalogue);
  const transport = transportOf(options, { clock, readSecret, sandboxUrl: sandbox?.url });
  const reconcile = mode === 'fixture' ? undefined : reconciler({ readSecret, clock });
  const calls = callProcess({
    ...{ config, catalogue, store, transport, clock, chance },
    ...{ rescue, importRescued: bringBack, reconcile, rereadSecret: (name: string) => secrets.reread([name]) },
    ...{ rates: shared.pace, tryLog: shared.tries },
  });
  const { committer } = calls;
  const deps: RunDeps = {
    ...{ store, committer, clock, chance, calls },
    budgets: new TreeBudgets({ ...shared, clock, maxCreditsOf: highestCost(catalogue) }),
    filesDir: paths.files,
    concurrency: config.concurrency ?? DEFAULT_CONCURRENCY,
    maxBytesInFlight: MAX_BYTES_IN_FLIGHT,
    openArtifact: (hash, exportName) => openArtifact(paths.artifacts, hash, exportName),
    readSecret: (name) => secrets.read(name),
    startRun: (runId) => children.adopt(runId),
  };
  const engine = new LocalEngine(deps);
  const children = new ChildRuns(engine, store.runs);
  const parts = {
    paths,
    config,
    catalogue,
    secrets,
    store,
    committer,
    clock,
    chance,
    calls,
    deps,
    engine,
    children,
    sandbox,
    mode,
  } as const;
  keepHeapSmall();
  return { ...parts, close: () => closeAll({ transport, sandbox, store, committer, shared }) };
}

interface Definitions {
  readonly config: CallsheetConfig;
  readonly catalogue: Catalogue;
}

/** What the workspace declares. A slip in it must not keep anybody from looking at a run, or from stopping one. */
async function definitionsOf(
  paths: WorkspacePaths,
  { tools = [], onUnusable }: OpenOptions,
  mode: Workspace['mode'],
): Promise<Definitions> {
  try {
    const { config, tools: own } = await loadConfig(paths.dir, paths.modules);
    return { config, catalogue: await catalogueOf([...own, ...tools], config, mode) };
  } catch (error) {
    if (onUnusable === undefined || !(error instanceof CallsheetError)) throw error;
    onUnusable(error);
    return { config: {}, catalogue: await catalogueOf([], {}, mode) };
  }
}

async function catalogueOf(own: readonly Tool[], config: CallsheetConfig, mode: Workspace['mode']): Promise<Catalogue> {
  const { providers } = config;
  const tools = own.concat(builtinTools({ tools: own, providers }));
  const catalogue = buildCatalogue({ tools, ...(providers && { providers }), mode });
  await catalogue.prepare();
  return catalogue;
}

/** The store, once all answers are in it that it could not take before. */
async function openStore(paths: WorkspacePaths, { clock, chance }: { readonly clock: Clock; readonly chance: Chance }) {
  const store = await openSqliteStore({ path: paths.database, clock, release: RELEASE });
  const places = rescuePlaces(paths.home);
  const bringBack = (): Promise<number> => importRescued(places, { store, clock, chance });
  await bringBack().catch(async (error) => {
    await store.close();
    throw error;
  });
  const tell = (line: string): void => void process.stderr.write(`${line}\n`);
  return { store, bringBack, rescue: new RescueFiles(places, { chance, tell }) };
}

/** The highest cost of one call of a tool; that of a job for what starts it; 0 where the workspace has it no more. */
export function highestCost(catalogue: Catalogue): (tool: string) => number {
  return (tool) => {
    const id = jobOfStart(tool) ?? tool;
    return catalogue.has(id) ? catalogue.get(id).maxCredits : 0;
  };
}

function secretsOf(paths: WorkspacePaths, env: OpenOptions['env']): Secrets {
  const home = env.XDG_CONFIG_HOME ?? env.APPDATA ?? join(env.HOME ?? homedir(), '.config');
  return openSecrets({
    env,
    dotenvPath: join(paths.dir, '.env'),
    storePath: paths.secrets,
    keyPath: join(home, 'callsheet', 'key'),
    key: env.CALLSHEET_KEY,
  });
}

async function sandboxOf(of: {
  readonly env: OpenOptions['env'];
  readonly mode: Workspace['mode'];
  readonly catalogue: Catalogue;
  readonly ledgerFile: string;
}): Promise<LocalSandbox | undefined> {
  const isUsed = of.mode === 'live' && of.catalogue.list().some((tool) => tool.account.mode === 'sandbox');
  return isUsed ? openLocalSandbox(of) : undefined;
}

function transportOf(
  options: OpenOptions,
  parts: { clock: Clock; readSecret: ReadSecret; sandboxUrl: string | undefined },
): Transport {
  const { clock, readSecret, sandboxUrl } = parts;
  if (options.fixtures !== undefined) return fixtureTransport(resolve(options.cwd, options.fixtures));
  const live = routeTransport({
    http: httpTransport({ readSecret, sandboxUrl, clock }),
    fn: functionTransport({ readSecret, clock }),
  });
  return options.record === undefined ? live : recordingTransport(live, resolve(options.cwd, options.record));
}

function secretReader(secrets: Secrets, catalogue: Catalogue): ReadSecret {
  const invented = sandboxSecrets(catalogue);
  return (name) => secrets.read(name) ?? (invented.has(name) ? 'sandbox-key' : undefined);
}

/** Secrets that only the sandbox is ever sent: it takes any key, so nobody has to invent one. */
function sandboxSecrets(catalogue: Catalogue): ReadonlySet<string> {
  const namesOf = (isSandbox: boolean): string[] =>
    catalogue
      .list()
      .filter((tool) => (tool.account.mode === 'sandbox') === isSandbox)
      .flatMap((tool) => tool.secrets);
  const live = new Set(namesOf(false));
  return new Set(namesOf(true).filter((name) => !live.has(name)));
}

async function closeAll(parts: {
  transport: Transport;
  sandbox: LocalSandbox | undefined;
  store: Store;
  committer: Committer;
  shared: SharedLimits;
}): Promise<void> {
  const results = await Promise.allSettled([
    parts.committer.flush(),
    parts.transport.close(),
    parts.sandbox?.close(),
    stopBundler(),
  ]);
  parts.shared.close();
  await parts.store.close();
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
