import type { Digest } from '../scope/index.ts';
import type { JsonValue } from '../sdk/index.ts';
import type { AttemptContext } from './attempt-context.ts';

/** What an earlier run kept under this key, if it is young enough at this run's start; undefined where there is none. */
export async function keptAnswer(
  context: AttemptContext,
  key: Digest,
  staleAfterSeconds: number | undefined,
): Promise<JsonValue | undefined> {
  const { startedAt } = context.calls;
  if (staleAfterSeconds === 0 || context.options.refresh === 'all') return undefined;
  const notBefore = staleAfterSeconds === undefined ? undefined : startedAt - staleAfterSeconds * 1000;
  const answer = await context.deps.calls.lookup.byKey({ key, notBefore });
  if (answer === undefined) return undefined;
  return (JSON.parse(answer.rawText) as { value: JsonValue }).value;
}

/** Keeps a value as a receipt of its own, for later runs of the play. */
export async function keepAnswer(
  context: AttemptContext,
  kept: { key: Digest; callId: Digest; tool: string; label: string; value: JsonValue },
): Promise<void> {
  await context.deps.committer.commit([
    {
      kind: 'receipt',
      receipt: {
        key: kept.key,
        tool: kept.tool,
        version: '1',
        toolDigest: '',
        account: 'local',
        input: JSON.stringify(kept.label),
        raw: JSON.stringify({ kind: 'value', value: kept.value }),
        at: context.deps.clock.now(),
        durationMs: 0,
        runNo: context.run.no,
        callId: kept.callId,
        reusable: true,
      },
    },
  ]);
}
