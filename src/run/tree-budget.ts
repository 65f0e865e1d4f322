import { type Budget, type BudgetOptions, createBudget } from '../governor/index.ts';
import type { Clock } from '../scope/index.ts';
import { creditsNotSettled, type RunRecord, type Store, type TryLog } from '../store/index.ts';
import type { RunOptions } from './run-options.ts';

/** A tree while an attempt of it is made here. */
interface Tree {
  readonly budget: Promise<Budget>;
  users: number;
  close(): void;
}

/** A budget for one attempt; `close` gives the tree's back. */
export interface OpenBudget {
  readonly budget: Budget;
  close(): void;
}

export interface TreeBudgetsOptions {
  /** What all runs of the workspace may spend in a day, where that has a limit. */
  readonly day?: (() => Promise<Budget>) | undefined;
  /** What lost tries of runs may have cost, which nothing else tells of. */
  readonly tries?: Pick<TryLog, 'ofRun'> | undefined;
  /** Where the limit of a tree is kept, so that other processes draw on it too; in memory where it is not given. */
  readonly tree?: ((order: TreeOrder) => Promise<SharedTree>) | undefined;
  readonly clock: Clock;
  /** The highest cost of one call of a tool. */
  readonly maxCreditsOf: (tool: string) => number;
}

export interface TreeOrder {
  readonly rootId: string;
  readonly limit: number;
  /** What the journals of the tree have settled. */
  readonly settled: () => Promise<number>;
}

export type SharedTree = NonNullable<BudgetOptions['shared']> & { close(): void };

type BudgetReads = Pick<Store, 'calls' | 'runs'>;

/**
 * The budgets of the trees of runs that this process works on: a tree draws on its root's limit, and all on the day's.
 *
 * Owns: one budget a tree while an attempt of it is made here. Does not own: what other processes spend on the same limits,
 * which ledgers say.
 *
 * Invariant: two attempts of one tree in this process share one budget.
 */
export class TreeBudgets {
  readonly #options: TreeBudgetsOptions;
  readonly #trees = new Map<string, Tree>();

  constructor(options: TreeBudgetsOptions) {
    this.#options = options;
  }

  /** The highest cost of one call of a tool. */
  maxCreditsOf(tool: string): number {
    return this.#options.maxCreditsOf(tool);
  }

  /** Credits that the attempt may use: of its run's own limit, within the limit of its tree's root. */
  async open(store: BudgetReads, run: RunRecord): Promise<OpenBudget> {
    const root = run.parentRunId === null ? run : ((await store.runs.run(run.rootRunId)) ?? run);
    const tree = this.#trees.get(root.id) ?? this.#begin(store, root, run);
    tree.users++;
    const close = (): void => {
      tree.users--;
      if (tree.users > 0) return;
      this.#trees.delete(root.id);
      tree.close();
    };
    try {
      const ofTree = await tree.budget;
      return { budget: root.id === run.id ? ofTree : await this.#within(ofTree, store, run), close };
    } catch (error) {
      close();
      throw error;
    }
  }

  async #within(budget: Budget, store: BudgetReads, run: RunRecord): Promise<Budget> {
    const { clock } = this.#options;
    const [settled, unknown] = [await this.#settled(store, [run]), await this.#unknown([run])];
    return createBudget({ limit: limitOf(run), settled, unknown, runId: run.id, clock, within: budget });
  }

  #begin(store: BudgetReads, root: RunRecord, run: RunRecord): Tree {
    let shared: SharedTree | undefined;
    const open = async (): Promise<Budget> => {
      // A first attempt has spent nothing and started nothing.
      const isNew = root.id === run.id && run.attempt <= 1 && run.replayedFrom === null;
      const runs = isNew ? [] : [root, ...(await store.runs.childrenOf(root.id))];
      const limit = limitOf(root);
      const settled = (): Promise<number> => this.#settled(store, runs);
      if (limit !== undefined) shared = await this.#options.tree?.({ rootId: root.id, limit, settled });
      return createBudget({
        ...(shared === undefined ? { settled: await settled() } : { shared }),
        limit,
        unknown: await this.#unknown(runs),
        clock: this.#options.clock,
        // Whichever run of the tree is out of credits is the one to go on with: the root may have ended.
        ...(root.id === run.id && { runId: root.id }),
        ...(root.id !== run.id && { owner: () => ({ of: `the run ${root.id}, which started this one,` }) }),
        within: await this.#options.day?.(),
      });
    };
    const tree: Tree = { budget: open(), users: 0, close: () => shared?.close() };
    this.#trees.set(root.id, tree);
    return tree;
  }

  /** What the limits count as settled: what is still out on record is taken up with its run. */
  async #settled(store: BudgetReads, runs: readonly RunRecord[]): Promise<number> {
    let credits = 0;
    for (const run of runs) {
      credits += await store.calls.settledCredits(run.no);
      const tries = (await this.#options.tries?.ofRun(run.id)) ?? [];
      credits -= await creditsNotSettled(store.calls, run.no, { tries });
    }
    return credits;
  }

  /** What tries of these runs may have cost whose answers were lost: it counts as spent. */
  async #unknown(runs: readonly RunRecord[]): Promise<number> {
    let credits = 0;
    for (const { id } of runs) for (const { lost } of (await this.#options.tries?.ofRun(id)) ?? []) credits += lost;
    return credits;
  }
}

/** What somebody says on the command line stands over what the play says. */
function limitOf(run: RunRecord): number | undefined {
  const { maxCredits, playMaxCredits } = JSON.parse(run.options) as RunOptions;
  return maxCredits ?? playMaxCredits ?? undefined;
}
