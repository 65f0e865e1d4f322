import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { digest, type Fence } from '../../scope/index.ts';
import type { Store } from '../port.ts';
import type { Write } from '../writes.ts';
import { committed, type StoreUnderTest, startedRun } from './samples.ts';

async function granted(store: Store, fence: Fence, scope: string, ...keys: string[]): Promise<readonly boolean[]> {
  const write: Write = { kind: 'claim', fence, scope, keys: keys.map(digest) };
  await committed(store, write);
  return write.granted ?? [];
}

export function claims(current: () => StoreUnderTest): void {
  verifies('DATA-NETNEW-1', 'gives a key to the first run that claims it, and to that run again', async () => {
    const { store } = current();
    const one = await startedRun(store);
    const two = await startedRun(store, 'run_2');
    expect(await granted(store, one, 's', 'a', 'b', 'a')).toEqual([true, true, true]);
    expect(await granted(store, two, 's', 'b', 'c')).toEqual([false, true]);
    expect(await granted(store, one, 's', 'a', 'c')).toEqual([true, false]);
  });

  it('keeps scopes apart, and compares the whole key', async () => {
    const { store } = current();
    const one = await startedRun(store);
    const two = await startedRun(store, 'run_2');
    await granted(store, one, 's', 'a');
    expect(await granted(store, two, 'other', 'a')).toEqual([true]);
    const alike = `${digest('a').slice(0, 20)}${'A'.repeat(23)}`;
    const write: Write = { kind: 'claim', fence: two, scope: 's', keys: [alike] };
    await committed(store, write);
    expect(write.granted).toEqual([true]);
  });

  it('releases only the claims of the run', async () => {
    const { store } = current();
    const one = await startedRun(store);
    const two = await startedRun(store, 'run_2');
    await granted(store, one, 's', 'a', 'b');
    await granted(store, two, 's', 'c');
    await committed(store, { kind: 'releaseClaims', fence: one });
    expect(await granted(store, two, 's', 'a')).toEqual([true]);
    expect(await granted(store, one, 's', 'a', 'b', 'c')).toEqual([false, true, false]);
  });
}
