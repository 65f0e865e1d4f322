import type { Answer } from './answer.ts';
import { type Reading, readingUnlessFailed } from './contract.ts';
import type { CallRun } from './env.ts';
import { type Question, receiptKeysIn } from './question.ts';
import type { SourceRuns } from './source-run.ts';

/** What the source of a rerun says of a call: its answer there, that there is none, or one that does not serve here. */
export type Pointed = { readonly answer: Answer; readonly reading?: Reading } | 'none' | 'unfit';

/**
 * The very answer that this call had in the source run, whatever its age, and though a newer one exists; but only one that
 * the tool of today could have found by its key: of its account, mode and base URL, and of a version that serves.
 */
export async function pointedAnswer(run: CallRun, question: Question, source: SourceRuns): Promise<Pointed> {
  const receiptId = source.receiptOf(question.scope.place, question.callId, question.tool.id);
  const answer = receiptId === undefined ? undefined : await run.process.lookup.byId(receiptId);
  if (answer === undefined) return 'none';
  const isKey = (runId: string): boolean => receiptKeysIn(run, question, runId).includes(answer.receiptKey);
  if (![run.runId, ...source.runIds].some(isKey)) {
    await tellUnfit(run, question, answer.receiptId);
    return 'unfit';
  }
  if (question.tool.isFunction && answer.part === undefined) return { answer };
  const reading = readingUnlessFailed(question, answer);
  return reading === undefined || reading.status === 'pending' ? 'none' : { answer, reading };
}

/** Says once a tool why its answers of the source run do not serve. */
async function tellUnfit(run: CallRun, { tool }: Question, receiptId: number): Promise<void> {
  if (!run.journal.firstSight(`source ${tool.id}`)) return;
  const [receipt] = await run.process.reads.receiptsByIds([receiptId]);
  const { version = null, account = null } = receipt ?? {};
  const versions = tool.versions.map((one) => `'${one}'`).join(', ');
  const why =
    version !== null && !tool.versions.includes(version)
      ? `version '${version}' of it, and it takes answers of ${versions} now`
      : `the account ${account ?? '(unknown)'} by other settings than those of ${tool.account.key} now`;
  run.event({
    type: 'source.refused',
    level: 'warn',
    message: `Answers of ${tool.id} in the source run are not used: they are of ${why}.`,
    data: JSON.stringify({ tool: tool.id, version, account }),
  });
}
