import type { JsonValue } from '../sdk/index.ts';

/**
 * What stands at a path such as `data.people[0].email` or `data.people[*].email` (a list); null where nothing does.
 * A path that starts with none of the root's names is taken below `data`.
 */
export function extractPath(root: Readonly<Record<string, JsonValue>>, path: string): JsonValue {
  const segments = segmentsOf(path);
  const first = segments[0];
  const start = typeof first === 'string' && Object.hasOwn(root, first) ? root : (root.data ?? null);
  return walk(start, segments, 0);
}

const parsedPaths = new Map<string, readonly (string | number)[]>();

function segmentsOf(path: string): readonly (string | number)[] {
  let segments = parsedPaths.get(path);
  if (segments === undefined) {
    segments = [...path.matchAll(/[^.[\]]+/g)].map(([text]) => (/^\d+$/.test(text) ? Number(text) : text));
    parsedPaths.set(path, segments);
  }
  return segments;
}

function walk(value: JsonValue, segments: readonly (string | number)[], from: number): JsonValue {
  let at = value;
  for (let index = from; index < segments.length; index++) {
    if (at === null || typeof at !== 'object') return null;
    const segment = segments[index] ?? '';
    if (segment === '*') {
      if (!Array.isArray(at)) return null;
      return at.map((item: JsonValue) => walk(item, segments, index + 1));
    }
    const next: unknown = Object.hasOwn(at, segment) ? (at as Record<string | number, JsonValue>)[segment] : undefined;
    if (next === undefined) return null;
    at = next as JsonValue;
  }
  return at;
}
