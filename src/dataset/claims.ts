import { canonicalJson, type Fence } from '../scope/index.ts';
import type { DatasetReads, FrameRecord, Write } from '../store/index.ts';
import { RUNS } from './frame-rows.ts';
import { keyHex } from './key-index.ts';
import { readPlan } from './plan.ts';

/** Under what name `net_new` claims the keys of a dataset: shared by all runs of the play. */
export function claimScope(play: string, playPath: readonly string[], datasetKey: string): string {
  return canonicalJson([play, playPath, datasetKey]);
}

const BLOCK = 65_536;
const COMPLETED = 1;

/**
 * What a run that ends without completing writes about its `net_new` claims: all are given up, and those of the rows that
 * it finished are taken again, so that the next run does not do these twice. Atomic where it is one unit.
 */
export async function releasedClaims(
  reads: DatasetReads,
  run: { readonly runNo: number; readonly play: string; readonly fence: Fence },
): Promise<readonly Write[]> {
  const writes: Write[] = [{ kind: 'releaseClaims', fence: run.fence }];
  for (const frame of await reads.frames(run.runNo)) {
    if (!frame.sealed || readPlan(frame).mode !== 'net_new') continue;
    const scope = claimScope(run.play, JSON.parse(frame.playPath) as string[], frame.key);
    for await (const keys of finishedKeys(reads, run.runNo, frame))
      writes.push({ kind: 'claim', fence: run.fence, scope, keys });
  }
  return writes;
}

async function* finishedKeys(
  reads: DatasetReads,
  runNo: number,
  frame: FrameRecord,
): AsyncGenerator<readonly string[]> {
  for (let from = 0; from < frame.total; from += BLOCK) {
    const to = Math.min(frame.total, from + BLOCK);
    const states = await reads.rowStates(runNo, frame.datasetNo, from, to);
    const { keys, repeats } = await reads.frameChunk(runNo, frame.datasetNo, from, to);
    const finished: string[] = [];
    for (let row = 0; row < to - from; row++)
      if (states[row] === COMPLETED && repeats[row] === RUNS) finished.push(keyHex(keys, row));
    if (finished.length > 0) yield finished;
  }
}
