import { Claims } from '../../src/call/index.ts';
import { LocalEngine } from '../../src/engine/index.ts';
import { type Chance, type Clock, systemClock } from '../../src/scope/index.ts';
import type { Committer, Unit, Write } from '../../src/store/index.ts';
import type { Workspace } from '../../src/workspace/index.ts';
import { latch } from './tools.ts';

/**
 * An engine whose process "dies" before the first write for which `dies` is true: that write and all later ones are
 * never made, and whoever waits for them waits for ever. What was handed over before is on disk.
 */
export function crashingEngine(
  workspace: Workspace,
  dies: (write: Write) => boolean,
): {
  readonly engine: LocalEngine;
  readonly dead: Promise<void>;
  readonly isDead: () => boolean;
  /** Kills it now. */
  readonly die: () => void;
} {
  const end = latch();
  let over = false;
  const die = (): void => {
    over = true;
    end.open();
  };
  const isOver = (unit: Unit): boolean => {
    if (!over && unit.some(dies)) die();
    return over;
  };
  const never = (): Promise<never> => new Promise(() => {});
  const committer: Committer = {
    commit: (unit) => (isOver(unit) ? never() : workspace.committer.commit(unit)),
    defer: (unit, settled) => {
      if (!isOver(unit)) workspace.committer.defer(unit, settled);
    },
    flush: () => (over ? never() : workspace.committer.flush()),
  };
  const calls = { ...workspace.deps.calls, committer, claims: new Claims() };
  return {
    engine: new LocalEngine({ ...workspace.deps, committer, calls }),
    dead: end.opened,
    isDead: () => over,
    die,
  };
}

/** Makes the first attempt of a run and resolves when its process is dead and what it had handed over is on disk. */
export async function crash(workspace: Workspace, runId: string, dies: (write: Write) => boolean): Promise<void> {
  const { engine, dead } = crashingEngine(workspace, dies);
  const progress = await engine.start(runId);
  const early = progress.outcome.then((outcome) => {
    throw new Error(`the run ended (${JSON.stringify(outcome)}) before its process died`);
  });
  await Promise.race([dead, early]);
  await workspace.committer.flush();
}

/** The machine's clock, so much later: a lease of today is over by it. */
export function laterClock(ms = 3_600_000): Clock {
  return { ...systemClock, now: () => systemClock.now() + ms };
}

const DAY_MS = 86_400_000;
const TO_NOON_MS = DAY_MS / 2 - (systemClock.now() % DAY_MS);

/** The machine's clock with the time of day put to noon when the tests began: so much later it is the same day. */
export function noonClock(ms = 0): Clock {
  return laterClock(TO_NOON_MS + ms);
}

/** A clock on which time passes so many times faster. */
export function fastClock(times: number): Clock {
  const began = systemClock.now();
  const monotonic = (): number => systemClock.monotonic() * times;
  const first = monotonic();
  return {
    now: () => Math.round(began + monotonic() - first),
    monotonic,
    after: (ms, fn, options) => systemClock.after(ms / times, fn, options),
  };
}

/** No jitter and no waiting between tries; ids differ all the same. */
export function zeroChance(): Chance {
  let ids = 0;
  return {
    bytes: (count) => {
      const bytes = new Uint8Array(count);
      if (count >= 8) new DataView(bytes.buffer).setUint32(count - 4, ++ids);
      return bytes;
    },
  };
}
