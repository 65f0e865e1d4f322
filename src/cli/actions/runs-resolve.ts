import { CallsheetError, type JsonValue } from '../../sdk/index.ts';
import { existingRun, resolveOperation } from '../../workspace/index.ts';
import type { Invocation } from '../invocation.ts';
import { withWorkspace } from '../with-workspace.ts';

export interface ResolveFlags {
  readonly as: 'done' | 'not-done';
  /** JSON. */
  readonly data?: string;
}

/** `runs resolve`: somebody says what became of a write in doubt. */
export async function runsResolve(call: Invocation<ResolveFlags>): Promise<number> {
  const { terminal, args, flags } = call;
  const data = givenData(flags);
  return withWorkspace(call, async (workspace) => {
    const run = await existingRun(workspace, args[0] ?? '');
    const as = flags.as === 'done' ? 'done' : 'notDone';
    const doubt = await resolveOperation(workspace, run, { call: args[1] ?? '', as, data });
    const next = [`callsheet runs resume ${run.id} --retry-failed`];
    if (terminal.json) {
      const { call: id, tool, label, dataset, row } = doubt;
      await terminal.document({ resolved: { run: run.id, call: id, as: flags.as, tool, label, dataset, row }, next });
      return 0;
    }
    const goesOn = as === 'done' ? 'counts as done and is not sent again' : 'is sent again';
    terminal.note(`Call '${doubt.label}' of ${doubt.tool} ${goesOn} when the run goes on.`);
    for (const step of next) terminal.note(`  → ${step}`);
    return 0;
  });
}

function givenData({ as, data }: ResolveFlags): JsonValue {
  if (data === undefined) return null;
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
