import { type Digest, digest, type Scope } from '../scope/index.ts';
import type { AttemptContext } from './attempt-context.ts';
import { boundaryIdentity } from './boundary.ts';

/** `ctx.now`: an instant that is recorded before anybody sees it. */
export async function recordedNow(context: AttemptContext, scope: Scope, label: string): Promise<Date> {
  context.ending.assertGoing();
  const { key, inputDigest } = boundaryIdentity(scope, { kind: 'now', label, input: null });
  const recorded = context.boundaries.find(scope, key);
  if (recorded !== undefined) return new Date(JSON.parse(recorded.value) as number);
  const at = context.deps.clock.now();
  await context.boundaries.record(scope, {
    key,
    kind: 'now',
    label,
    path: scope.path,
    inputDigest,
    state: 'resolved',
    value: String(at),
    at,
  });
  return new Date(at);
}

/** `ctx.random`: derived from the run's seed, the scope and the key or a counter; needs no record. In [0, 1). */
export function derivedRandom(scope: Scope, key: string | undefined): number {
  return bytesOf(chanceOf(scope, 'random', key)).readUIntBE(0, 6) / 2 ** 48;
}

/** `ctx.uuid`: an RFC 9562 version 8 UUID (custom), derived in the same way. */
export function derivedUuid(scope: Scope, key: string | undefined): string {
  const bytes = bytesOf(chanceOf(scope, 'uuid', key)).subarray(0, 16);
  bytes[6] = 0x80 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

function chanceOf(scope: Scope, kind: 'random' | 'uuid', key: string | undefined): Digest {
  const which = key === undefined ? scope.occurrence(`"${kind}"`) : key;
  return digest(`${JSON.stringify(scope.seed)}${scope.identity(kind, JSON.stringify(which))}`);
}

function bytesOf(of: Digest): Buffer {
  return Buffer.from(of, 'base64url');
}
