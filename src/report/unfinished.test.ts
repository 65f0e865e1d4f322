import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { DatasetRow } from '../dataset/index.ts';
import type { RunRecord, WaitRecord } from '../store/index.ts';
import { nextCommands } from './next.ts';
import type { ReportSource } from './reads.ts';
import { unfinishedJson } from './unfinished.ts';

const NOW = Date.parse('2026-12-01T10:00:00Z');
const UNTIL = NOW + 3_600_000;

function runOf(more: object): RunRecord {
  return { id: 'run_1', no: 1, error: null, owner: null, leaseUntil: null, ...more } as unknown as RunRecord;
}

async function told(more: object, state: DatasetRow['state'], waits: readonly Partial<WaitRecord>[] = []) {
  const source = { runs: { waits: async () => new Map([[4, waits]]) }, now: () => NOW, isGone: () => false };
  const row = { state, ordinal: 4 } as DatasetRow;
  return unfinishedJson(source as unknown as ReportSource, runOf(more), { row, datasetNo: 1 });
}

const outOfCredits = {
  status: 'failed',
  error: JSON.stringify({ code: 'OUT_OF_CREDITS', next: ['callsheet runs resume <run> --max-credits 20'] }),
};

describe('a row without a result', () => {
  verifies('WHY-UNFINISHED-1', 'that is parked says for what, until when, and what brings it back', async () => {
    const event = { no: 7, state: 'open', kind: 'event', event: 'approved', label: 'ok', deadline: UNTIL } as const;
    expect(await told({ status: 'waiting' }, 'parked', [event])).toEqual({
      reason: "It is parked: it waits for the event 'approved' until 2026-12-01T11:00:00.000Z.",
      next: ["callsheet signal run_1 --wait wait_7 --data '{…}'", 'callsheet runs resume run_1'],
    });
    const provider = { ...event, kind: 'provider', event: null, label: 'a.find' } as const;
    expect(await told({ status: 'waiting' }, 'parked', [provider])).toEqual({
      reason: 'It is parked: it waits for the provider of a.find to take calls again until 2026-12-01T11:00:00.000Z.',
      next: ['callsheet runs resume run_1   (after 2026-12-01T11:00:00.000Z)', 'callsheet worker'],
    });
    const sleep = { ...provider, kind: 'sleep', label: 'rest', deadline: null } as const;
    expect((await told({ status: 'waiting' }, 'parked', [sleep, event])).reason).toBe(
      "It is parked: it waits in 'rest', and for the event 'approved' until 2026-12-01T11:00:00.000Z.",
    );
    const answered = [{ ...event, state: 'answered' as const }];
    expect(await told({ status: 'waiting' }, 'parked', answered)).toEqual({
      reason: 'It was parked; what it waited for has come.',
      next: ['callsheet runs resume run_1'],
    });
    expect((await told(outOfCredits, 'parked', [provider])).next).toEqual([
      'callsheet runs resume run_1 --max-credits 20',
    ]);
    expect((await told({ status: 'cancelled' }, 'parked', [event])).next).toEqual([
      'callsheet runs rerun run_1 --failed',
    ]);
    const atWork = { status: 'running', owner: 'me', leaseUntil: UNTIL };
    expect((await told(atWork, 'parked', [provider])).next).toEqual(['callsheet runs watch run_1']);
  });

  verifies('WHY-UNFINISHED-1', 'that has not run says why, and what goes on with it', async () => {
    expect(await told(outOfCredits, 'unfinished')).toEqual({
      reason: 'The run ended with OUT_OF_CREDITS before its end.',
      next: ['callsheet runs resume run_1 --max-credits 20'],
    });
    const said = async (more: object) => {
      const { reason, next } = await told(more, 'unfinished');
      return [reason, next[0]];
    };
    const resume = 'callsheet runs resume run_1';
    expect(await said({ status: 'running' })).toEqual(['The run was interrupted before its end.', resume]);
    expect(await said({ status: 'failed' })).toEqual(['The run ended with an error before its end.', resume]);
    expect(await said({ status: 'queued' })).toEqual(['The run is queued.', resume]);
    expect((await said({ status: 'waiting' }))[0]).toContain('waits');
    const atWork = { status: 'running', owner: 'me', leaseUntil: UNTIL };
    expect(await said(atWork)).toEqual(['It has no end yet: the run is at work.', 'callsheet runs watch run_1']);
    for (const status of ['cancelled', 'completed'])
      expect((await said({ status }))[1]).toBe('callsheet runs rerun run_1 --failed');
    for (const state of ['completed', 'failed', 'skipped'] as const)
      expect(await told({ status: 'completed' }, state)).toEqual({ reason: null, next: [] });
  });
});

describe('what a failed run goes on with', () => {
  const next = (error: object | null) =>
    nextCommands(runOf({ error: error === null ? null : JSON.stringify(error) }), 'failed', {
      datasets: [],
      failed: 0,
      inDoubt: 0,
      waiting: null,
    });

  verifies('NEXT-WORKS-1', 'is no resume that is out of credits again at once', () => {
    const day = ['callsheet runs resume <run>   (from tomorrow on)', 'Or raise creditsPerDay.'];
    expect(next({ code: 'OUT_OF_CREDITS', next: day })).toEqual([
      'callsheet runs resume run_1   (from tomorrow on)',
      'Or raise creditsPerDay.',
    ]);
  });

  it('is a resume after any other failure', () => {
    expect(next({ code: 'PLAY_THREW', next: ['Mend it.'] })).toEqual(['callsheet runs resume run_1']);
    expect(next(null)).toEqual(['callsheet runs resume run_1']);
  });
});
