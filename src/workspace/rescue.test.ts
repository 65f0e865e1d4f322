import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { thisOwner } from '../engine/index.ts';
import { digest, systemChance, systemClock } from '../scope/index.ts';
import { MemoryStore, type NewReceipt, type Store } from '../store/index.ts';
import { RescueFiles } from './rescue.ts';
import { HEAD_BYTES, headOf, nonceIn, recordOf, recordsIn } from './rescue-format.ts';
import { importRescued } from './rescue-import.ts';
import { type RescuePlaces, rescuePlaces } from './rescue-places.ts';

let folder: string;
let places: RescuePlaces;
let told: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'callsheet-rescue-test-'));
  mkdirSync(join(folder, 'tmp'));
  places = rescuePlaces(folder, join(folder, 'tmp'));
  told = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const files = (): RescueFiles => new RescueFiles(places, { chance: systemChance, tell: (line) => told.push(line) });
const path = (): string => join(places.dir, 'run_1');

function receipt(name: string, raw = `"${name}"`): NewReceipt {
  const tool = { tool: 'acme.find', version: '1', toolDigest: 'd', account: 'acme/default' };
  const [key, callId] = [digest(name), digest(`call ${name}`)];
  return { ...tool, key, callId, input: '{}', raw, at: 1, durationMs: 1, runNo: 9, reusable: true };
}

async function storeWithRun(): Promise<Store> {
  const store = new MemoryStore();
  const fixed = { play: 'p', artifact: 'a', input: '{}', options: '{}', seed: 's', identityFormat: 1, createdAt: 1 };
  const none = { parentRunId: null, replayedFrom: null, idempotencyKey: null, wakeAt: null };
  await store.commit([[{ kind: 'run', run: { ...fixed, ...none, id: 'run_1', rootRunId: 'run_1' } }]]);
  return store;
}

async function imported(store: Store): Promise<string[]> {
  return (await store.report.listReceipts({ limit: 99 })).map(({ id }) => `${id}`).sort();
}

const bring = (store: Store): Promise<number> =>
  importRescued(places, { store, clock: systemClock, chance: systemChance });

describe('the rescue file', () => {
  verifies('RESCUE-1', 'is a megabyte of real bytes from the start of an attempt to its clean end', async () => {
    const rescue = files();
    await rescue.prepare('run_1');
    const { size, mode, blocks } = statSync(path());
    expect([size, mode & 0o777]).toEqual([1024 * 1024, 0o600]);
    expect(blocks * 512).toBeGreaterThanOrEqual(size);
    expect(readFileSync(path()).includes(0)).toBe(false);
    rescue.release('run_1');
    expect(existsSync(path())).toBe(false);
  });

  verifies(
    'RESCUE-1',
    'takes answers in place, without growing, and keeps them at the end of the attempt',
    async () => {
      const rescue = files();
      await rescue.prepare('run_1');
      for (const name of ['a', 'b']) expect(rescue.save('run_1', receipt(name))).toBe(`in ${path()}`);
      rescue.release('run_1');
      const file = readFileSync(path());
      expect(file).toHaveLength(1024 * 1024);
      expect(recordsIn(file).answers).toEqual(['a', 'b'].map((name) => ({ runId: 'run_1', receipt: receipt(name) })));
      expect(told).toEqual([]);
    },
  );

  verifies(
    'RESCUE-2',
    'gives way to another file, to the temporary folder and to standard error, in this order',
    async () => {
      const rescue = files();
      await rescue.prepare('run_1');
      const large = receipt('large', `"${'x'.repeat(1024 * 1024)}"`);
      expect(rescue.save('run_1', large)).toContain(`in ${path()}-`);
      rmSync(places.dir, { recursive: true });
      writeFileSync(places.dir, 'no folder');
      expect(rescue.save('run_1', receipt('b'))).toContain(`in ${places.temp}`);
      expect(statSync(places.temp).mode & 0o777).toBe(0o700);
      expect(told).toEqual([]);
      rmSync(places.temp, { recursive: true });
      writeFileSync(places.temp, 'no folder');
      expect(rescue.save('run_1', receipt('c'))).toContain('standard error');
      expect(told).toHaveLength(1);
      expect(told[0]?.split('\n')).toHaveLength(1);
      expect(JSON.parse(told[0]?.slice(told[0].indexOf('{')) ?? '')).toEqual({ runId: 'run_1', receipt: receipt('c') });
    },
  );

  it('puts nothing into a temporary folder that others may write to', () => {
    mkdirSync(places.temp);
    chmodSync(places.temp, 0o777);
    writeFileSync(places.dir, 'no folder');
    expect(files().save('run_1', receipt('a'))).toContain('standard error');
  });

  verifies('RESCUE-1', 'has one writer: who lost it to a newer attempt puts answers elsewhere', async () => {
    const [stale, newer] = [files(), files()];
    await stale.prepare('run_1');
    stale.save('run_1', receipt('a'));
    await newer.prepare('run_1');
    expect(stale.save('run_1', receipt('b'))).toContain(`in ${path()}-`);
    expect(newer.save('run_1', receipt('c'))).toBe(`in ${path()}`);
    const store = await storeWithRun();
    expect(await bring(store)).toBe(3);
  });
});

describe('the records of a rescue file', () => {
  it('end at the first one that was cut off or damaged', () => {
    const [first, second] = ['a', 'b'].map((name) => recordOf({ runId: 'run_1', receipt: receipt(name) }));
    const whole = Buffer.concat([headOf('nonce'), first ?? Buffer.alloc(0), second ?? Buffer.alloc(0)]);
    expect(nonceIn(whole)).toBe('nonce');
    expect(recordsIn(whole).answers).toHaveLength(2);
    for (let length = 0; length < whole.length; length++)
      expect(recordsIn(whole.subarray(0, length)).answers).toHaveLength(
        length < HEAD_BYTES + (first?.length ?? 0) ? 0 : 1,
      );
    const damaged = Buffer.from(whole);
    damaged[whole.length - 3] = 0;
    expect(recordsIn(damaged).answers).toHaveLength(1);
    expect(nonceIn(Buffer.from('something else'))).toBeUndefined();
  });
});

describe('the import of rescued answers', () => {
  verifies('RESCUE-IMPORT-1', 'takes them in once, under the number of their run, and removes the files', async () => {
    const rescue = files();
    await rescue.prepare('run_1');
    for (const name of ['a', 'b']) rescue.save('run_1', receipt(name));
    rescue.save('run_1', receipt('large', `"${'x'.repeat(1024 * 1024)}"`));
    const again = readFileSync(path());
    const store = await storeWithRun();
    expect(await bring(store)).toBe(3);
    expect(readdirSync(places.dir)).toEqual([]);
    const run = await store.runs.run('run_1');
    expect((await store.calls.unsettledReceipts(run?.no ?? 0)).map(({ callId }) => callId).sort()).toEqual(
      ['a', 'b', 'large'].map((name) => digest(`call ${name}`)).sort(),
    );
    // As after a process that died between the store and the removal.
    writeFileSync(path(), again);
    expect(await bring(store)).toBe(0);
    expect(await imported(store)).toHaveLength(3);
    expect(readdirSync(places.dir)).toEqual([]);
  });

  verifies('RESCUE-IMPORT-1', 'looks into the temporary folder, too', async () => {
    writeFileSync(places.dir, 'no folder');
    files().save('run_1', receipt('a'));
    rmSync(places.dir);
    const store = await storeWithRun();
    expect(await bring(store)).toBe(1);
    expect(readdirSync(places.temp)).toEqual([]);
  });

  verifies('RESCUE-IMPORT-1', 'leaves the room of an attempt that is under way alone', async () => {
    const rescue = files();
    await rescue.prepare('run_1');
    expect(await bring(await storeWithRun())).toBe(0);
    expect(rescue.save('run_1', receipt('a'))).toBe(`in ${path()}`);
  });

  verifies('RESCUE-IMPORT-1', 'keeps them where the store does not take them yet', async () => {
    const rescue = files();
    await rescue.prepare('run_1');
    rescue.save('run_1', receipt('a'));
    const store = await storeWithRun();
    const full: Store = Object.assign(Object.create(store), {
      runs: store.runs,
      report: store.report,
      commit: async () => [{ ok: false, error: new Error('full') }],
    });
    await expect(bring(full)).rejects.toThrow('full');
    expect(readdirSync(places.dir)).toHaveLength(1);
    expect(await bring(store)).toBe(1);
  });

  verifies('RESCUE-IMPORT-1', 'takes over from an importer that is gone, and waits for one that is not', async () => {
    const rescue = files();
    await rescue.prepare('run_1');
    rescue.save('run_1', receipt('a'));
    const importing = (owner: string): string => `${path()}.importing.${encodeURIComponent(owner)}.ab12`;
    const gone = importing(`${hostname()}|999999999|`);
    renameSync(path(), gone);
    const store = await storeWithRun();
    expect(await bring(store)).toBe(1);
    expect(existsSync(gone)).toBe(false);
    rescue.save('run_1', receipt('b'));
    const [name = ''] = readdirSync(places.dir);
    renameSync(join(places.dir, name), importing(thisOwner()));
    let done = false;
    const waiting = bring(store).then((count) => {
      done = true;
      return count;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(done).toBe(false);
    rmSync(importing(thisOwner()));
    expect(await waiting).toBe(0);
  });

  verifies('RESCUE-IMPORT-1', 'by several at once stores each answer once', async () => {
    const rescue = files();
    await rescue.prepare('run_1');
    for (let n = 0; n < 20; n++) rescue.save('run_1', receipt(`r${n}`));
    const store = await storeWithRun();
    const counts = await Promise.all([bring(store), bring(store), bring(store)]);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(20);
    expect(await imported(store)).toHaveLength(20);
  });

  it('sets aside what belongs to a run that the store does not know', async () => {
    files().save('run_2', receipt('a'));
    const store = await storeWithRun();
    expect(await bring(store)).toBe(0);
    const [name = ''] = readdirSync(places.dir);
    expect(name).toMatch(/^run_2.*\.run-unknown$/);
    expect(await bring(store)).toBe(0);
  });
});
