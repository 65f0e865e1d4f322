import { describe, expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { createBudget, type Permit } from '../governor/index.ts';
import { type Scope, VirtualClock } from '../scope/index.ts';
import type { LeftTry, OperationRecord, TryLog } from '../store/index.ts';
import { wentOn } from './deliver.ts';
import type { CallRun } from './env.ts';
import { OpenTries, type Outgoing } from './open-tries.ts';
import { repeated, triesAfter } from './tries.ts';

const CALL = { place: { datasetNo: 0, ordinal: 0 }, tool: 'acme.find', credits: 1 };

const outgoing = (callId: string, key?: string): Outgoing => ({
  calls: () => [{ ...CALL, callId }],
  operationKey: () => key,
});

/** What a log of tries is told. */
function told(left: readonly LeftTry[] = []) {
  const said: string[] = [];
  const log = {
    sent: async () => {},
    ofRun: async () => left,
    take: async (_run: string, how: ReadonlyMap<string, string>) =>
      void said.push(...[...how].map((one) => one.join(' '))),
    ended: async (_run: string, callIds: readonly string[], how: string) => void said.push(`${callIds} ${how}`),
    again: (_run: string, callId: string) => void said.push(`${callId} again`),
    leave: (_run: string, callIds: readonly string[]) => void said.push(`${callIds} left`),
  } as unknown as TryLog;
  return { tries: new OpenTries(log, { id: 'run_1', rootId: 'run_1' }), said };
}

verifies(
  'BUDGET-LEFT-1',
  'a try that does not go out leaves the one before it unknown, where there was one',
  async () => {
    const permit = { release: () => {} } as Permit;
    const { tries, said } = told();
    for (const [callId, isReserved] of [
      ['first', false],
      ['second', true],
    ] as const) {
      const tracked = tries.track(permit, outgoing(callId), isReserved);
      await tracked?.announced(undefined);
      tracked?.release();
    }
    expect(said).toEqual(['first known', 'second lost']);
  },
);

describe('what a call holds that nobody makes again for a while', () => {
  async function writtenOff() {
    const clock = new VirtualClock();
    const budget = createBudget({ limit: 10, unknown: 6, clock });
    const left = { ...CALL, callId: 'a', operationKey: 'key', credits: 0, lost: 6, lostBefore: 0, isOfDay: true };
    const { tries, said } = told([left]);
    await tries.open(budget, async () => new Map());
    expect(budget.snapshot()).toMatchObject({ reserved: 6, settled: 0, unknown: 0 });
    const served: string[] = [];
    const waiter = { granted: () => served.push('granted'), refused: () => served.push('refused') };
    expect(budget.reserve(5, waiter)).toBe('wait');
    await clock.advance(11_000);
    expect([served, said]).toEqual([['refused'], ['a out', 'a lost']]);
    expect(budget.snapshot()).toMatchObject({ reserved: 0, settled: 0, unknown: 6 });
    return { budget, tries, said };
  }

  verifies('BUDGET-OWED-1', 'is lost for others, on record too, and stays so at the end of the attempt', async () => {
    const { budget, tries, said } = await writtenOff();
    tries.close();
    expect([said.length, budget.snapshot()]).toMatchObject([2, { reserved: 0, unknown: 6 }]);
  });

  verifies('BUDGET-OWED-1', 'is taken up all the same by a call that comes late', async () => {
    const { budget, tries, said } = await writtenOff();
    tries.takeHeld(outgoing('a', 'key'))?.handOver();
    expect([said.at(-1), budget.snapshot()]).toMatchObject(['a again', { reserved: 6, unknown: 0 }]);
  });
});

verifies(
  'BREAKER-ASIDE-1',
  'what stepped aside is suspect where others were answered before it fails again',
  async () => {
    const { tries } = told();
    const so = triesAfter({ tries: 1, refusals: 0 });
    repeated(so, 'ambiguous', { answers: 7, now: 0 });
    tries.kept('key', so);
    const run = { process: { clock: new VirtualClock() }, tries } as unknown as CallRun;
    const goesOn = (operationKey: string) =>
      wentOn(run, {} as Scope, { tries: 1, refusals: 0, operationKey, waitUntil: null, at: 0 } as OperationRecord);
    const fails = { answers: 8, now: 9 };
    expect(repeated(await goesOn('key'), 'ambiguous', fails)).toBe('suspect');
    expect(repeated(await goesOn('of another'), 'ambiguous', fails)).toBe(undefined);
  },
);
