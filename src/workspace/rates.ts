import { isGone, thisOwner } from '../engine/index.ts';
import {
  type Budget,
  type BudgetOwner,
  createBudget,
  createRateState,
  type GovernorOptions,
} from '../governor/index.ts';
import type { TreeBudgetsOptions } from '../run/index.ts';
import { type Chance, type Clock, microCredits } from '../scope/index.ts';
import type { CallsheetConfig } from '../sdk/index.ts';
import {
  creditsNotSettled,
  DAY_LEDGER,
  openRates,
  type Rates,
  type Store,
  type TryLog,
  treeLedger,
} from '../store/index.ts';

const DAY_MS = 86_400_000;

/** What this process keeps with others on the workspace about limits: of providers, and of the money of a day. */
export interface SharedLimits {
  /** For the governor. */
  readonly pace: Pick<GovernorOptions, 'rateState' | 'placeState' | 'gateState' | 'reachState' | 'asker'>;
  /** What all runs of the workspace may spend in a day; undefined without `creditsPerDay`. */
  readonly day: TreeBudgetsOptions['day'];
  /** What the runs of one tree may spend, whichever process works on them. */
  readonly tree: TreeBudgetsOptions['tree'];
  /** Paid calls that are out, and what their dead processes may have left. */
  readonly tries: TryLog | undefined;
  close(): void;
}

/** Answers that come from files only are bought of nobody: then nothing is shared. */
export const NOTHING_SHARED: SharedLimits = {
  pace: {},
  day: undefined,
  tree: undefined,
  tries: undefined,
  close: () => {},
};

/** Opens `rates.db` at its first use. */
export function sharedLimits(parts: {
  readonly path: string;
  readonly config: CallsheetConfig;
  readonly store: LedgerReads;
  readonly clock: Clock;
  readonly chance: Chance;
}): SharedLimits {
  const { path, config, store, clock, chance } = parts;
  const session = `${thisOwner()}|${Buffer.from(chance.bytes(8)).toString('hex')}`;
  const rates = openRates({ path, clock, session, isGone });
  const rateState = createRateState(rates.slots, { isGone });
  const limit = config.creditsPerDay;
  return {
    pace: { rateState, placeState: rates.places, gateState: rates.gates, reachState: rates.reached, asker: session },
    day: limit === undefined ? undefined : dayBudget(rates, { limit, store, clock }),
    async tree({ rootId, limit: credits, settled }) {
      const of = {
        limit: microCredits(credits),
        settled: async () => microCredits(await settled()),
        period: () => '',
        isWhole: true,
      };
      const ledger = rates.ledger(treeLedger(rootId), of);
      await ledger.ready();
      return { ledger, clock, close: () => ledger.close() };
    },
    tries: rates.tries,
    close: () => rates.close(() => rateState.end()),
  };
}

type LedgerReads = Pick<Store, 'calls' | 'runs'>;

/** What journals have since an instant, without what is still out on record: its ledger counts that once it is settled. */
async function settledSince({ tries }: Rates, store: LedgerReads, since: number): Promise<number> {
  let credits = await store.calls.creditsSince(since);
  for (const runId of await tries.runIds()) {
    const run = await store.runs.run(runId);
    if (run === undefined) continue;
    credits -= await creditsNotSettled(store.calls, run.no, { tries: await tries.ofRun(runId), since });
  }
  return credits;
}

/** One budget for all runs of this process; days are those of UTC. */
function dayBudget(
  rates: Rates,
  { limit, store, clock }: { readonly limit: number; readonly store: LedgerReads; readonly clock: Clock },
): () => Promise<Budget> {
  const period = (): string => new Date(clock.now()).toISOString().slice(0, 10);
  const ledger = rates.ledger(DAY_LEDGER, {
    limit: microCredits(limit),
    period,
    settled: async () => microCredits(await settledSince(rates, store, Date.parse(period()))),
  });
  const owner = (): BudgetOwner => {
    const tomorrow = new Date(Date.parse(period()) + DAY_MS).toISOString();
    return {
      of: `this workspace for ${period()} (creditsPerDay)`,
      next: [
        `callsheet runs resume <run>   (from ${tomorrow} on)`,
        'Or raise creditsPerDay in callsheet.config.ts, then: callsheet runs resume <run>',
      ],
    };
  };
  const budget = createBudget({ limit, owner, shared: { ledger, clock }, isPeriodic: true });
  return async () => {
    await ledger.ready();
    return budget;
  };
}
