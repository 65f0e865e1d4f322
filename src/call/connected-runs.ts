import type { RunReads, RunRecord } from '../store/index.ts';

interface Asked {
  readonly run: RunRecord;
  /** The run's whole family of reruns, itself included. */
  readonly family: readonly RunRecord[];
}

/**
 * The runs that code which has changed may have moved a write from, or to: those that started the run or were started by it,
 * with what was started by those, and the reruns of all of them. Without the run's own family.
 */
export async function connectedRuns(runs: RunReads, { run, family }: Asked): Promise<readonly RunRecord[]> {
  const all = await component(runs, run);
  const own = new Set(family.map(({ id }) => id));
  const above = await startersOf(runs, run);
  return all.filter((other) => {
    if (own.has(other.id)) return false;
    if (above.some(({ id }) => id === other.id)) return true;
    // The same play with another input is what another row is: an equal write of it is another write.
    if (other.play === run.play && other.input !== run.input) return false;
    // What runs under this very code asks for its writes itself.
    return other.artifact !== run.artifact;
  });
}

/** The run that started a run, the one that started that, and so on. */
export async function startersOf(runs: RunReads, run: RunRecord): Promise<readonly RunRecord[]> {
  const above: RunRecord[] = [];
  for (let at: RunRecord | undefined = run; at?.parentRunId != null; ) {
    at = await runs.run(at.parentRunId);
    if (at !== undefined) above.push(at);
  }
  return above;
}

/** All runs that are connected with this one by starts and reruns. */
async function component(runs: RunReads, run: RunRecord): Promise<readonly RunRecord[]> {
  const found = new Map<string, RunRecord>();
  const open = [run];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (found.has(at.id)) continue;
    found.set(at.id, at);
    for (const id of [at.parentRunId, at.replayedFrom]) {
      const before = id === null || found.has(id) ? undefined : await runs.run(id);
      if (before !== undefined) open.push(before);
    }
    open.push(...(await runs.childrenOf(at.id)), ...(await runs.rerunsOf(at.id)));
  }
  return [...found.values()].sort((a, b) => a.no - b.no);
}
