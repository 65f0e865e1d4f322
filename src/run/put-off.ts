import type { PutOffCall } from '../call/index.ts';
import type { NewWait } from '../store/index.ts';
import type { AttemptContext } from './attempt-context.ts';

type Parts = Pick<AttemptContext, 'deps' | 'waits' | 'suspension' | 'parked'>;

/**
 * A call of a row whose provider takes none before `until`: the row waits for that instant, and begins anew then.
 * Resolves once that is durable. While an earlier such wait of the call is open, that one stands.
 */
export async function putOffCall(
  { deps, waits, suspension, parked }: Parts,
  { scope, callId, tool, inputDigest }: PutOffCall,
  until: number,
): Promise<void> {
  const { clock } = deps;
  const armedAt = clock.now();
  const wait: Omit<NewWait, 'key'> = {
    ...{ kind: 'provider', label: tool.id, path: scope.path, inputDigest, event: null, rowKey: scope.rowName },
    ...{ deadline: Math.ceil(until), policy: 'null', armedAt },
  };
  for (let no = 0; ; no++) {
    const key = scope.identity('provider', `"${callId}",${no}`);
    const stands = await waits.arm(scope, { ...wait, key });
    if (stands.state !== 'open') continue;
    parked.hold(scope.place);
    suspension.blocked(scope, waits.mayGoOn(scope.place, key, clock.now()));
    return;
  }
}
