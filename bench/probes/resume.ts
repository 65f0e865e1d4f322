/** Takes up the last run of a workspace: how long until the first new call, and whether a recorded one was made again. */
import { existingRun, openWorkspace } from '../../src/workspace/index.ts';
import { probeOptions, tell } from '../probe.ts';
import { functionTool, httpTool } from '../subject.ts';

export interface ResumeResult {
  /** From the start of this process to the first new call, in ms. */
  readonly firstCallMs: number;
  /** From the start of the attempt. */
  readonly firstCallOfAttemptMs: number;
  readonly recordedBefore: number;
  readonly calls: number;
  readonly recordedAfter: number;
}

const { dir } = probeOptions<{ readonly dir: string }>();
let calls = 0;
let firstCallMs = Number.NaN;
const called = (): void => {
  if (calls++ === 0) firstCallMs = performance.now();
};
const workspace = await openWorkspace({
  cwd: dir,
  dir,
  env: { ...process.env, CALLSHEET_SANDBOX_URL: 'http://127.0.0.1:1' },
  tools: [functionTool(called), httpTool({})],
});
const run = await existingRun(workspace, 'last');
const started = performance.now();
const { outcome } = await workspace.engine.start(run.id);
const ended = await outcome;
if (ended.kind !== 'completed') throw new Error(`The run ended ${JSON.stringify(ended)}`);
const { completed } = await workspace.store.report.hitRate('bench.function');
await workspace.close();
tell({
  firstCallMs,
  firstCallOfAttemptMs: firstCallMs - started,
  recordedBefore: completed - calls,
  calls,
  recordedAfter: completed,
} satisfies ResumeResult);
