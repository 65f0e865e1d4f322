import { type Armed, durationMs, type Scope, sleep } from '../scope/index.ts';
import { CallsheetError, type EventWait, type JsonValue, RunFatalError } from '../sdk/index.ts';
import type { NewWait, TimeoutPolicy, WaitRecord } from '../store/index.ts';
import type { AttemptContext } from './attempt-context.ts';
import { boundaryIdentity } from './boundary.ts';

/** A wait that is over this soon is waited out where it is (ms). */
export const IN_PLACE_MS = 2_000;

/**
 * `ctx.sleep`: a durable timer. Its identity is its place, key and occurrence, not its length: the instant that the first
 * attempt worked out stands. Throws CALL_REQUEST_INVALID where the duration is none.
 */
export async function sleepFor(
  context: AttemptContext,
  scope: Scope,
  asked: { readonly duration: unknown; readonly key: string | undefined },
): Promise<Armed<void>> {
  const ms = durationMs(asked.duration as number | string);
  if (ms === undefined)
    throw new CallsheetError(
      'CALL_REQUEST_INVALID',
      `ctx.sleep takes milliseconds or a duration such as '90s' or '3d', not ${JSON.stringify(asked.duration) ?? 'nothing'}.`,
      { next: ["Write await ctx.sleep('3d')."] },
    );
  const label = asked.key ?? '';
  const { key, inputDigest } = boundaryIdentity(scope, { kind: 'sleep', label, input: null });
  context.planning?.('sleep', label, scope);
  const now = context.deps.clock.now();
  const { path } = scope;
  const wait = { key, kind: 'sleep' as const, label, path, inputDigest, event: null, rowKey: null };
  const stands = await waitFor(context, scope, {
    wait: { ...wait, deadline: now + ms, policy: 'null', armedAt: now },
  });
  return stands === 'open' ? 'open' : { value: undefined };
}

const POLICIES: readonly string[] = ['null', 'fail', 'park'] satisfies TimeoutPolicy[];

/**
 * `ctx.waitForEvent`: the payload that a signal brings, or null once its time is over. Throws EVENT_TIMED_OUT, which ends
 * the run, where `onTimeout` is 'fail', and CALL_REQUEST_INVALID where it is asked wrongly.
 */
export async function awaitEvent(
  context: AttemptContext,
  scope: Scope,
  asked: { readonly key: string; readonly options: EventWait },
): Promise<Armed<JsonValue>> {
  const { event, timeout, onTimeout = 'null' } = checkedWait(asked);
  const { key, inputDigest } = boundaryIdentity(scope, { kind: 'event', label: asked.key, input: { event } });
  context.planning?.('event', asked.key, scope);
  const now = context.deps.clock.now();
  const stands = await waitFor(context, scope, {
    wait: {
      key,
      kind: 'event',
      label: asked.key,
      path: scope.path,
      inputDigest,
      event,
      rowKey: scope.rowName,
      deadline: timeout === undefined ? null : now + timeout,
      policy: onTimeout,
      armedAt: now,
    },
  });
  if (stands === 'open') return 'open';
  if (stands.state === 'answered') return { value: JSON.parse(stands.payload ?? 'null') as JsonValue };
  if (stands.policy === 'fail') throw timedOut(context, stands);
  return { value: null };
}

/** The run-fatal end of a wait that must not time out. */
function timedOut(context: AttemptContext, wait: WaitRecord): RunFatalError {
  const where = wait.rowKey === null ? '' : ` of row '${wait.rowKey}'`;
  const error = new RunFatalError(
    'EVENT_TIMED_OUT',
    `Nobody answered '${wait.event}'${where} by ${new Date(wait.settledAt ?? wait.deadline ?? 0).toISOString()} (ctx.waitForEvent '${wait.label}', onTimeout: 'fail').`,
    {
      details: { event: wait.event, key: wait.label, row: wait.rowKey },
      next: ["Start a new run, or choose onTimeout: 'null' or 'park' in the play."],
    },
  );
  context.ending.fatal(error);
  return error;
}

function checkedWait({ key, options }: { readonly key: string; readonly options: EventWait }): {
  readonly event: string;
  readonly timeout: number | undefined;
  readonly onTimeout: TimeoutPolicy | undefined;
} {
  const refuse = (problem: string): never => {
    throw new CallsheetError('CALL_REQUEST_INVALID', `ctx.waitForEvent '${String(key)}': ${problem}.`, {
      details: { key },
      next: ["Write await ctx.waitForEvent('label', { event: 'approved', timeout: '3d', onTimeout: 'null' })."],
    });
  };
  if (typeof key !== 'string' || key.trim() === '') return refuse('the key must be a label that is not empty');
  const { event, timeout, onTimeout } = options ?? {};
  if (typeof event !== 'string' || event.trim() === '') return refuse('`event` must be the name of an event');
  const ms = timeout === undefined ? undefined : durationMs(timeout);
  if (timeout !== undefined && ms === undefined) return refuse(`\`timeout\` ${JSON.stringify(timeout)} is no duration`);
  if (onTimeout !== undefined && !POLICIES.includes(onTimeout))
    return refuse(`\`onTimeout\` ${JSON.stringify(onTimeout)} is none of ${POLICIES.join(', ')}`);
  return { event, timeout: ms, onTimeout };
}

/**
 * A wait that is over, or 'open': then its scope is suspended. `beforeTimeout` runs, and must succeed, before a wait
 * counts as timed out.
 */
export async function waitFor(
  context: AttemptContext,
  scope: Scope,
  { wait, beforeTimeout }: { readonly wait: NewWait; readonly beforeTimeout?: () => Promise<void> },
): Promise<WaitRecord | 'open'> {
  const { ending, waits, suspension, calls } = context;
  const { clock } = context.deps;
  ending.assertGoing();
  let stands = await waits.arm(scope, wait);
  while (stands.state === 'open') {
    const left = (stands.deadline ?? Number.POSITIVE_INFINITY) - clock.now();
    if (left > IN_PLACE_MS) {
      suspension.blocked(scope, waits.mayGoOn(scope.place, wait.key, clock.now()));
      return 'open';
    }
    if (left > 0) await sleep(clock, left, calls.halt);
    else {
      await beforeTimeout?.();
      stands = await waits.expire(scope, wait.key, clock.now());
    }
  }
  waits.returned(scope.place, wait.key);
  return stands;
}
