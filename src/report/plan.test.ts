import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { PlanCounts } from '../run/index.ts';
import { defineTool, type ToolCost } from '../sdk/index.ts';
import { buildCatalogue } from '../tool/index.ts';
import { type Experience, type PlanFacts, planJson } from './plan.ts';

const tool = (id: string, cost: ToolCost<never>, perSecond: number) =>
  defineTool({
    id,
    effect: 'read',
    input: { type: 'object' },
    cost,
    limits: { rate: [{ calls: perSecond, per: '1s' }] },
    run: () => 1,
  });

const catalogue = buildCatalogue({
  tools: [tool('one.find', { credits: 1 }, 10), tool('two.find', { credits: 4, per: 'result' }, 5)],
  mode: 'live',
});

/** A waterfall over 100 rows: 40 new first calls, 20 rows that share one, 40 that receipts answer, of which 10 missed. */
function counts(more: Partial<PlanCounts> = {}): PlanCounts {
  const legs = ['email.first', 'email.second'];
  const leg = (path: string, skipped: number) => ({ path, hits: 0, misses: 0, unavailable: 0, skipped, failed: 0 });
  return {
    datasets: [
      {
        key: 'people',
        datasetNo: 1,
        total: 100,
        waiting: 70,
        legs: [leg('email.first', 0), leg('email.second', 30)],
        columns: [{ name: 'email', legs }],
      } as unknown as PlanCounts['datasets'][number],
    ],
    fresh: [
      { datasetNo: 1, path: 'email.first', tool: 'one.find', fresh: 40, shared: 20, stopped: 60 },
      { datasetNo: 1, path: 'email.second', tool: 'two.find', fresh: 10, shared: 0, stopped: 10 },
    ],
    answered: [{ datasetNo: 1, path: 'email.first', tool: 'one.find', calls: 40 }],
    stops: [],
    largestFile: 100,
    error: undefined,
    ...more,
  };
}

function plan(more: Partial<Experience> = {}, facts: Partial<PlanFacts> = {}) {
  const experience: Experience = {
    tool: (id) => (catalogue.has(id) ? catalogue.get(id) : undefined),
    hitRate: () => undefined,
    meanCredits: () => undefined,
    callsPerRow: () => undefined,
    toolsOf: () => [],
    ...more,
  };
  return planJson({ play: 'p', counts: counts(), experience, sample: { rows: 1, of: 1 }, maxCredits: null, ...facts });
}

const legsOf = (json: ReturnType<typeof plan>) => json.datasets[0]?.columns[0]?.legs ?? [];

describe('what a plan makes of its counts', () => {
  verifies('PLAN-EXPECTED-1', 'a later leg is expected as often as the earlier ones have missed before', () => {
    const [first, second] = legsOf(plan({ hitRate: (id) => (id === 'one.find' ? 0.75 : 0.5) }));
    expect(first).toMatchObject({
      calls: { new: 40, receipt: 60, skipped: 0 },
      credits: { least: 40, expected: 40, most: 40 },
    });
    // Ten are certain; of sixty on their way a quarter comes here; all of them may.
    expect(second).toMatchObject({
      calls: { new: 25, receipt: 0, skipped: 30 },
      credits: { least: 0, expected: 50, most: 280 },
    });
  });

  it('expects the worst where nothing is known, and what an earlier run did where there was one', () => {
    expect(legsOf(plan())[1]?.calls.new).toBe(70);
    const known = plan({
      callsPerRow: (_dataset, leg) => (leg === 'email.second' ? 0.1 : undefined),
      meanCredits: () => 2,
    });
    expect(legsOf(known)[1]).toMatchObject({ calls: { new: 16 }, credits: { expected: 32 } });
  });

  verifies('CLI-PLAN-1', 'what the limit would not allow is blocked, and no sum is above it', () => {
    const json = plan({ hitRate: () => 0.5 }, { maxCredits: 60 });
    expect(json.credits).toEqual({ least: 40, expected: 60, most: 60 });
    // 40 and 80 credits are expected, so half of each leg's calls is beyond the limit.
    expect(legsOf(json).map(({ calls }) => [calls.new, calls.blocked])).toEqual([
      [40, 20],
      [40, 20],
    ]);
    expect(legsOf(plan({}, { maxCredits: 10_000 })).map(({ calls }) => calls.blocked)).toEqual([0, 0]);
  });

  it('scales a sample up and says so', () => {
    const json = plan({ hitRate: () => 1 }, { sample: { rows: 100, of: 1000 } });
    expect(json.datasets[0]?.rows).toBe(1000);
    expect(legsOf(json)[0]?.calls).toMatchObject({ new: 400, receipt: 600 });
    expect(json.sample).toEqual({ rows: 100, of: 1000 });
    expect(json.notes).toEqual(['Planned on the first 100 of 1000 rows and scaled up.']);
    expect(plan().sample).toBeNull();
  });

  it('takes as long as the slowest account at its declared limit', () => {
    // 40 calls at 10 a second, 40 at 5 a second.
    expect(plan({ hitRate: () => 0.5 }).seconds).toEqual({ atDeclaredLimits: 8 });
  });

  it('says what it could not see past', () => {
    const blind = counts({ fresh: counts().fresh.slice(0, 1), stops: ["step 'token'"], error: new Error('mine') });
    expect(plan({}, { counts: blind }).notes).toEqual([
      'No tool is known at email.second: if these call tools, they are not counted.',
      "Could not see past step 'token', which a plan does not run.",
      'The play failed while it was planned: mine',
    ]);
    expect(plan({ toolsOf: () => ['two.find'] }, { counts: blind }).notes).toHaveLength(2);
  });
});
