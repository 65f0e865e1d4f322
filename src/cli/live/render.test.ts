import { describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { RunProgress, RunWait } from '../../workspace/index.ts';
import { liveLines, plainLines } from './render.ts';
import { type LiveSnapshot, RateMeter } from './snapshot.ts';

const leg = {
  path: 'email.hunter',
  hits: 310,
  misses: 190,
  unavailable: 2,
  skipped: 0,
  failed: 1,
  rejected: 4,
  credits: 310,
};
const dataset = {
  key: 'leads',
  datasetNo: 1,
  total: 1000,
  started: 520,
  active: 20,
  queued: 480,
  waiting: 0,
  completed: 450,
  failed: 30,
  skipped: 20,
  reused: 0,
  credits: 310,
  legs: [leg],
  slow: [],
};
const counts = {
  live: 500,
  receipt: 3,
  coalesced: 0,
  sourceRun: 0,
  unsent: 0,
  journal: 0,
  hits: 310,
  noResult: 190,
  failed: 3,
  credits: 310,
};
const progress: RunProgress = {
  datasets: [dataset],
  calls: { 'hunter.email_finder': counts },
  credits: { reserved: 20, settled: 310.5, limit: 5000 },
  accounts: [],
};
const wait: RunWait = {
  runId: 'run_1',
  account: 'hunter/default',
  waiting: 12,
  reason: 'pace',
  until: 61_500,
  sinceMs: 40,
};

const account: RunProgress['accounts'][number] = {
  account: 'hunter/default',
  allowedRate: 15,
  limits: [{ calls: 15, perMs: 1_000 }],
  usedRate: 14.72,
  waiting: 12,
  inFlight: 9,
  concurrency: 10,
  gateClosedUntil: null,
  deferred: 0,
  credits: 310,
  failing: false,
  runs: [wait],
};

function at(...accounts: RunProgress['accounts']): Partial<LiveSnapshot> {
  return { progress: { ...progress, accounts } };
}

function snapshot(over: Partial<LiveSnapshot> = {}): LiveSnapshot {
  return { at: 60_000, progress, rates: new Map([['leads', 50]]), ...over };
}

describe('the live view', () => {
  verifies('CLI-LIVE-1', 'has a line for each dataset and leg, and the cost', () => {
    expect(liveLines(snapshot(), 200)).toEqual([
      'leads  [████████████░░░░░░░░░░░░] 500/1,000 rows  30 failed  20 skipped  50 rows/s  ETA 10 s  310 credits',
      '  email.hunter  [██████░░░░░░] 310 hits  190 misses  4 rejected  2 unavailable  1 failed  310 credits',
      'calls 500 live, 3 from receipts; 310.5 of 5,000 credits, 20 reserved',
    ]);
  });

  verifies('CLI-LIVE-1', 'says what is waited for, and until when', () => {
    const line = liveLines(snapshot(at(account)), 200).at(-1);
    expect(line).toMatch(/^12 calls to hunter\/default wait for its declared rate until \d\d:\d\d:\d\d \(1\.5 s\)$/);
    expect(
      liveLines(snapshot(at({ ...account, runs: [{ ...wait, waiting: 1, until: null, reason: 'credits' }] })), 200).at(
        -1,
      ),
    ).toBe('1 call to hunter/default waits for reserved credits to settle');
  });

  verifies('CLI-LIVE-1', 'says how fast a leg goes, and how long it still takes', () => {
    const rates = new Map([['leads|email.hunter', 24.04]]);
    expect(liveLines(snapshot({ rates }), 200)[1]).toMatch(/ {2}24 rows\/s {2}ETA 21 s {2}310 credits$/);
  });

  verifies(
    ['GOVERNOR-SHOWN-1', 'PACE-SHOWN-1'],
    'has the numbers that the governor decides with, of accounts where something goes on',
    () => {
      const lineOf = (more: Partial<typeof account>): string | undefined =>
        liveLines(snapshot(at({ ...account, runs: [], ...more })), 200)[3];
      expect(lineOf({})).toBe('hunter/default  14.7 calls/s of 15/s  9 of 10 in flight  12 waiting  310 credits');
      const two = [
        { calls: 15, perMs: 1_000 },
        { calls: 600, perMs: 60_000 },
        { calls: 9_000, perMs: 600_000 },
      ];
      expect(lineOf({ usedRate: 13.5, allowedRate: 10, limits: two })).toContain(
        'default  13.5 calls/s of 15/s, 600/min, 9,000/10 min  9 of',
      );
      expect(lineOf({ allowedRate: 8.04 })).toContain('14.7 calls/s of 15/s, slowed to 8/s by refusals  9 of');
      expect(lineOf({ allowedRate: 8.04, limits: [] })).toContain('14.7 calls/s, slowed to 8/s by refusals  9 of');
      const quiet = { usedRate: 0, inFlight: 0, waiting: 0 };
      expect(lineOf(quiet)).toBeUndefined();
      const undeclared = { ...quiet, usedRate: 2, allowedRate: null, limits: [], concurrency: null, credits: 0 };
      expect(lineOf(undeclared)).toBe('hunter/default  2 calls/s  0 in flight');
      expect(lineOf({ ...undeclared, deferred: 3, gateClosedUntil: 65_000, failing: true })).toMatch(
        / {2}3 deferred \(429\) {2}closed until \d\d:\d\d:\d\d \(5 s\) {2}failing: tried at a trickle$/,
      );
      for (const [reason, text] of [
        ['concurrency', 'a free connection'],
        ['gate', 'the provider to take calls again'],
        ['turn', 'its turn'],
      ] as const)
        expect(liveLines(snapshot(at({ ...account, runs: [{ ...wait, reason, until: null }] })), 200).at(-1)).toBe(
          `12 calls to hunter/default wait for ${text}`,
        );
    },
  );

  verifies('CLI-LIVE-1', 'says which events rows wait for, and until when', () => {
    const events = [
      { event: 'approved', count: 3 },
      { event: 'paid', count: 1 },
    ];
    const line = liveLines(snapshot({ waited: { wakeAt: 61_500, events } }), 200).at(-1);
    expect(line).toMatch(/^waiting for 'approved' \(3\), 'paid', and until \d\d:\d\d:\d\d \(1\.5 s\) at most$/);
    expect(plainLines(snapshot({ waited: { wakeAt: null, events } }))[0]).toMatch(
      /; waiting for 'approved' \(3\), 'paid'$/,
    );
    expect(liveLines(snapshot({ waited: { wakeAt: null, events: [] } }), 200)).toHaveLength(3);
  });

  verifies('LIVE-PARKED-1', 'tells a time left only where the rows that wait are back by then', () => {
    // 40 rows wait and 460 go on, at 50 rows a second: ten seconds, if the others are back in that time.
    const parked = { ...progress, datasets: [{ ...dataset, queued: 440, waiting: 40 }] };
    const lineOf = (waited: LiveSnapshot['waited']) => liveLines(snapshot({ progress: parked, waited }), 200)[0];
    const events = [{ event: 'approved', count: 40 }];
    expect(lineOf({ wakeAt: 64_000, events })).toContain('40 waiting  50 rows/s  ETA 10 s');
    expect(lineOf({ wakeAt: 71_000, events })).toMatch(/50 rows\/s {2}310/);
    expect(lineOf({ wakeAt: null, events })).not.toContain('ETA');
    expect(lineOf(undefined)).not.toContain('ETA');
  });

  it('tells no rate and no time left before it knows them', () => {
    expect(liveLines(snapshot({ rates: new Map([['leads', null]]) }), 200)[0]).not.toMatch(/rows\/s|ETA/);
    expect(liveLines(snapshot({ rates: new Map([['leads', 0]]) }), 200)[0]).not.toContain('ETA');
  });

  it('shows the slowest row', () => {
    const slow = [
      { ordinal: 6, path: 'email.hunter', sinceMs: 125_000 },
      { ordinal: 9, path: 'email.hunter', sinceMs: 90_000 },
    ];
    const shown = snapshot({ progress: { ...progress, datasets: [{ ...dataset, slow }] } });
    expect(liveLines(shown, 200)).toContain('  slow: row 7 has been in email.hunter for 2 min 5 s, and 1 more');
  });

  it('never draws a line wider than the terminal', () => {
    for (const line of liveLines(snapshot(at(account)), 40)) expect([...line].length).toBeLessThanOrEqual(40);
  });

  verifies('CLI-LIVE-1', 'is a line for each dataset where nothing can be redrawn', () => {
    expect(plainLines(snapshot(at({ ...account, runs: [{ ...wait, until: null }] })))).toEqual([
      'leads: 500/1,000 rows  30 failed  20 skipped  50 rows/s  ETA 10 s  310 credits; calls 500 live, 3 from receipts; 310.5 of 5,000 credits, 20 reserved; 12 calls to hunter/default wait for its declared rate',
    ]);
  });
});

describe('rows a second', () => {
  verifies('LIVE-PARKED-1', 'count rows that finish, not those that are parked or come back', () => {
    const of = (more: Partial<typeof dataset>): RunProgress => ({ ...progress, datasets: [{ ...dataset, ...more }] });
    const meter = new RateMeter();
    meter.observe(of({ completed: 10, failed: 0, waiting: 90 }), 0);
    expect(meter.observe(of({ completed: 10, failed: 0, waiting: 100 }), 1_000).get('leads')).toBe(0);
    expect(meter.observe(of({ completed: 14, failed: 0, waiting: 0 }), 2_000).get('leads')).toBe(2);
    // Nor those that an earlier attempt has finished, which appear at once on a resume.
    expect(meter.observe(of({ completed: 514, failed: 0, reused: 500 }), 3_000).get('leads')).toBeCloseTo(4 / 3);
    expect(meter.observe(of({ completed: 0, failed: 0 }), 4_000).get('leads')).toBe(0);
  });

  const at = (completed: number): RunProgress => ({ ...progress, datasets: [{ ...dataset, completed, failed: 0 }] });

  it('are unknown at first, and then those of the last ten seconds', () => {
    const meter = new RateMeter();
    expect(meter.observe(at(0), 0).get('leads')).toBeNull();
    expect(meter.observe(at(100), 1_000).get('leads')).toBe(100);
    for (let second = 2; second <= 30; second++) meter.observe(at(100), second * 1_000);
    expect(meter.observe(at(100), 31_000).get('leads')).toBe(0);
    // Its legs have rates of their own: rows that go through them before they are finished.
    expect(meter.observe(at(100), 31_000).get('leads|email.hunter')).toBe(0);
    const more = [{ ...leg, hits: leg.hits + 30 }];
    const faster = { ...progress, datasets: [{ ...dataset, legs: more }] };
    expect(meter.observe(faster, 31_000).get('leads|email.hunter')).toBeCloseTo(3);
  });
});
