import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect } from 'vitest';
import { LocalEngine } from '../../src/engine/index.ts';
import { systemClock } from '../../src/scope/index.ts';
import { CallsheetError } from '../../src/sdk/index.ts';
import type { Committer } from '../../src/store/index.ts';
import { fastClock } from '../harness/crash.ts';
import { countedTool } from '../harness/tools.ts';
import { attempt, openTest, queued, settled, testFolder } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const THREE = `async (ctx) => {
  const all = [];
  for (const n of [1, 2, 3]) all.push((await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n } })).data);
  return all;
}`;

function rescued(dir: string): string[] {
  return readdirSync(join(dir, '.callsheet', 'rescue'));
}

describe('a paid answer that the store does not take', () => {
  for (const parts of [{}, { effect: 'write' as const }, { reuse: 'never' as const }])
    verifies(
      ['RESCUE-1', 'STORE-BREAKER-1'],
      `is kept beside it, ends the run, and is there for the next attempt (${JSON.stringify(parts)})`,
      async () => {
        const { tool, sent } = countedTool(parts, ({ n }) => `answer ${n}`);
        const dir = testFolder();
        const now = await openTest(dir, { tools: [tool] });
        const run = await queued(now, THREE);
        let full = false;
        const { committer } = now;
        const failing: Committer = {
          commit: (unit) => {
            full ||= unit.some((write) => write.kind === 'receipt' && write.receipt.raw.includes('answer 2'));
            return full
              ? Promise.reject(new CallsheetError('STORE_FULL', 'The disk is full.'))
              : committer.commit(unit);
          },
          defer: (unit, settled) => {
            if (!full) committer.defer(unit, settled);
          },
          flush: () => committer.flush(),
        };
        const engine = new LocalEngine({
          ...now.deps,
          committer: failing,
          calls: { ...now.calls, committer: failing },
        });
        const { outcome } = await attempt(now, run.id, engine);
        expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'STORE_FULL' } });
        const { message } = (outcome as { error: Error }).error;
        expect(message).toContain(join(dir, '.callsheet', 'rescue', run.id));
        expect(now.calls.persistence.isOpen).toBe(true);
        expect(sent).toHaveLength(2);
        await now.close();
        const later = await openTest(dir, {
          tools: [tool],
          clock: { ...systemClock, now: () => Date.now() + 3_600_000 },
        });
        expect(rescued(dir)).toEqual([]);
        expect((await attempt(later, run.id)).result).toEqual(['answer 1', 'answer 2', 'answer 3']);
        expect(sent).toHaveLength(3);
        expect(await settled(later, run)).toBe(3);
        expect(rescued(dir)).toEqual([]);
      },
    );

  verifies(
    ['RESCUE-1', 'STORE-HELD-1', 'STORE-BREAKER-1'],
    'since another process holds the database is kept too, and is bought by nobody once the database is free',
    async () => {
      const dir = testFolder();
      const clock = fastClock(20);
      let holder: DatabaseSync | undefined;
      const { tool, sent } = countedTool({ reuse: 'never' }, ({ n }) => {
        if (n === 2 && holder === undefined) {
          holder = new DatabaseSync(join(dir, '.callsheet', 'callsheet.db'));
          holder.exec('BEGIN IMMEDIATE');
        }
        return `answer ${n}`;
      });
      const now = await openTest(dir, { tools: [tool], clock });
      const run = await queued(now, THREE);
      const { outcome } = await attempt(now, run.id);
      expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'STORE_HELD' } });
      expect(sent).toHaveLength(2);
      expect(rescued(dir)).toEqual([run.id]);
      holder?.exec('COMMIT');
      holder?.close();
      // The same process goes on as well, once the store has proved a write: what was rescued is in it by then.
      while (now.calls.persistence.isOpen) await new Promise((resolve) => setImmediate(resolve));
      expect(rescued(dir)).toEqual([]);
      const later = await openTest(dir, { tools: [tool], clock: { ...clock, now: () => clock.now() + 3_600_000 } });
      expect((await attempt(later, run.id)).result).toEqual(['answer 1', 'answer 2', 'answer 3']);
      expect(sent).toHaveLength(3);
    },
  );
});
