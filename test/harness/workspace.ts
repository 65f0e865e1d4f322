import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Engine } from '../../src/engine/index.ts';
import { runReport } from '../../src/report/index.ts';
import type { Tool } from '../../src/sdk/index.ts';
import type { NewSignal } from '../../src/store/index.ts';
import {
  existingRun,
  newRun,
  type ObservedEvent,
  type OpenOptions,
  type Outcome,
  openWorkspace,
  type RunOrder,
  type RunRecord,
  reportSource,
  resumeOptions,
  type Workspace,
} from '../../src/workspace/index.ts';

/** An empty folder that ends with the test; `files` are written into it. */
export function testFolder(files: Readonly<Record<string, string>> = {}): string {
  const dir = mkdtempSync(join(tmpdir(), 'callsheet-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) putFile(dir, name, text);
  return dir;
}

export function putFile(dir: string, name: string, text: string): string {
  const path = join(dir, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

export type TestOpenOptions = Partial<Omit<OpenOptions, 'cwd' | 'dir' | 'tools'>> & {
  readonly tools?: readonly Tool[];
};

/** The workspace of a folder, closed with the test. Several may be open on one folder, as several processes would. */
export async function openTest(dir: string, options: TestOpenOptions = {}): Promise<Workspace> {
  const workspace = await openWorkspace({ cwd: dir, dir, env: {}, ...options });
  let closed = false;
  const close = async (): Promise<void> => {
    if (closed) return;
    closed = true;
    await workspace.close();
  };
  onTestFinished(close);
  return { ...workspace, close };
}

/** A workspace in a folder of its own. */
export function testWorkspace(
  options: TestOpenOptions & { readonly files?: Record<string, string> } = {},
): Promise<Workspace> {
  const { files = {}, ...rest } = options;
  return openTest(testFolder(files), rest);
}

export interface EndedRun {
  readonly run: RunRecord;
  readonly outcome: Outcome;
  readonly events: readonly ObservedEvent[];
  /** What the play returned; undefined where it did not complete. */
  // biome-ignore lint/suspicious/noExplicitAny: plays return whatever their test needs
  readonly result: any;
  /** The code of the error that the run failed with. */
  readonly code: string | undefined;
}

export type PlayOrder = Partial<Omit<RunOrder, 'play' | 'cwd'>> & {
  /** Options of definePlay, as source text. */
  readonly options?: string;
  readonly name?: string;
  /** The play file, so that it can be changed later; a new one where it is not given. */
  readonly file?: string;
};

let files = 0;

/** Writes a play whose function is this source text. */
export function playFile(workspace: Workspace, source: string, order: PlayOrder = {}): string {
  const file = order.file ?? `play-${++files}.play.ts`;
  const text = `import { definePlay, isProviderUnavailable, steps, CtxFetchHttpError } from 'callsheet';
void [isProviderUnavailable, steps, CtxFetchHttpError];
export default definePlay('${order.name ?? 'test-play'}', ${source}, ${order.options ?? '{}'});
`;
  return putFile(workspace.paths.dir, file, text);
}

/** A run of this play that nobody has begun. */
export async function queued(workspace: Workspace, source: string, order: PlayOrder = {}): Promise<RunRecord> {
  const { options: _options, name: _name, file: _file, ...rest } = order;
  const play = playFile(workspace, source, order);
  return (await newRun(workspace, { input: {}, ...rest, play, cwd: workspace.paths.dir })).run;
}

/** Runs a play, given as the source text of its function, to the end of its first attempt. */
export async function runPlay(workspace: Workspace, source: string, order: PlayOrder = {}): Promise<EndedRun> {
  return attempt(workspace, (await queued(workspace, source, order)).id);
}

/** The next attempt of a run, to its end. */
export async function attempt(
  workspace: Workspace,
  runId: string,
  engine: Pick<Engine, 'start'> = workspace.engine,
): Promise<EndedRun> {
  const progress = await engine.start(runId);
  const events: ObservedEvent[] = [];
  progress.hub.subscribe((event) => events.push(event));
  const outcome = await progress.outcome;
  return {
    run: await existingRun(workspace, runId),
    outcome,
    events,
    result: outcome.kind === 'completed' ? outcome.result : undefined,
    code: outcome.kind === 'failed' ? outcome.error.code : undefined,
  };
}

/** `runs resume --retry-failed`: the next attempt, which tries again what failed. */
export async function retryFailed(workspace: Workspace, runId: string): Promise<EndedRun> {
  await resumeOptions(workspace, await existingRun(workspace, runId), { retryFailed: true });
  return attempt(workspace, runId);
}

/** What `runs show` says that the run has settled, and may have spent besides. */
export async function creditsShown(workspace: Workspace, runId: string) {
  const { settled, unknown } = (await runReport(reportSource(workspace), await existingRun(workspace, runId))).credits;
  return { settled, unknown };
}

/** Credits that the run's journal has settled. */
export function settled(workspace: Workspace, run: RunRecord): Promise<number> {
  return workspace.store.calls.settledCredits(run.no);
}

/** Answers a wait, as `callsheet signal` does. */
export async function signal(workspace: Workspace, more: Partial<NewSignal>): Promise<void> {
  const plain = { runId: null, event: 'go', rowKey: null, waitNo: null, all: false, data: '{"ok":true}' };
  await workspace.committer.commit([{ kind: 'signal', signal: { ...plain, at: workspace.clock.now(), ...more } }]);
}
