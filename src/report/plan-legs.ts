import type { PlanCounts, RowsCut } from '../run/index.ts';
import type { CatalogueTool } from '../tool/index.ts';
import { areAllFailed, freshAmong, hitShare, laterOf, mostOf, priceOf, rowsLike } from './forecast.ts';
import { LegBounds, type Slot, type TextFacts } from './leg-bounds.ts';
import type { Pilot, PilotCall, PilotDataset, PilotRow } from './pilot.ts';

/** What earlier runs, and the play's text, tell about a play and its tools. */
export interface Experience extends TextFacts {
  readonly pilot: Pilot | undefined;
  tool(id: string): CatalogueTool | undefined;
  /** Share of a tool's answers that were a result, 0 to 1; undefined where it has never been asked. */
  hitRate(tool: string): number | undefined;
  /** Mean credits of a call that went out; undefined where none of them was answered. */
  meanCredits(tool: string): number | undefined;
  hasFailed(tool: string): boolean;
  /** Datasets that the play's text shows; the key is null where it is computed. */
  readonly datasets: readonly { readonly key: string | null; readonly mayCost: boolean }[];
  /** Answers of the tool that are stored do not serve in this run. */
  isRefreshed(tool: string): boolean;
}

export interface PlanFacts {
  readonly play: string;
  readonly counts: PlanCounts;
  readonly experience: Experience;
  /** Rows planned and rows there are; the same where no sample was taken. */
  readonly sample: { readonly rows: number; readonly of: number };
  readonly maxCredits: number | null;
}

/** Credits, or calls. */
export interface Spread {
  readonly least: number;
  readonly expected: number;
  readonly most: number;
}

export interface LegEstimate {
  readonly column: string;
  readonly leg: string;
  readonly tool: string | null;
  readonly receipt: number;
  readonly skipped: number;
  /** Calls that are new in the least, expected and worst case. */
  readonly calls: Spread;
  readonly credits: Spread;
}

interface Entry {
  readonly slot: number;
  readonly tool: string;
  fresh: number;
  receipt: number;
  later: number;
  laterMost: number;
}

type PlannedDataset = PlanCounts['datasets'][number];

const FEW_PRICES = 5;

/**
 * The legs of one dataset: what a plan counted, and what earlier runs tell of the rows that it could not follow.
 *
 * Rows that stand at a call without an answer go on as those rows of the pilot did which came to the same call; where no
 * pilot tells, as often as the tools before have missed, with one call of each tool a leg. Calls that all failed tell nothing:
 * rows that ended with one go on from there as if no pilot had come to it.
 */
export class LegForecast {
  readonly dataset: PlannedDataset;
  readonly #experience: Experience;
  readonly #pilot: PilotDataset | undefined;
  readonly #slots: readonly Slot[];
  readonly #entries = new Map<string, Entry>();
  readonly #skipped: number[];
  readonly #slotOfPath = new Map<string, number>();
  /** Something that a plan does not do stands before rows, and no pilot tells how they go on. */
  isBlind = false;
  /** Rows go on by nothing but their tools' hit rates. */
  isGuessed = false;
  readonly #bounds: LegBounds;

  constructor(dataset: PlannedDataset, counts: PlanCounts, experience: Experience) {
    this.dataset = dataset;
    this.#experience = experience;
    this.#pilot = experience.pilot?.datasets.find(({ key }) => key === dataset.key);
    this.#slots = slotsOf(dataset.columns);
    this.#bounds = new LegBounds(dataset.key, this.#slots, experience);
    this.#skipped = this.#slots.map(({ leg }) => dataset.legs.find(({ path }) => path === leg)?.skipped ?? 0);
    const isHere = ({ datasetNo }: { readonly datasetNo: number }): boolean => datasetNo === dataset.datasetNo;
    for (const { path, tool, fresh, shared } of counts.fresh.filter(isHere)) {
      const entry = this.#entry(this.#slotOf(path), tool);
      entry.fresh += fresh;
      entry.receipt += shared;
    }
    for (const { path, tool, calls } of counts.answered.filter(isHere))
      this.#entry(this.#slotOf(path), tool).receipt += calls;
    for (const cut of counts.cut.filter(isHere)) {
      this.#bound(cut);
      this.#goOn(cut);
    }
  }

  /** Legs in order, with what is new in them; `beyond` are rows that were not planned, which are like those that were. */
  legs(scale: number, beyond: number): LegEstimate[] {
    if (beyond > 0) {
      this.#bounds.reach(0, 0);
      for (const { slot, tool } of this.#bounds.from(0)) this.#entry(slot, tool);
    }
    return this.#slots.flatMap((slot, index) => {
      const entries = [...this.#entries.values()].filter((entry) => entry.slot === index);
      const skipped = (this.#skipped[index] ?? 0) * scale;
      if (entries.length > 0) return entries.map((entry) => this.#estimate(entry, { scale, beyond, skipped }));
      const isShown = this.dataset.columns.some(({ legs }) => legs.includes(slot.leg));
      return isShown ? [{ ...slot, tool: null, receipt: 0, skipped, calls: NOTHING, credits: NOTHING }] : [];
    });
  }

  /** Legs at which rows call as often as they like, so that one may make more calls than any before. */
  get varying(): readonly string[] {
    return this.#bounds.varying;
  }

  /** Why the text does not tell every call that rows may come to, by leg. */
  get hidden(): readonly string[] {
    return this.#bounds.hidden;
  }

  /** Legs at which a tool has failed at every call of the pilot, where this run is to call it. */
  get failing(): readonly { readonly leg: string; readonly tool: string; readonly calls: number }[] {
    return [...this.#entries.values()].flatMap(({ slot, tool, fresh, later }) => {
      const made = this.#madeAt({ slot, tool });
      if (fresh + later === 0 || !areAllFailed(made)) return [];
      return [{ leg: this.#slots[slot]?.leg ?? '', tool, calls: made.length }];
    });
  }

  /**
   * The most that rows may still do which stand there: at every leg from there on, each call that the text shows, and those
   * that rows of the pilot made where they made more.
   */
  #bound(cut: RowsCut): void {
    const from = this.#slotOf(cut.path);
    const isHere = ({ path }: { readonly path: string }): boolean => this.#slotOf(path) === from;
    const made = cut.known.filter(isHere).reduce((sum, { calls }) => sum + calls, 0);
    const isDone = this.#bounds.reach(from, made / cut.rows);
    const places = [
      ...this.#places(this.#pilot?.rows ?? [], from),
      ...this.#bounds.from(from),
      ...this.#entries.values(),
    ];
    const unlike = new Map(places.map(({ slot, tool }) => [`${slot}|${tool}`, { slot, tool }]));
    for (const { slot, tool } of unlike.values()) {
      if (slot < from || (slot === from && isDone)) continue;
      const isThere = this.#at(slot, tool);
      const known = cut.known.reduce((sum, one) => sum + (isThere(one) ? one.calls : 0), 0);
      this.#entry(slot, tool).laterMost += Math.max(0, cut.rows * this.#mostPerRow(slot, tool) - known);
    }
  }

  #mostPerRow(slot: number, tool: string): number {
    return Math.max(1, this.#bounds.most(slot, tool), mostOf(this.#pilot?.rows ?? [], this.#at(slot, tool)));
  }

  #goOn(cut: RowsCut): void {
    const from = this.#slotOf(cut.path);
    const rows = this.#pilot?.rows ?? [];
    const alike = rowsLike(rows, cut);
    const isTool = this.#experience.tool(cut.at) !== undefined;
    const like = alike.length > 0 || isTool ? alike : rows.filter(({ skipped }) => !skipped.includes(cut.path));
    if (like.length === 0) {
      this.isBlind ||= !isTool;
      this.isGuessed = true;
      const isAsked = (slot: number, tool: string): boolean => cut.known.some(this.#at(slot, tool));
      this.#byRates({ ...cut, isAsked }, from);
      return;
    }
    for (const { slot, tool } of this.#places(rows, from)) this.#asBefore(cut, like, this.#entry(slot, tool));
    this.#slots.forEach(({ leg }, slot) => {
      const share = like.filter(({ skipped }) => skipped.includes(leg)).length / like.length;
      this.#skipped[slot] = (this.#skipped[slot] ?? 0) + share * cut.rows;
    });
    this.#afterFailures(cut, like, from);
  }

  /** Rows of the pilot that failed by a call which fails each time say nothing of the legs behind it. */
  #afterFailures(cut: RowsCut, like: readonly PilotRow[], from: number): void {
    const lost = new Map<string, { slot: number; tool: string; rows: number }>();
    for (const { calls, isFailed } of like) {
      const [last] = calls
        .filter(({ outcome }) => isFailed && outcome === 'failed')
        .map(({ path, tool }) => ({ slot: this.#slotOf(path), tool }))
        .sort((a, b) => b.slot - a.slot);
      if (last === undefined || last.slot < from) continue;
      const id = `${last.slot}|${last.tool}`;
      lost.set(id, { ...last, rows: (lost.get(id)?.rows ?? 0) + 1 });
    }
    const isAsked = (slot: number, tool: string): boolean => this.#madeAt({ slot, tool }).length > 0;
    for (const { slot, tool, rows } of lost.values())
      if (areAllFailed(this.#madeAt({ slot, tool })))
        this.#byRates({ rows: (cut.rows * rows) / like.length, at: tool, isAsked }, slot);
  }

  /** What rows of the pilot did there that came to the same place. */
  #asBefore(cut: RowsCut, like: readonly PilotRow[], entry: Entry): void {
    const { slot, tool } = entry;
    const isThere = this.#at(slot, tool);
    const known = cut.known.reduce((sum, one) => sum + (isThere(one) ? one.calls : 0), 0);
    const { callsPerRow, fresh } = laterOf(like, isThere);
    const calls = Math.max(0, cut.rows * callsPerRow - known);
    entry.later += this.#isAlwaysFresh(tool) ? calls : freshAmong(calls, fresh, this.#keeps(tool));
  }

  /**
   * Within a column a row comes to the next leg where the legs before it found nothing; it comes to every further column.
   *
   * @param cut `isAsked` names what the rows have asked at `from`
   */
  #byRates(
    cut: Pick<RowsCut, 'rows' | 'at'> & { readonly isAsked: (slot: number, tool: string) => boolean },
    from: number,
  ): void {
    let arriving = cut.rows;
    for (let slot = from; slot < this.#slots.length; slot++) {
      const { column } = this.#slots[slot] ?? { column: '' };
      if (slot > from && column !== this.#slots[slot - 1]?.column) arriving = cut.rows;
      const tools = new Set(this.#bounds.from(slot).flatMap((one) => (one.slot === slot ? one.tool : [])));
      for (const entry of this.#entries.values()) if (entry.slot === slot) tools.add(entry.tool);
      let missing = slot === from ? 1 - (this.#experience.hitRate(cut.at) ?? 0) : 1;
      for (const tool of tools) {
        if (slot === from && cut.isAsked(slot, tool)) continue;
        const entry = this.#entry(slot, tool);
        entry.later += arriving;
        missing *= 1 - (this.#experience.hitRate(tool) ?? 0);
      }
      arriving *= missing;
    }
  }

  #estimate(entry: Entry, of: { scale: number; beyond: number; skipped: number }): LegEstimate {
    const { slot, tool, fresh, receipt, later, laterMost } = entry;
    const { scale, beyond, skipped } = of;
    const perRow = this.#mostPerRow(slot, tool);
    const calls = { least: fresh, expected: (fresh + later) * scale, most: fresh + laterMost + beyond * perRow };
    const named = this.#slots[slot] ?? { column: '', leg: '' };
    return { ...named, tool, receipt: receipt * scale, skipped, calls, credits: this.#credits(entry, calls) };
  }

  #credits(entry: Entry, calls: Spread): Spread {
    return creditsOf(this.#experience, entry.tool, { calls, made: this.#madeAt(entry) });
  }

  /** Calls of the pilot. */
  #madeAt({ slot, tool }: Pick<Entry, 'slot' | 'tool'>): readonly PilotCall[] {
    return (this.#pilot?.rows ?? []).flatMap((row) => row.calls.filter(this.#at(slot, tool)));
  }

  /** Legs and tools that rows of the pilot came to, from a place on. */
  #places(rows: readonly PilotRow[], from: number): { slot: number; tool: string }[] {
    const places = new Map<string, { slot: number; tool: string }>();
    for (const { calls } of rows)
      for (const { path, tool } of calls) {
        const slot = this.#slotOf(path);
        if (slot >= from) places.set(`${slot}|${tool}`, { slot, tool });
      }
    return [...places.values()];
  }

  #at(slot: number, tool: string): (call: { readonly path: string; readonly tool: string }) => boolean {
    return (call) => call.tool === tool && this.#slotOf(call.path) === slot;
  }

  #entry(slot: number, tool: string): Entry {
    const id = `${slot}|${tool}`;
    const before = this.#entries.get(id);
    if (before !== undefined) return before;
    const entry: Entry = { slot, tool, fresh: 0, receipt: 0, later: 0, laterMost: 0 };
    this.#entries.set(id, entry);
    return entry;
  }

  /** The leg that a path belongs to; what a program's `return` does comes after its legs. */
  #slotOf(path: string): number {
    const known = this.#slotOfPath.get(path);
    if (known !== undefined) return known;
    const isIn = (place: string): boolean => place === path || path.startsWith(`${place}.`);
    const leg = this.#slots.findIndex((slot) => isIn(slot.leg));
    const slot = leg === -1 ? this.#slots.findLastIndex(({ column }) => isIn(column)) : leg;
    this.#slotOfPath.set(path, slot);
    return slot;
  }

  #isAlwaysFresh(tool: string): boolean {
    return this.#experience.isRefreshed(tool) || this.#experience.tool(tool)?.reuseScope === 'never';
  }

  #keeps(tool: string): boolean {
    return this.#experience.tool(tool)?.reuseScope !== 'run';
  }
}

const NOTHING: Spread = { least: 0, expected: 0, most: 0 };

/** Legs in the order in which rows come to them; a program's own `return` last, where it has legs. */
function slotsOf(columns: PlannedDataset['columns']): Slot[] {
  return columns.flatMap(({ name, legs }) => {
    const slots = legs.map((leg) => ({ column: name, leg }));
    return legs.includes(name) ? slots : [...slots, { column: name, leg: name }];
  });
}

/** What so many calls cost. `made` are earlier calls at the same place. */
export function creditsOf(
  experience: Experience,
  toolId: string,
  { calls, made }: { readonly calls: Spread; readonly made: readonly PilotCall[] },
): Spread {
  const tool = experience.tool(toolId);
  if (tool === undefined) return NOTHING;
  const { cost } = tool.definition;
  const max = tool.maxCredits;
  const mayBeFree = typeof cost?.credits === 'function' || cost?.per === 'result' || experience.hasFailed(toolId);
  const bought = made.filter(({ isLive }) => isLive);
  const live = areAllFailed(bought) ? 0 : bought.length;
  const byHits = cost?.per === 'result' ? max * (hitShare(made) ?? experience.hitRate(toolId) ?? 1) : max;
  const mean =
    live >= FEW_PRICES || (live > 0 && experience.meanCredits(toolId) === undefined)
      ? (priceOf(made) ?? byHits)
      : cost?.per === 'result' && made.length > 0
        ? byHits
        : (experience.meanCredits(toolId) ?? byHits);
  return { least: mayBeFree ? 0 : calls.least * max, expected: calls.expected * mean, most: calls.most * max };
}
