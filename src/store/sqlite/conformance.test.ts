import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../scope/index.ts';
import type { OpenStore } from '../conformance/samples.ts';
import { describeStoreConformance } from '../conformance.ts';
import type { Store } from '../port.ts';
import { openSqliteStore } from './open.ts';

/** With a lot of 4, keys are merged all the time; as shipped, they stay in memory in so small a test. */
for (const largestLot of [undefined, 4])
  describeStoreConformance(`sqlite, lots of ${largestLot ?? 'thousands'}`, opener(largestLot));

function opener(largestLot: number | undefined): OpenStore {
  return async () => {
    const folder = mkdtempSync(join(tmpdir(), 'callsheet-store-'));
    const opened: Store[] = [];
    const open = async (): Promise<Store> => {
      const store = await openSqliteStore({
        path: join(folder, 'state', 'callsheet.db'),
        clock: systemClock,
        release: '1.0.0',
        ...(largestLot === undefined ? {} : { largestLot }),
      });
      opened.push(store);
      return store;
    };
    const store = await open();
    return {
      store,
      another: open,
      async reopen() {
        await store.close();
        return open();
      },
      async dispose() {
        for (const each of opened) await each.close();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  };
}
