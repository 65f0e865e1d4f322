import type { JsonValue } from '../sdk/index.ts';

/** Freezes JSON all the way down, in place. */
export function deepFrozen(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value;
  for (const item of Object.values(value)) deepFrozen(item);
  return Object.freeze(value);
}
