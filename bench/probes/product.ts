/** One run of the whole product: workspace, play file, engine. */
import { join } from 'node:path';
import type { ProviderLimits } from '../../src/sdk/index.ts';
import { newRun, openWorkspace } from '../../src/workspace/index.ts';
import { type Figures, Meter, peakRssMb } from '../meter.ts';
import { probeOptions, tell } from '../probe.ts';
import { functionTool, httpTool } from '../subject.ts';

export interface ProductOptions {
  readonly dir: string;
  readonly concurrency?: number;
  /** Dies by SIGKILL when this many calls were made. */
  readonly killAfter?: number;
  readonly limits?: ProviderLimits;
  readonly sandboxUrl?: string;
  /** Export to CSV as well. */
  readonly exportTo?: string;
}

export interface ProductResult extends Figures {
  readonly calls: number;
  readonly peakRssMb: number;
}

const { dir, concurrency = 64, killAfter, limits, sandboxUrl, exportTo } = probeOptions<ProductOptions>();
let calls = 0;
const called = (): void => {
  calls++;
  if (calls === killAfter) process.kill(process.pid, 'SIGKILL');
};
const workspace = await openWorkspace({
  cwd: dir,
  dir,
  env: { ...process.env, CALLSHEET_SANDBOX_URL: sandboxUrl ?? 'http://127.0.0.1:1' },
  tools: [functionTool(called), httpTool(limits ?? { concurrency })],
});
const input = { csv: join(dir, 'leads.csv') };
const { run } = await newRun(workspace, { play: 'bench.play.mjs', cwd: dir, input, concurrency });
const meter = new Meter();
const { outcome } = await workspace.engine.start(run.id);
const ended = await outcome;
const figures = meter.stop();
if (ended.kind !== 'completed') throw new Error(`The run ended ${JSON.stringify(ended)}`);
if (exportTo !== undefined) {
  const { reportSource } = await import('../../src/workspace/index.ts');
  const { exportDataset } = await import('../../src/report/index.ts');
  await exportDataset(reportSource(workspace), run, { path: exportTo });
}
await workspace.close();
tell({ ...figures, calls, peakRssMb: peakRssMb() } satisfies ProductResult);
