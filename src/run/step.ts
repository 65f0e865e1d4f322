import { digest, IDENTITY_FORMAT, type Scope } from '../scope/index.ts';
import { CallsheetError, type JsonValue, type StepOptionsForCtx } from '../sdk/index.ts';
import type { AttemptContext } from './attempt-context.ts';
import { boundaryIdentity } from './boundary.ts';
import { asJson } from './json-result.ts';
import { keepAnswer, keptAnswer } from './kept.ts';

/** `ctx.step`: runs `fn` once and keeps its JSON result, for this run or, as a receipt, for later ones too. */
export async function runStep(
  context: AttemptContext,
  scope: Scope,
  step: { readonly id: string; readonly fn: () => unknown; readonly options: StepOptionsForCtx },
): Promise<JsonValue> {
  const { id, fn, options } = step;
  if (typeof id !== 'string' || id.trim() === '' || typeof fn !== 'function')
    throw new CallsheetError('CALL_REQUEST_INVALID', 'ctx.step takes a label that is not empty and a function.', {
      next: ["Write await ctx.step('label', async () => …)."],
    });
  context.ending.assertGoing();
  const { key, inputDigest } = boundaryIdentity(scope, { kind: 'step', label: id, input: options.semanticKey ?? null });
  const recorded = context.boundaries.find(scope, key);
  if (recorded !== undefined) return JSON.parse(recorded.value) as JsonValue;
  const shared = options.semanticKey !== undefined || options.staleAfterSeconds !== undefined;
  const place = options.semanticKey === undefined ? scope.prefix : JSON.stringify(options.semanticKey);
  const receiptKey = digest(
    `[${IDENTITY_FORMAT},"step",${JSON.stringify(context.run.play)},${JSON.stringify(id)},${JSON.stringify(place)}]`,
  );
  const kept = shared ? await keptAnswer(context, receiptKey, options.staleAfterSeconds) : undefined;
  if (kept === undefined) context.planning?.('step', id, scope);
  const value = kept === undefined ? asJson(await fn(), `The result of step '${id}'`) : kept;
  // What ended during an interruption is done, and kept; what a fatal error may have led to is not.
  if (context.ending.reason?.kind === 'fatal') context.ending.assertGoing();
  const text = JSON.stringify(value);
  if (shared && kept === undefined)
    await keepAnswer(context, { key: receiptKey, callId: key, tool: 'ctx.step', label: id, value });
  await context.boundaries.record(scope, {
    key,
    kind: 'step',
    label: id,
    path: scope.path,
    inputDigest,
    state: 'resolved',
    value: text,
    at: context.deps.clock.now(),
  });
  return value;
}
