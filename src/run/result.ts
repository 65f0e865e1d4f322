import { describeHandle, isDatasetHandle } from '../dataset/index.ts';
import type { JsonValue } from '../sdk/index.ts';
import { asJson, notJson } from './json-result.ts';

/** What a play returned, as JSON in which datasets are `{ dataset: key }`. Throws RESULT_NOT_JSON with the path. */
export function asResult(returned: unknown): JsonValue {
  return asJson(withHandles(returned, '$', 0), 'The result of the play');
}

function withHandles(value: unknown, path: string, depth: number): unknown {
  if (isDatasetHandle(value)) return describeHandle(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > 100) throw notJson('The result of the play', path, 'a cycle, or nested deeper than 100 levels');
  if (Array.isArray(value)) return value.map((item, index) => withHandles(item, `${path}[${index}]`, depth + 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, withHandles(item, `${path}.${key}`, depth + 1)]),
  );
}
