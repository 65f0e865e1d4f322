import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { VirtualClock } from '../scope/index.ts';
import { type CommitterOptions, createCommitter } from './group-commit.ts';
import { MemoryStore } from './memory/store.ts';
import type { Store, Unit, UnitOutcome } from './port.ts';

/** Records the groups that arrive, and answers when it is told to. */
class ScriptedStore extends MemoryStore {
  readonly groups: string[][] = [];
  readonly failing = new Map<string, Error>();
  #held: (() => void)[] | undefined;

  hold(): void {
    this.#held = [];
  }

  release(): void {
    for (const answer of this.#held ?? []) answer();
    this.#held = undefined;
  }

  override async commit(units: readonly Unit[]): Promise<readonly UnitOutcome[]> {
    const names = units.map(nameOf);
    this.groups.push(names);
    if (this.#held !== undefined) await new Promise<void>((resolve) => this.#held?.push(resolve));
    return names.map((name) => {
      const error = this.failing.get(name);
      return error === undefined ? { ok: true } : { ok: false, error };
    });
  }
}

function unit(name: string): Unit {
  return [{ kind: 'cancel', runId: name }];
}

function nameOf(of: Unit): string {
  return of.map((write) => (write.kind === 'cancel' ? write.runId : write.kind)).join('+');
}

function setUp(options: Partial<CommitterOptions> = {}) {
  const store = new ScriptedStore();
  const clock = new VirtualClock();
  return { store, clock, committer: createCommitter(store as Store, { clock, ...options }) };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a group closes at the end of the turn', () => {
  verifies('STORE-GROUP-1', 'writes of one turn are one group, without any timer', async () => {
    const { store, clock, committer } = setUp();
    const done = Promise.all(['a', 'b'].map((name) => committer.commit(unit(name))));
    await Promise.resolve();
    const later = committer.commit(unit('c'));
    expect(store.groups).toEqual([]);
    await Promise.all([done, later]);
    expect(store.groups).toEqual([['a', 'b', 'c']]);
    expect(clock.pending()).toEqual([]);
  });

  it('lets deferred units ride along in the order they were handed over', async () => {
    const { store, clock, committer } = setUp();
    committer.defer(unit('row'));
    const done = committer.commit(unit('receipt'));
    committer.defer(unit('late row'));
    await done;
    expect(store.groups).toEqual([['row', 'receipt', 'late row']]);
    expect(clock.pending()).toEqual([]);
  });

  it('drops the timer of a deferred unit that rides along, so that no second group starts beside the first', async () => {
    const { store, clock, committer } = setUp();
    store.hold();
    committer.defer(unit('row'));
    const done = committer.commit(unit('receipt'));
    expect(clock.pending()).toEqual([]);
    await clock.advance(20);
    expect(store.groups).toEqual([['row', 'receipt']]);
    store.release();
    await done;
  });

  it('writes deferred units alone after 20 ms', async () => {
    const { store, clock, committer } = setUp();
    let settled = 0;
    committer.defer(unit('row'), () => settled++);
    await clock.advance(19);
    expect(store.groups).toEqual([]);
    committer.defer(unit('row 2'));
    await clock.advance(1);
    expect(store.groups).toEqual([['row', 'row 2']]);
    expect(settled).toBe(1);
  });

  it('gathers the next group while one is under way', async () => {
    const { store, committer } = setUp();
    store.hold();
    const first = committer.commit(unit('a'));
    await turn();
    const rest = ['b', 'c'].map((name) => committer.commit(unit(name)));
    await turn();
    expect(store.groups).toEqual([['a']]);
    store.release();
    await Promise.all([first, ...rest]);
    expect(store.groups).toEqual([['a'], ['b', 'c']]);
  });

  it('writes what was deferred during a group within 20 ms of its end', async () => {
    const { store, clock, committer } = setUp();
    store.hold();
    const first = committer.commit(unit('a'));
    await turn();
    committer.defer(unit('row'));
    store.release();
    await first;
    await clock.advance(20);
    expect(store.groups).toEqual([['a'], ['row']]);
  });
});

describe('groups are bounded', () => {
  it('cuts by units, and keeps the order', async () => {
    const { store, committer } = setUp({ maxUnits: 2 });
    await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => committer.commit(unit(name))));
    expect(store.groups).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
  });

  it('cuts by bytes, and writes a unit alone that is larger than a group', async () => {
    const { store, committer } = setUp({ maxBytes: 1_000 });
    const fence = { runNo: 1, attempt: 1 };
    const large: Unit = [{ kind: 'spool', fence, datasetNo: 1, first: 0, rows: ['x'.repeat(5_000)] }];
    await Promise.all([large, unit('a'), unit('b'), large, unit('c')].map((each) => committer.commit(each)));
    expect(store.groups).toEqual([['spool'], ['a', 'b'], ['spool'], ['c']]);
  });

  it('writes what a cut left over although only deferred units are left', async () => {
    const { store, clock, committer } = setUp({ maxUnits: 2 });
    for (const name of ['a', 'b', 'c']) committer.defer(unit(name));
    await clock.advance(20);
    await clock.advance(20);
    expect(store.groups).toEqual([['a', 'b'], ['c']]);
  });
});

describe('failures', () => {
  it('rejects each commit with its own error, and tells onFailure once for each', async () => {
    const failures: unknown[] = [];
    const { store, committer } = setUp({ onFailure: (error) => failures.push(error) });
    const error = new Error('full');
    store.failing.set('b', error);
    const outcomes = await Promise.allSettled(['a', 'b', 'c'].map((name) => committer.commit(unit(name))));
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[1]).toMatchObject({ reason: error });
    expect(failures).toEqual([error]);
    // The caller has been told: a later flush does not tell it again.
    await committer.flush();
  });

  it('tells each deferred unit how it ended', async () => {
    const { store, clock, committer } = setUp();
    const error = new Error('stale');
    store.failing.set('b', error);
    const told: unknown[] = [];
    for (const name of ['a', 'b']) committer.defer(unit(name), (failure) => told.push(failure));
    await clock.advance(20);
    expect(told).toEqual([undefined, error]);
  });

  it('does not hang when a store throws against its port', async () => {
    const { store, committer } = setUp();
    const error = new Error('broken');
    store.commit = () => Promise.reject(error);
    await expect(committer.commit(unit('a'))).rejects.toBe(error);
    await expect(committer.commit(unit('b'))).rejects.toBe(error);
  });
});

describe('flush', () => {
  it('resolves at once when nothing waits, without a transaction', async () => {
    const { store, committer } = setUp();
    await committer.flush();
    expect(store.groups).toEqual([]);
  });

  it('waits for the group under way and all that was handed over before, not after', async () => {
    const { store, committer } = setUp();
    store.hold();
    const first = committer.commit(unit('a'));
    await turn();
    committer.defer(unit('row'));
    let flushed = false;
    const flush = committer.flush().then(() => {
      flushed = true;
    });
    await turn();
    expect(flushed).toBe(false);
    store.release();
    await Promise.all([first, flush]);
    expect(store.groups).toEqual([['a'], ['row']]);
  });

  it('rejects with the first failure among what it waited for', async () => {
    const { store, committer } = setUp();
    const errors = [new Error('first'), new Error('second')] as const;
    store.failing.set('a', errors[0]).set('b', errors[1]);
    committer.defer(unit('a'));
    committer.defer(unit('b'));
    await expect(committer.flush()).rejects.toBe(errors[0]);
    await committer.flush();
  });

  it('rejects with a deferred failure that nobody was told, once', async () => {
    const { store, clock, committer } = setUp();
    const error = new Error('full');
    store.failing.set('row', error);
    committer.defer(unit('row'));
    await clock.advance(20);
    await expect(committer.flush()).rejects.toBe(error);
    await committer.flush();
  });
});
