import { roundedCredits } from '../scope/index.ts';

/** Calls of one attempt by tool, as they ended. */
export interface ToolCounts {
  live: number;
  receipt: number;
  coalesced: number;
  sourceRun: number;
  journal: number;
  unsent: number;
  hits: number;
  noResult: number;
  failed: number;
  credits: number;
}

export interface EndedCall {
  readonly tool: string;
  readonly outcome: string;
  readonly source: string;
  readonly credits: number;
  readonly replayed: boolean;
  readonly datasetNo: number;
  /** Column and steps. */
  readonly path: string;
}

/** Credits of earlier attempts at one place. */
export type PlaceCredits = Pick<EndedCall, 'datasetNo' | 'path' | 'credits'>;

/**
 * Counts the calls of one attempt, and adds up what all attempts have paid at each place. Invariant: counted when a call has
 * ended, never when it is planned.
 */
export class CallCounters {
  readonly #byTool = new Map<string, ToolCounts>();
  readonly #creditsAt = new Map<string, number>();
  #last = { datasetNo: -1, path: '', place: '' };

  add(call: EndedCall): void {
    const counts = this.#of(call.tool);
    if (call.replayed) counts.journal++;
    else if (call.source === 'live') counts.live++;
    else if (call.source === 'receipt') counts.receipt++;
    else if (call.source === 'coalesced') counts.coalesced++;
    else if (call.source === 'source_run') counts.sourceRun++;
    else if (call.source === 'unsent') counts.unsent++;
    if (call.outcome === 'completed') counts.hits++;
    else if (call.outcome === 'no_result') counts.noResult++;
    else counts.failed++;
    if (call.replayed) return;
    counts.credits = roundedCredits(counts.credits + call.credits);
    this.#paid(call);
  }

  /** What earlier attempts have paid. */
  paidBefore(places: readonly PlaceCredits[]): void {
    for (const place of places) this.#paid(place);
  }

  /** Credits paid at a place and below it, by all attempts. */
  creditsAt(datasetNo: number, path: string): number {
    const at = `${datasetNo}|${path}`;
    let sum = 0;
    for (const [place, credits] of this.#creditsAt) if (place === at || place.startsWith(`${at}.`)) sum += credits;
    return roundedCredits(sum);
  }

  #paid({ datasetNo, path, credits }: PlaceCredits): void {
    if (credits === 0) return;
    // Most calls come from the same place as the one before.
    if (this.#last.datasetNo !== datasetNo || this.#last.path !== path)
      this.#last = { datasetNo, path, place: `${datasetNo}|${path}` };
    const { place } = this.#last;
    this.#creditsAt.set(place, (this.#creditsAt.get(place) ?? 0) + credits);
  }

  snapshot(): ReadonlyMap<string, Readonly<ToolCounts>> {
    return this.#byTool;
  }

  #of(tool: string): ToolCounts {
    let counts = this.#byTool.get(tool);
    if (counts === undefined) {
      counts = {
        live: 0,
        receipt: 0,
        coalesced: 0,
        sourceRun: 0,
        journal: 0,
        unsent: 0,
        hits: 0,
        noResult: 0,
        failed: 0,
        credits: 0,
      };
      this.#byTool.set(tool, counts);
    }
    return counts;
  }
}
