import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { Permit } from '../governor/index.ts';
import type { TryLog } from '../store/index.ts';
import { OpenTries } from './open-tries.ts';

verifies(
  'BUDGET-LEFT-1',
  'a try that does not go out leaves the one before it unknown, where there was one',
  async () => {
    const ended: string[] = [];
    const log = {
      sent: async () => {},
      ended: async (_run: string, callIds: readonly string[], how: string) => void ended.push(`${callIds} ${how}`),
    } as unknown as TryLog;
    const permit = { release: () => {} } as Permit;
    const tries = new OpenTries(log, { id: 'run_1', rootId: 'run_1' });
    for (const [callId, isReserved] of [
      ['first', false],
      ['second', true],
    ] as const) {
      const call = { callId, place: { datasetNo: 0, ordinal: 0 }, tool: 'acme.find', credits: 1, isKeyed: true };
      const tracked = tries.track(permit, [call], isReserved);
      await tracked?.announced(undefined);
      tracked?.release();
    }
    expect(ended).toEqual(['first known', 'second lost']);
  },
);
