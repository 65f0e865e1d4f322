import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Armed, Gate, VirtualClock } from './index.ts';

/** Lets promise reactions run. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Watched {
  state: 'pending' | 'resolved' | 'rejected';
}

function watch(promise: Promise<unknown>): Watched {
  const watched: Watched = { state: 'pending' };
  promise.then(
    () => {
      watched.state = 'resolved';
    },
    () => {
      watched.state = 'rejected';
    },
  );
  return watched;
}

/** Work that ends when it is told to. */
function controlled(): { work: () => Promise<number>; end: (ok: boolean) => void; started: () => boolean } {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  // Work that never starts is never listened to.
  promise.catch(() => {});
  let started = false;
  return {
    work: () => {
      started = true;
      return promise;
    },
    end: (ok) => (ok ? resolve(1) : reject(new Error('no'))),
    started: () => started,
  };
}

describe('a gate that is open', () => {
  it('counts work that throws before it has made a promise as ended', async () => {
    const gate = new Gate();
    const thrown = new Error('at once');
    const entered = gate.enter(() => {
      throw thrown;
    });
    await expect(entered).rejects.toBe(thrown);
    expect(gate.inFlight).toBe(0);
    await gate.idle();
  });

  it('hands on what the work gives, and its failures', async () => {
    const gate = new Gate();
    await expect(gate.enter(async () => 5)).resolves.toBe(5);
    await expect(gate.enter(async () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(gate.inFlight).toBe(0);
  });

  it('counts work until it has ended, awaited or not', async () => {
    const gate = new Gate();
    const one = controlled();
    void gate.enter(one.work);
    expect(gate.inFlight).toBe(1);
    one.end(true);
    await turn();
    expect(gate.inFlight).toBe(0);
  });
});

describe('a gate that is suspended or closed', () => {
  it.each(['suspend', 'close'] as const)('after %s starts nothing, and what is entered never settles', async (how) => {
    const gate = new Gate();
    gate[how]();
    const late = controlled();
    const watched = watch(gate.enter(late.work));
    late.end(true);
    await turn();
    expect(late.started()).toBe(false);
    expect(watched.state).toBe('pending');
    expect(gate.inFlight).toBe(0);
  });

  it('lets work that had started end and reach its author while it is suspended', async () => {
    const gate = new Gate();
    const one = controlled();
    const watched = watch(gate.enter(one.work));
    gate.suspend();
    one.end(true);
    await turn();
    expect(watched.state).toBe('resolved');
  });

  it.each([true, false])('keeps from the author what ends after close (ok: %s), but counts it', async (ok) => {
    const gate = new Gate();
    const one = controlled();
    const watched = watch(gate.enter(one.work));
    gate.close();
    expect(gate.inFlight).toBe(1);
    one.end(ok);
    await turn();
    expect(watched.state).toBe('pending');
    expect(gate.inFlight).toBe(0);
  });

  it('is not opened or unclosed again', () => {
    const gate = new Gate();
    gate.close();
    gate.suspend();
    expect(gate.state).toBe('closed');
  });
});

describe('idle', () => {
  it('resolves at once where nothing is in flight, and for everybody when the last work ends', async () => {
    const gate = new Gate();
    await gate.idle();
    const [one, two] = [controlled(), controlled()];
    void gate.enter(one.work);
    void gate.enter(two.work).catch(() => {});
    const waiting = [watch(gate.idle()), watch(gate.idle())];
    one.end(true);
    await turn();
    expect(waiting.map(({ state }) => state)).toEqual(['pending', 'pending']);
    two.end(false);
    await turn();
    expect(waiting.map(({ state }) => state)).toEqual(['resolved', 'resolved']);
  });
});

describe('what is armed', () => {
  it('is armed while the gate is suspended, too, and stays pending where it is open', async () => {
    const gate = new Gate();
    gate.suspend();
    const open = watch(gate.arm(async () => 'open' as const));
    const over = gate.arm(async (): Promise<Armed<number>> => ({ value: 7 }));
    expect(gate.inFlight).toBe(2);
    await expect(over).resolves.toBe(7);
    await turn();
    expect([open.state, gate.inFlight]).toEqual(['pending', 0]);
    gate.close();
    const late = watch(gate.arm(async (): Promise<Armed<number>> => ({ value: 8 })));
    await turn();
    expect([late.state, gate.inFlight]).toEqual(['pending', 0]);
  });

  it('fails like any other work', async () => {
    const gate = new Gate();
    await expect(gate.arm(async () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(gate.inFlight).toBe(0);
  });
});

describe('still', () => {
  it('waits for effects and steps to end where nothing is waited for, however long they take', async () => {
    const gate = new Gate();
    const clock = new VirtualClock();
    const [effect, step] = [controlled(), controlled()];
    void gate.enter(effect.work);
    void gate.enclose(step.work);
    const still = watch(gate.still(clock, 100));
    effect.end(true);
    await clock.advance(10_000);
    expect([still.state, gate.inFlight, gate.unfinished]).toEqual(['pending', 0, 1]);
    step.end(true);
    await clock.advance(100);
    expect(still.state).toBe('resolved');
  });

  it('waits for no step that waits itself, at once where that shows before its first await, else after the grace', async () => {
    const clock = new VirtualClock();
    const at = new Gate();
    void at.enclose(() => at.arm(async () => 'open' as const));
    const first = watch(at.still(clock, 1_000));
    await clock.advance(50);
    expect(first.state).toBe('resolved');
    const after = new Gate();
    void after.enclose(async () => {
      await turn();
      return after.arm(async () => 'open' as const);
    });
    await clock.advance(1);
    const second = watch(after.still(clock, 1_000));
    await clock.advance(900);
    expect(second.state).toBe('pending');
    await clock.advance(200);
    expect(second.state).toBe('resolved');
  });
});

describe('code that goes on while its gate is suspended', () => {
  it('wants more only where something had ended and the next thing could not start', async () => {
    const gate = new Gate();
    const one = controlled();
    void gate.enter(one.work);
    gate.suspend();
    void gate.enter(async () => 1);
    expect(gate.wantsMore).toBe(false);
    one.end(true);
    await turn();
    expect(gate.wantsMore).toBe(false);
    void gate.enter(async () => 2);
    expect(gate.wantsMore).toBe(true);
  });

  it('wants more after something ended that was not entered there', () => {
    const gate = new Gate();
    gate.progressed();
    gate.suspend();
    void gate.hold();
    expect(gate.wantsMore).toBe(false);
    gate.progressed();
    void gate.enclose(async () => 1);
    expect(gate.wantsMore).toBe(true);
  });
});

describe('under any order of events', () => {
  it('the first four invariants hold', async () => {
    const event = fc.oneof(
      { weight: 4, arbitrary: fc.constant({ kind: 'enter' } as const) },
      { weight: 4, arbitrary: fc.record({ kind: fc.constant('end' as const), at: fc.nat(9), ok: fc.boolean() }) },
      fc.constant({ kind: 'suspend' } as const),
      fc.constant({ kind: 'close' } as const),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 24 }), async (events) => {
        const gate = new Gate();
        const rank = { open: 0, suspended: 1, closed: 2 };
        const entered: { one: ReturnType<typeof controlled>; seen: Watched; openAtEntry: boolean }[] = [];
        const endings: ('reached' | 'kept back' | undefined)[] = [];
        for (const step of events) {
          const before = rank[gate.state];
          if (step.kind === 'enter') {
            const one = controlled();
            entered.push({ openAtEntry: gate.state === 'open', one, seen: watch(gate.enter(one.work)) });
          } else if (step.kind === 'end') {
            const index = step.at % Math.max(1, entered.length);
            if (entered[index] !== undefined && endings[index] === undefined) {
              endings[index] = gate.state === 'closed' ? 'kept back' : 'reached';
              entered[index].one.end(step.ok);
              await turn();
            }
          } else gate[step.kind]();
          expect(rank[gate.state]).toBeGreaterThanOrEqual(before);
        }
        for (const [index, { one, seen, openAtEntry }] of entered.entries()) {
          expect(one.started()).toBe(openAtEntry);
          expect(seen.state !== 'pending').toBe(openAtEntry && endings[index] === 'reached');
        }
        const running = entered.filter(({ openAtEntry }, index) => openAtEntry && endings[index] === undefined);
        expect(gate.inFlight).toBe(running.length);
      }),
    );
  });
});
