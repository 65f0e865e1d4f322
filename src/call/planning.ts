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
  readonly #stop: (scope: Scope) => void;

  /** @param stop suspends the scope of a call that stays pending */
  constructor(stop: (scope: Scope) => void) {
    this.#stop = stop;
  }

  calls(): readonly PlannedCall[] {
    return [...this.#calls.values()];
  }

  missed(question: Asked): void {
    const { scope, tool, receiptKey, shared } = question;
    const call = this.#of(scope.place.datasetNo, scope.path, tool.id);
    if (shared && this.#asked.has(receiptKey)) call.shared++;
    else call.fresh++;
    this.#asked.add(receiptKey);
    if (scope.gate.state !== 'open') return;
    call.stopped++;
    this.#stop(scope);
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
