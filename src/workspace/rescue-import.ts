import { readdirSync, readFileSync, renameSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { isGone, thisOwner } from '../engine/index.ts';
import { type Chance, type Clock, sleep } from '../scope/index.ts';
import { CallsheetError } from '../sdk/index.ts';
import type { Store, Write } from '../store/index.ts';
import { type RescuedAnswer, recordsIn } from './rescue-format.ts';
import { isOwnFolder, type RescuePlaces } from './rescue-places.ts';

interface Importing {
  readonly store: Store;
  readonly clock: Clock;
  readonly chance: Chance;
}

/** In the name of a file while somebody imports it: who. */
const TAKEN = '.importing.';
/** In the name of a file whose run is not in the store. */
const STRANGE = '.run-unknown';
const LOOK_MS = 50;
const LOOKS = 200;

/**
 * Brings rescued answers into the store; returns how many. Each file is imported by one process, those that others import
 * at this moment are waited for, and an answer that is in the store already is not stored a second time.
 *
 * Rejects with the store's own error where it takes none yet (the answers stay), and with STORE_HELD where another
 * process imports without end.
 */
export async function importRescued(places: RescuePlaces, importing: Importing): Promise<number> {
  const me = `${encodeURIComponent(thisOwner())}.${Buffer.from(importing.chance.bytes(8)).toString('hex')}`;
  let imported = 0;
  for (let looks = 0; ; looks++) {
    let others = 0;
    for (const dir of isOwnFolder(places.temp) ? [places.dir, places.temp] : [places.dir])
      for (const name of namesIn(dir)) {
        const file = takeFile(dir, { name, me });
        if (file === 'others') others++;
        else if (file !== undefined) imported += await importFile(importing, file);
      }
    if (others === 0) return imported;
    if (looks >= LOOKS) throw heldImport(places);
    await sleep(importing.clock, LOOK_MS);
  }
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir).filter((name) => !name.endsWith(STRANGE));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

interface Taken {
  readonly path: string;
  /** Its path once nobody imports it; never that of the room which an attempt has made for itself. */
  readonly back: string;
  readonly answers: readonly RescuedAnswer[];
}

/** Makes a file ours by renaming it; undefined where there is nothing in it, or it is gone. */
function takeFile(
  dir: string,
  { name, me }: { readonly name: string; readonly me: string },
): Taken | 'others' | undefined {
  const [base = '', owner] = name.split(TAKEN);
  // The last part tells several imports of one process apart.
  if (owner !== undefined && !isGone(decodeURIComponent(owner.replace(/\.[^.]*$/, '')))) return 'others';
  try {
    const found = join(dir, name);
    // Room that an attempt has made for itself, or had: nothing was put there.
    if (recordsIn(readFileSync(found)).answers.length === 0) return undefined;
    const path = join(dir, `${base}${TAKEN}${me}`);
    const back = join(dir, `${base.split('.')[0]}.${me.split('.').at(-1)}`);
    renameSync(found, path);
    return { path, back, answers: recordsIn(readFileSync(path)).answers };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'others';
    throw error;
  }
}

async function importFile({ store }: Importing, { path, back, answers }: Taken): Promise<number> {
  let imported = 0;
  try {
    for (const { runId, receipt, parts = [] } of answers) {
      const run = await store.runs.run(runId);
      if (run === undefined) {
        renameSync(path, `${back}${STRANGE}`);
        return imported;
      }
      const same = await store.report.listReceipts({ key: receipt.key, limit: 10_000 });
      const { callId, at } = receipt;
      if (same.some((one) => one.runNo === run.no && one.callId === callId && one.at === at)) continue;
      const unit = [receipt, ...parts].map((each): Write => ({ kind: 'receipt', receipt: { ...each, runNo: run.no } }));
      const [outcome] = await store.commit([unit]);
      if (outcome?.ok !== true) throw outcome?.error;
      imported++;
    }
  } catch (error) {
    renameSync(path, back);
    throw error;
  }
  unlinkSync(path);
  return imported;
}

function heldImport(places: RescuePlaces): CallsheetError {
  return new CallsheetError('STORE_HELD', `Another process imports rescued answers from ${places.dir} without end.`, {
    details: { path: places.dir },
    next: ['Stop the other callsheet process, or let it go on if it is suspended, and repeat the command.'],
  });
}
