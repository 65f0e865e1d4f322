import { failedRows, resumeCommands, statusIn } from '../../report/index.ts';
import { CallsheetError, type JsonValue } from '../../sdk/index.ts';
import { existingRun, reportSource, resolveOperation } from '../../workspace/index.ts';
import type { Invocation } from '../invocation.ts';
import { withRecords, withWorkspace } from '../with-workspace.ts';

export interface ResolveFlags {
  readonly as: 'done' | 'not-done';
  /** JSON. */
  readonly data?: string;
}

/** `runs resolve`: somebody says what became of a write in doubt. */
export async function runsResolve(call: Invocation<ResolveFlags>): Promise<number> {
  const { terminal, args, flags } = call;
  const data = givenData(flags);
  // What a tool's output must look like is only known with the tools.
  const open = data === undefined || data === null ? withRecords : withWorkspace;
  return open(call, async (workspace) => {
    const run = await existingRun(workspace, args[0] ?? '');
    const as = flags.as === 'done' ? 'done' : 'notDone';
    const doubt = await resolveOperation(workspace, run, { call: args[1] ?? '', as, data });
    const source = reportSource(workspace);
    const next = resumeCommands(run, statusIn(source, run), await failedRows(source, run));
    if (terminal.json) {
      const { call: id, tool, label, dataset, row } = doubt;
      await terminal.document({ resolved: { run: run.id, call: id, as: flags.as, tool, label, dataset, row }, next });
      return 0;
    }
    const goesOn = as === 'done' ? 'counts as done and is not sent again' : 'is sent again';
    const when = next.some((step) => step.includes(' runs rerun ')) ? 'is done again' : 'goes on';
    terminal.note(`Call '${doubt.label}' of ${doubt.tool} ${goesOn} when the run ${when}.`);
    for (const step of next) terminal.note(`  → ${step}`);
    return 0;
  });
}

function givenData({ as, data }: ResolveFlags): JsonValue | undefined {
  if (data === undefined) return undefined;
  const refuse = (problem: string): never => {
    throw new CallsheetError('USAGE', `--data ${problem}.`, { next: ['callsheet runs resolve --help'] });
  };
  if (as !== 'done') return refuse('says what was answered, so it goes with --as done only');
  try {
    return JSON.parse(data) as JsonValue;
  } catch (error) {
    return refuse(`is not JSON: ${(error as Error).message}`);
  }
}
