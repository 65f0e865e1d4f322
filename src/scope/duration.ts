const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of a duration such as 90, '90s', '1.5h' or '3d'; undefined where it is none. */
export function durationMs(duration: string | number): number | undefined {
  if (typeof duration === 'number') return Number.isFinite(duration) && duration >= 0 ? duration : undefined;
  const match = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\s*$/.exec(duration);
  if (match === null) return undefined;
  return Number(match[1]) * (UNITS[match[2] ?? ''] ?? 0);
}
