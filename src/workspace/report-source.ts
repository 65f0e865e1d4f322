import { priceAboveMax } from '../call/index.ts';
import { isGone, thisOwner } from '../engine/index.ts';
import type { ReportSource } from '../report/index.ts';
import type { JsonValue } from '../sdk/index.ts';
import { leftTries } from '../store/index.ts';
import { highestCost, type Workspace } from './open.ts';

/** The workspace as reports read it. */
export function reportSource(workspace: Workspace): ReportSource {
  const { store, paths, clock, catalogue, calls } = workspace;
  return {
    report: store.report,
    runs: store.runs,
    calls: store.calls,
    datasets: store.datasets,
    filesDir: paths.files,
    now: () => clock.now(),
    isGone,
    openTries: (runId) => leftTries(paths.rates, runId),
    maxCreditsOf: highestCost(catalogue),
    priceAboveMax: async ({ id, tool }) => {
      const receipt = catalogue.has(tool) ? await store.report.receipt(id) : undefined;
      if (receipt === undefined) return undefined;
      const input = JSON.parse(receipt.input) as JsonValue;
      return priceAboveMax(calls.lookup, catalogue.get(tool), { receiptId: id, input });
    },
  };
}

/** As reports read it once this process works on no run any more: a lease that it could not give back says nothing. */
export function sourceAfterWork(workspace: Workspace): ReportSource {
  const own = `${thisOwner()}|`;
  return { ...reportSource(workspace), isGone: (owner) => owner.startsWith(own) || isGone(owner) };
}
