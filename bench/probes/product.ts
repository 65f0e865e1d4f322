/** One run of the whole product in a process of its own: prints its figures as JSON. */
import { join } from 'node:path';
import { newRun, openWorkspace } from '../../src/workspace/index.ts';
import { Meter } from '../meter.ts';
import { benchTool } from '../subject.ts';

const [dir = '', concurrency = '64'] = process.argv.slice(2);
let calls = 0;
const tool = benchTool(() => {
  calls++;
});
const workspace = await openWorkspace({ cwd: dir, dir, env: process.env, tools: [tool] });
const { run } = await newRun(workspace, {
  play: 'bench.play.mjs',
  cwd: dir,
  input: { csv: join(dir, 'leads.csv') },
  concurrency: Number(concurrency),
});
const meter = new Meter();
const inProgress = await workspace.engine.start(run.id);
const outcome = await inProgress.outcome;
const figures = meter.stop();
await workspace.close();
if (outcome.kind !== 'completed') throw new Error(`The run ended ${JSON.stringify(outcome)}`);
process.stdout.write(`${JSON.stringify({ ...figures, calls, runId: run.id })}\n`);
