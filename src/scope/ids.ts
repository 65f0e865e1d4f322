import { randomBytes } from 'node:crypto';
import type { Clock } from './clock.ts';

/** Where ids and seeds come from; injected, so that tests own chance. */
export interface Chance {
  bytes(count: number): Uint8Array;
}

export const systemChance: Chance = { bytes: (count) => randomBytes(count) };

/** A UUIDv7 (RFC 9562) behind a prefix: `run_01890a5d-ac96-774b-bcce-b302099a8057`. Sorts by time. */
export function timeId(prefix: string, clock: Clock, chance: Chance): string {
  const bytes = Uint8Array.from(chance.bytes(16));
  const at = clock.now();
  for (let index = 0; index < 6; index++) bytes[index] = Math.floor(at / 256 ** (5 - index)) % 256;
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const hex = Buffer.from(bytes).toString('hex');
  return `${prefix}_${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
