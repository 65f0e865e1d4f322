import { type Budget, createBudget } from '../governor/index.ts';
import type { RunRecord, Store } from '../store/index.ts';
import type { RunOptions } from './run-options.ts';

interface Shared {
  readonly budget: Budget;
  users: number;
}

/** A budget for one attempt; `close` gives the tree's back. */
export interface OpenBudget {
  readonly budget: Budget;
  close(): void;
}

/**
 * The budgets of the trees of runs that this process works on: a tree draws on its root's limit.
 *
 * Owns: one budget a tree while an attempt of it is made here. Does not own: what other processes spend on the same tree at
 * the same time, which this one learns of when it begins with the tree.
 *
 * Invariant: two attempts of one tree in this process share one budget.
 */
export class TreeBudgets {
  readonly #trees = new Map<string, Shared>();

  /** Credits that the attempt may use: of its run's own limit, within the limit of its tree's root. */
  async open(store: Pick<Store, 'calls' | 'runs' | 'report'>, run: RunRecord): Promise<OpenBudget> {
    const root = run.parentRunId === null ? run : ((await store.runs.run(run.rootRunId)) ?? run);
    const shared = this.#trees.get(root.id) ?? (await this.#begin(store, root, run));
    shared.users++;
    const close = (): void => {
      shared.users--;
      if (shared.users === 0) this.#trees.delete(root.id);
    };
    if (root.id === run.id) return { budget: shared.budget, close };
    const limit = limitOf(run);
    const settled = await store.calls.settledCredits(run.no);
    const own = createBudget({ ...(limit !== undefined && { limit }), settled, runId: run.id, within: shared.budget });
    return { budget: own, close };
  }

  async #begin(store: Pick<Store, 'calls' | 'report'>, root: RunRecord, run: RunRecord): Promise<Shared> {
    // A first attempt has spent nothing and started nothing.
    const isNew = root.id === run.id && run.attempt <= 1;
    const tree = isNew ? [] : [root, ...(await store.report.childRuns(root.id))];
    let settled = 0;
    for (const { no } of tree) settled += await store.calls.settledCredits(no);
    const limit = limitOf(root);
    const budget = createBudget({
      ...(limit !== undefined && { limit }),
      settled,
      runId: root.id,
      ...(root.id !== run.id && { of: `the run ${root.id}, which started this one,` }),
    });
    // Another attempt of the tree may have come first while this one read.
    const shared = this.#trees.get(root.id) ?? { budget, users: 0 };
    this.#trees.set(root.id, shared);
    return shared;
  }
}

/** What somebody says on the command line stands over what the play says. */
function limitOf(run: RunRecord): number | undefined {
  const { maxCredits, playMaxCredits } = JSON.parse(run.options) as RunOptions;
  return maxCredits ?? playMaxCredits ?? undefined;
}
