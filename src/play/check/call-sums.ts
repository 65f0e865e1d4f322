/** The most calls that code makes, as far as its text tells. */
export interface ShownCalls {
  /** By tool; Infinity where a loop makes them. */
  readonly tools: ReadonlyMap<string, number>;
  /** Calls of tools whose ids are computed; Infinity where a loop makes them. */
  readonly computed: number;
  /** What makes counts endless. */
  readonly repeats: readonly Repeat[];
  /** Code that may call tools and that the text does not show, for people. */
  readonly hidden: readonly string[];
}

/** A loop, or whatever else calls as often as it likes. */
export interface Repeat {
  /** Null for tools whose ids are computed. */
  readonly tool: string | null;
  /** What it is and where, for people: `the loop at find.play.ts:12`. */
  readonly why: string;
}

export const NO_CALLS: ShownCalls = { tools: new Map(), computed: 0, repeats: [], hidden: [] };

export function hiddenCalls(why: string): ShownCalls {
  return { ...NO_CALLS, hidden: [why] };
}

/** One after the other. */
export function allOf(parts: readonly ShownCalls[]): ShownCalls {
  return parts.reduce((a, b) => joined(a, b, (one, other) => one + other), NO_CALLS);
}

/** One of them, whichever calls more. */
export function oneOf(parts: readonly ShownCalls[]): ShownCalls {
  return parts.reduce((a, b) => joined(a, b, Math.max), NO_CALLS);
}

/** As often as a loop likes. What is endless already stays so for its own reason: the innermost is the nearest to mend. */
export function repeated(calls: ShownCalls, why: string): ShownCalls {
  const many = (count: number): number => (count === 0 ? 0 : Number.POSITIVE_INFINITY);
  const tools = new Map([...calls.tools].map(([tool, count]) => [tool, many(count)]));
  const counts = [...calls.tools, [null, calls.computed] as const];
  const fresh = counts.filter(([, count]) => count > 0 && Number.isFinite(count)).map(([tool]) => ({ tool, why }));
  return { tools, computed: many(calls.computed), repeats: [...calls.repeats, ...fresh], hidden: calls.hidden };
}

export function isNone({ tools, computed, hidden }: ShownCalls): boolean {
  return tools.size === 0 && computed === 0 && hidden.length === 0;
}

function joined(a: ShownCalls, b: ShownCalls, join: (one: number, other: number) => number): ShownCalls {
  const tools = new Map<string, number>();
  for (const tool of [...a.tools.keys(), ...b.tools.keys()])
    tools.set(tool, join(a.tools.get(tool) ?? 0, b.tools.get(tool) ?? 0));
  const isKnown = ({ tool, why }: Repeat): boolean => a.repeats.some((one) => one.tool === tool && one.why === why);
  return {
    tools,
    computed: join(a.computed, b.computed),
    repeats: [...a.repeats, ...b.repeats.filter((one) => !isKnown(one))],
    hidden: [...new Set([...a.hidden, ...b.hidden])],
  };
}
