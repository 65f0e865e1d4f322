import type { Digest, Scope } from '../scope/index.ts';

/** What a plan asks of a question. */
interface Asked {
  readonly scope: Scope;
  readonly tool: { readonly id: string };
  readonly receiptKey: Digest;
  readonly shared: boolean;
}

/** A call that no stored answer serves, as a plan sees it. */
export interface PlannedCall {
  readonly datasetNo: number;
  readonly path: string;
  readonly tool: string;
  /** Would be bought; each question once, however many ask it. */
  fresh: number;
  /** Would be answered by what one of the fresh calls buys. */
  shared: number;
  /** Rows that came no further than this call. */
  stopped: number;
}

/** Where one row came no further: at a call without an answer, or at something that a plan does not do. */
export interface PlannedCut {
  readonly datasetNo: number;
  readonly ordinal: number;
  readonly path: string;
  /** The tool, or what else it was: `step`, `fetch` … */
  readonly at: string;
  /** Another row's call buys the answer. */
  readonly isShared: boolean;
  /** Calls without an answer that the row had under way at the same time, this one among them. */
  readonly pending: { readonly path: string; readonly tool: string }[];
}

/**
 * Counts the calls of a plan instead of making them.
 *
 * Invariants
 *  1. A question is fresh once.
 *  2. A row stops once: at the first call that nothing answers.
 */
export class Planning {
  readonly #calls = new Map<string, PlannedCall>();
  readonly #asked = new Set<Digest>();
  readonly #cuts = new Map<string, PlannedCut>();
  readonly #stop: (scope: Scope) => void;

  /** @param stop suspends the scope of a call that stays pending */
  constructor(stop: (scope: Scope) => void) {
    this.#stop = stop;
  }

  calls(): readonly PlannedCall[] {
    return [...this.#calls.values()];
  }

  cuts(): readonly PlannedCut[] {
    return [...this.#cuts.values()];
  }

  missed(question: Asked): void {
    const { scope, tool, receiptKey, shared } = question;
    const call = this.#of(scope.place.datasetNo, scope.path, tool.id);
    const isShared = shared && this.#asked.has(receiptKey);
    if (isShared) call.shared++;
    else call.fresh++;
    this.#asked.add(receiptKey);
    const cut = this.#cut(scope, { at: tool.id, isShared });
    cut?.pending.push({ path: scope.path, tool: tool.id });
    if (scope.gate.state !== 'open') return;
    call.stopped++;
    this.#stop(scope);
  }

  /** The row came to something that a plan does not do. */
  stopped(scope: Scope, what: string): void {
    this.#cut(scope, { at: what, isShared: false });
  }

  /** The first of a row stays. */
  #cut(scope: Scope, { at, isShared }: Pick<PlannedCut, 'at' | 'isShared'>): PlannedCut | undefined {
    if (!scope.inRow) return undefined;
    const { datasetNo, ordinal } = scope.place;
    const id = `${datasetNo}|${ordinal}`;
    let cut = this.#cuts.get(id);
    if (cut === undefined) {
      cut = { datasetNo, ordinal, path: scope.path, at, isShared, pending: [] };
      this.#cuts.set(id, cut);
    }
    return cut;
  }

  #of(datasetNo: number, path: string, tool: string): PlannedCall {
    const id = `${datasetNo}|${path}|${tool}`;
    let call = this.#calls.get(id);
    if (call === undefined) {
      call = { datasetNo, path, tool, fresh: 0, shared: 0, stopped: 0 };
      this.#calls.set(id, call);
    }
    return call;
  }
}
