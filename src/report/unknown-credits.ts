import { type Place, roundedCredits } from '../scope/index.ts';
import { callName, type FrameRecord, type RunRecord, recordedTries } from '../store/index.ts';
import { type Doubts, doubtsOf, type UnknownCall } from './doubts.ts';
import type { ReportSource } from './reads.ts';
import { statusIn } from './run-json.ts';

/** The same, as `why` lists it. */
export interface UnknownCallJson extends Pick<UnknownCall, 'tool' | 'credits' | 'why'> {
  readonly call: string;
  /** Null outside rows. */
  readonly dataset: string | null;
  readonly row: string | null;
}

export interface UnknownJson {
  readonly credits: number;
  /** How many calls there are. */
  readonly total: number;
  /** The first of them, in the order of their rows. */
  readonly calls: readonly UnknownCallJson[];
}

/** What a run may have spent that is not settled, each call once at the most that it may have cost. */
export async function unknownCalls(
  source: ReportSource,
  run: RunRecord,
  doubts: Doubts,
): Promise<readonly UnknownCall[]> {
  const found = new Map(doubts.unsettled.map((call) => [call.callId, call]));
  const tries = source.openTries(run.id);
  const isRunning = statusIn(source, run) === 'running';
  const recorded = await recordedTries(source.calls, run.no, isRunning ? [] : tries);
  for (const { callId, tool, place, credits, ...left } of tries) {
    const hasEnded = recorded.get(callId)?.end === 'ended';
    // What a run at work has out it settles by itself.
    const out = isRunning || hasEnded ? 0 : credits;
    const lost = hasEnded ? left.lostBefore : left.lost;
    if (out + lost === 0 || doubts.notDone.has(callId)) continue;
    const before = found.get(callId);
    const why = before?.why ?? (lost > 0 ? 'answer_lost' : 'out');
    found.set(callId, { callId, tool, place, credits: Math.max(out + lost, before?.credits ?? 0), why });
  }
  return [...found.values()];
}

export function creditsOf(calls: readonly UnknownCall[]): number {
  return roundedCredits(calls.reduce((sum, { credits }) => sum + credits, 0));
}

const SHOWN = 50;

/** The calls behind the unknown credits of a run. `nameOf` names a dataset. */
export async function unknownJson(
  source: ReportSource,
  run: RunRecord,
  nameOf: ReadonlyMap<FrameRecord['datasetNo'], string>,
): Promise<UnknownJson> {
  const calls = [...(await unknownCalls(source, run, await doubtsOf(source, run)))].sort(byPlace);
  return {
    credits: creditsOf(calls),
    total: calls.length,
    calls: calls.slice(0, SHOWN).map(({ callId, tool, place, credits, why }) => {
      const isRow = place !== null && place.datasetNo !== 0;
      const dataset = isRow ? (nameOf.get(place.datasetNo) ?? null) : null;
      const row = isRow ? `#${place.ordinal + 1}` : null;
      return { call: callName(callId), tool, dataset, row, credits, why };
    }),
  };
}

function byPlace(a: UnknownCall, b: UnknownCall): number {
  const [at, to] = [a.place ?? NOWHERE, b.place ?? NOWHERE];
  return at.datasetNo - to.datasetNo || at.ordinal - to.ordinal || (a.callId < b.callId ? -1 : 1);
}

const NOWHERE: Place = { datasetNo: 0, ordinal: 0 };
