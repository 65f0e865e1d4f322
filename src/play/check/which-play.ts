import { isCallOf } from './ctx-calls.ts';
import { exportedValue, followed, type Sources } from './names.ts';
import type { Counts } from './plan.ts';
import { lineOf, type SourceText, type Syntax, within } from './syntax.ts';

export interface PlayText {
  /** True for what the play runs: its own function, those of plays that it names, and all code outside plays. */
  readonly counts: Counts;
  /** The line of its `definePlay`; null where it cannot be told. */
  readonly line: number | null;
  /** Whether other plays are part of it. */
  readonly hasChildren: boolean;
}

/** Which of the text belongs to one play, where files hold several. */
export function playText(sources: Sources, entry: SourceText | undefined, exportName: string): PlayText {
  const exported = entry && exportedValue(entry, exportName);
  const chosen = exported && followed(sources, exported);
  if (chosen === undefined || !isCallOf(chosen.node, 'definePlay'))
    return { counts: () => true, line: null, hasChildren: false };
  const plays = new Set<Syntax>();
  for (const source of sources.values())
    for (const node of source.nodes) if (isCallOf(node, 'definePlay')) plays.add(node);
  const taken = new Set<Syntax>();
  const waiting = [chosen];
  for (let play = waiting.pop(); play !== undefined; play = waiting.pop()) {
    if (taken.has(play.node)) continue;
    taken.add(play.node);
    for (const node of within(play.source, play.node)) {
      if (node.type !== 'Identifier') continue;
      const named = followed(sources, { source: play.source, node });
      if (plays.has(named.node)) waiting.push(named);
    }
  }
  const left = [...plays].filter((node) => !taken.has(node));
  const counts: Counts = (source, node) =>
    !left.some((play) => play.start <= node.start && node.end <= play.end && isFrom(source, play));
  return { counts, line: lineOf(chosen.source, chosen.node), hasChildren: taken.size > 1 };
}

function isFrom(source: SourceText, node: Syntax): boolean {
  return source.parents.has(node);
}
