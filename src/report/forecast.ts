import type { PilotCall, PilotRow } from './pilot.ts';

/** Where a row of a plan stands. */
export interface Standing {
  readonly path: string;
  /** The tool that it calls there, or what else a plan does not do. */
  readonly at: string;
  readonly isShared: boolean;
}

/** What rows that stand at a place did in the pilot, at one leg with one tool. */
export interface Later {
  /** Calls a row, the first one at the place itself among them. */
  readonly callsPerRow: number;
  /** For each of these calls, in order, whether nobody had asked the same before. */
  readonly fresh: readonly boolean[];
}

/** How far from what a pool shows on average a sample of it may lie. */
const SIGMAS = 2;
const FEW = 20;

/** The rows of a pilot that did what these do: those whose answer somebody else bought apart, where there were any. */
export function rowsLike(rows: readonly PilotRow[], { path, at, isShared }: Standing): readonly PilotRow[] {
  const here = rows.filter(
    ({ calls, stops }) =>
      calls.some((call) => call.path === path && call.tool === at) ||
      stops.some((stop) => stop.path === path && stop.at === at),
  );
  const same = here.filter(({ calls }) => {
    const call = calls.find((one) => one.path === path && one.tool === at);
    return call === undefined || call.isNew !== isShared;
  });
  return same.length > 0 ? same : here;
}

/** What these rows did at calls that `isThere` names. */
export function laterOf(rows: readonly PilotRow[], isThere: (call: PilotCall) => boolean): Later {
  const calls = rows.flatMap((row) => row.calls.filter(isThere));
  return { callsPerRow: rows.length === 0 ? 0 : calls.length / rows.length, fresh: calls.map(({ isNew }) => isNew) };
}

/** The most calls that one row made there. */
export function mostOf(rows: readonly PilotRow[], isThere: (call: PilotCall) => boolean): number {
  return rows.reduce((most, { calls }) => Math.max(most, calls.filter(isThere).length), 0);
}

/**
 * How many of `calls` further ones ask what nobody has asked before. Where questions repeat, it goes on as it went: from a
 * limited pool (companies of people) new ones grow rare; where they repeat among neighbours only, they come as often as before.
 *
 * @param keeps whether the answers that the pilot bought still serve
 */
export function freshAmong(calls: number, fresh: readonly boolean[], keeps: boolean): number {
  const asked = fresh.length;
  const distinct = fresh.filter(Boolean).length;
  if (asked === 0 || distinct === asked) return calls;
  const evenly = (calls * distinct) / asked;
  if (asked < FEW || distinct === 0) return evenly;
  const pool = poolOf(asked, distinct);
  const drawn = (draws: number): number => pool * (1 - Math.exp(-draws / pool));
  const inPool = keeps ? drawn(asked + calls) - drawn(asked) : drawn(calls);
  const half = Math.floor(asked / 2);
  const seen = fresh.slice(0, half).filter(Boolean).length;
  const ifEven = (distinct * half) / asked;
  // Of a pool as many by chance that it may well be one: else the few calls of a pilot make half of its pool look endless.
  const within = drawn(half) - SIGMAS * spreadOf(half, pool);
  const ifPool = within > ifEven ? within : drawn(half);
  const share = ifPool - ifEven < 1e-9 ? 0 : Math.min(1, Math.max(0, (seen - ifEven) / (ifPool - ifEven)));
  return share * inPool + (1 - share) * evenly;
}

/** Standard deviation of how many different ones so many draws of a pool show. */
function spreadOf(draws: number, pool: number): number {
  const each = draws / pool;
  return Math.sqrt(Math.max(0, pool * (Math.exp(-each) - (1 + each) * Math.exp(-2 * each))));
}

/** Size of the pool of which so many draws show so many different ones. */
function poolOf(draws: number, distinct: number): number {
  let [low, high] = [distinct, draws * draws];
  for (let turn = 0; turn < 60; turn++) {
    const pool = (low + high) / 2;
    if (pool * (1 - Math.exp(-draws / pool)) < distinct) low = pool;
    else high = pool;
  }
  return (low + high) / 2;
}

/** Mean credits of the calls that went out, failed ones among them; undefined where none did. */
export function priceOf(calls: readonly PilotCall[]): number | undefined {
  const live = calls.filter(({ isLive }) => isLive);
  return live.length === 0 ? undefined : live.reduce((sum, { credits }) => sum + credits, 0) / live.length;
}

/** True where calls were made and none was answered: that tells neither what an answer costs nor how rows go on. */
export function areAllFailed(calls: readonly PilotCall[]): boolean {
  return calls.length > 0 && calls.every(({ outcome }) => outcome === 'failed');
}

/** Share of a result among the answers; undefined where there are none. */
export function hitShare(calls: readonly PilotCall[]): number | undefined {
  const answers = calls.filter(({ outcome }) => outcome !== 'failed');
  if (answers.length === 0) return undefined;
  return answers.filter(({ outcome }) => outcome === 'completed').length / answers.length;
}
