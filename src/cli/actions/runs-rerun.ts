import { resolve } from 'node:path';
import { assertOutputPath, inputPathsOf } from '../../report/index.ts';
import { CallsheetError } from '../../sdk/index.ts';
import {
  modeRefusal,
  newRerun,
  type PreparedRerun,
  prepareRerun,
  type RunRecord,
  reportSource,
  type Workspace,
} from '../../workspace/index.ts';
import { askBeforeSpending, confirmAbove, saysYes } from '../confirm.ts';
import type { Invocation } from '../invocation.ts';
import { counted, shownNumber } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import { withRun } from '../with-run.ts';
import { type OutputFlags, workOn } from '../work-on.ts';

export interface RerunFlags extends OutputFlags {
  readonly failed?: boolean;
  readonly empty?: string;
  readonly rows?: readonly string[];
  readonly column?: string;
  readonly refresh?: 'all' | readonly string[];
  readonly code?: string;
  readonly resend?: boolean;
  readonly maxCredits?: number;
  readonly concurrency?: number;
  readonly fixtures?: string;
  readonly yes?: boolean;
  readonly progress: boolean;
}

/** `runs rerun`: a new run that begins with what another has, watched until it ends. */
export async function runsRerun(call: Invocation<RerunFlags>): Promise<number> {
  const { terminal, flags } = call;
  const { output, progress } = flags;
  const { cwd } = terminal;
  const work = async (workspace: Workspace, source: RunRecord): Promise<number> => {
    const refusal = modeRefusal(source, workspace.mode, 'rerun');
    if (refusal !== undefined) throw refusal;
    if (output !== undefined)
      await assertOutputPath(resolve(cwd, output), await inputPathsOf(reportSource(workspace), source));
    const prepared = await prepareRerun(workspace, source, { ...flags, cwd });
    for (const { dataset, again, total } of prepared.rows)
      terminal.note(`${dataset}: ${again} of ${counted(total, 'row')} again`);
    for (const line of startedLines(prepared)) terminal.note(line);
    await confirmed(terminal, workspace, { prepared, flags });
    const run = await newRerun(workspace, prepared);
    return workOn(terminal, workspace, { run, output: flags, progress });
  };
  return withRun(call, work, { fixtures: flags.fixtures });
}

/** What nobody who chooses rows may have in mind: a run that is started again does all of its own. */
function startedLines({ started, order, other }: PreparedRerun): string[] {
  const { runs, anew, mostCredits } = started;
  const isRefreshed = (order.refresh ?? []).length > 0;
  const mayStart = isRefreshed && other !== undefined;
  const lines = mayStart
    ? ['Runs that the code of now starts, if any, do all their rows, with the same --refresh.']
    : [];
  if (runs.length === 0) return lines;
  const plays = [...new Set(runs.map(({ play }) => play))].join(', ');
  const again = `${plays}: ${counted(runs.length, 'run')} that the play or these rows have started, started again with all rows`;
  const how =
    anew.length === 0
      ? 'answered by what is there'
      : `${anew.length === runs.length ? '' : `${shownNumber(anew.length)} of them `}asked anew by --refresh, for up to ${counted(mostCredits, 'credit')}`;
  return [`${again}, ${how}`, ...lines];
}

/** Asks before writes are made a second time, and before money is spent. Throws CONFIRMATION_NEEDED where nobody says yes. */
async function confirmed(
  terminal: Terminal,
  workspace: Workspace,
  { prepared, flags }: { readonly prepared: PreparedRerun; readonly flags: RerunFlags },
): Promise<void> {
  if (flags.yes === true) return;
  const { writes, mostCredits, started } = prepared;
  if (writes.length > 0) await askBeforeWriting(terminal, prepared);
  if (flags.maxCredits === undefined)
    await askBeforeSpending(terminal, {
      most: async () => mostCredits,
      ofThese: startedCost(started),
      confirmAbove: confirmAbove(workspace.config),
    });
}

function startedCost({ runs, mostCredits }: PreparedRerun['started']): string | undefined {
  return mostCredits === 0
    ? undefined
    : `${shownNumber(mostCredits)} of them by ${counted(runs.length, 'run')} that ${runs.length === 1 ? 'is' : 'are'} started again`;
}

async function askBeforeWriting(terminal: Terminal, { writes, started }: PreparedRerun): Promise<void> {
  const whose = started.anew.length === 0 ? 'for these rows' : 'for these rows and by the runs that are started again';
  const what = `--refresh names ${writes.join(', ')}, which may write: what was sent ${whose} is sent again`;
  if (terminal.interactive && !terminal.json && (await saysYes(`${what}. Go on? [y/N] `))) return;
  throw new CallsheetError('CONFIRMATION_NEEDED', `${what}, and nobody confirmed it.`, {
    details: { tools: writes },
    next: ['Add --yes to send them again.', 'Or leave the tool out of --refresh.'],
  });
}
