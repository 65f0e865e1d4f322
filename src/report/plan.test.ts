import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { PlanCounts } from '../run/index.ts';
import { defineTool, type ToolCost } from '../sdk/index.ts';
import { buildCatalogue } from '../tool/index.ts';
import type { ShownCalls } from './leg-bounds.ts';
import type { PilotCall, PilotRow } from './pilot.ts';
import { planJson } from './plan.ts';
import type { Experience, PlanFacts } from './plan-legs.ts';

const KEYED = { idempotency: { header: 'Idempotency-Key' } };

const tool = (id: string, cost: ToolCost<never>, perSecond: number, keyed: Partial<typeof KEYED> = KEYED) =>
  defineTool({
    id,
    effect: 'read',
    input: { type: 'object' },
    cost,
    ...keyed,
    limits: { rate: [{ calls: perSecond, per: '1s' }] },
    run: () => 1,
  });

const catalogue = buildCatalogue({
  tools: [tool('one.find', { credits: 1 }, 10), tool('two.find', { credits: 4, per: 'result' }, 5)],
  mode: 'live',
});

/** Tools of which a try that fails may be charged besides. */
const unkeyed = buildCatalogue({ tools: [tool('one.find', { credits: 1 }, 10, {})], mode: 'live' });

const FIRST = { path: 'email.first', tool: 'one.find' };
const SECOND = { path: 'email.second', tool: 'two.find' };

/** A waterfall over 100 rows: 40 new first calls, 20 rows that share one, 40 that receipts answer, of which 10 missed. */
function counts(more: Partial<PlanCounts> = {}): PlanCounts {
  const legs = ['email.first', 'email.second'];
  const none = { hits: 0, misses: 0, unavailable: 0, failed: 0, rejected: 0 };
  const leg = (path: string, skipped: number) => ({ path, skipped, ...none });
  const cut = { datasetNo: 1, isShared: false };
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
      { datasetNo: 1, ...FIRST, fresh: 40, shared: 20, stopped: 60 },
      { datasetNo: 1, ...SECOND, fresh: 10, shared: 0, stopped: 10 },
    ],
    answered: [{ datasetNo: 1, ...FIRST, calls: 40 }],
    cut: [
      { ...cut, path: FIRST.path, at: FIRST.tool, rows: 40, known: [{ ...FIRST, calls: 40 }] },
      { ...cut, path: FIRST.path, at: FIRST.tool, isShared: true, rows: 20, known: [{ ...FIRST, calls: 20 }] },
      {
        ...cut,
        path: SECOND.path,
        at: SECOND.tool,
        rows: 10,
        known: [
          { ...SECOND, calls: 10 },
          { ...FIRST, calls: 10 },
        ],
      },
    ],
    stops: [],
    isCutShort: false,
    largestFile: 100,
    error: undefined,
    ...more,
  };
}

/** What the text shows at a leg: one call of each of these, and whatever else is said. */
const shown = (ids: readonly string[] = [], more: Partial<ShownCalls> = {}): ShownCalls => ({
  ...{ tools: new Map(ids.map((id) => [id, 1])), computed: 0, hidden: [] },
  ...more,
});

function experienceOf(more: Partial<Experience> = {}): Experience {
  return {
    pilot: undefined,
    tool: (id) => (catalogue.has(id) ? catalogue.get(id) : undefined),
    hitRate: () => undefined,
    meanCredits: () => undefined,
    hasFailed: () => false,
    shownAt: () => shown(),
    datasets: [{ key: 'people', mayCost: true }],
    mayCost: true,
    isRefreshed: () => false,
    ...more,
  };
}

function plan(more: Partial<Experience> = {}, facts: Partial<PlanFacts> = {}) {
  const base = { play: 'p', counts: counts(), sample: { rows: 1, of: 1 }, maxCredits: null };
  return planJson({ ...base, experience: experienceOf(more), ...facts });
}

const call = (place: typeof FIRST, more: Partial<PilotCall> = {}): PilotCall => ({
  ...place,
  isNew: true,
  isLive: true,
  outcome: 'completed',
  credits: 1,
  ...more,
});
const row = (...calls: PilotCall[]): PilotRow => ({
  calls,
  stops: [],
  skipped: [],
  isFailed: calls.at(-1)?.outcome === 'failed',
});

/** A pilot whose rows are these. */
function pilotOf(rows: readonly PilotRow[], more: Partial<NonNullable<Experience['pilot']>> = {}): Partial<Experience> {
  const datasets = [{ key: 'people', total: rows.length, rows }];
  return { pilot: { runId: 'run_1', isSameCode: true, datasets, outside: [], fileRows: null, ...more } };
}

const miss = { outcome: 'no_result', credits: 0 } as const;
const failure = { outcome: 'failed', credits: 0 } as const;

const legsOf = (json: ReturnType<typeof plan>) => json.datasets[0]?.columns[0]?.legs ?? [];

describe('what a plan makes of its counts', () => {
  it('expects a later leg as often as the tools before it have missed, where no pilot tells', () => {
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
    expect(legsOf(plan())[1]?.calls.new).toBe(70);
  });

  verifies('PLAN-EXPECTED-1', 'expects of rows what rows of the pilot did that came to the same call', () => {
    // Whose first question is new goes on twice in four; whose question another has asked, never.
    const rows = [
      row(call(FIRST)),
      row(call(FIRST)),
      row(call(FIRST, miss), call(SECOND, { credits: 4 })),
      row(call(FIRST, miss), call(SECOND, { ...miss, isNew: true })),
      row(call(FIRST, { isNew: false, isLive: false, credits: 0 })),
    ];
    const [first, second] = legsOf(plan(pilotOf(rows)));
    expect(first?.calls).toMatchObject({ new: 40, receipt: 60 });
    // Of forty twenty go on, and two calls in the pilot cost 4 credits; the twenty that share an answer buy nothing.
    expect(second).toMatchObject({ calls: { new: 30 }, credits: { least: 0, expected: 60, most: 280 } });
    expect(plan(pilotOf(rows))).toMatchObject({ isWhole: true, notes: [], pilot: { run: 'run_1', rows: 5 } });
    const other = plan(pilotOf(rows, { isSameCode: false }));
    expect(other.notes).toEqual(['How rows go on is taken from run_1, which ran other code of this play.']);
  });

  verifies(
    'PLAN-BOUNDS-1',
    'counts at most what the busiest row did, and at least nothing of tools that have failed',
    () => {
      const rows = [row(call(FIRST), call(FIRST), call(FIRST)), row(call(FIRST))];
      const looped = shown([], { tools: new Map([['one.find', Number.POSITIVE_INFINITY]]) });
      const json = plan({ ...pilotOf(rows), shownAt: (_, leg) => (leg === FIRST.path ? looped : shown()) });
      // 60 rows with 3 calls each, of which 60 are known; 20 of those are another row's.
      expect(legsOf(json)[0]?.credits).toMatchObject({ least: 40, most: 40 + 120 });
      expect(json.isWhole).toBe(false);
      expect(json.notes.join()).toContain('Rows call as often as they need at email.first');
      expect(legsOf(plan({ ...pilotOf(rows), hasFailed: () => true }))[0]?.credits.least).toBe(0);
    },
  );

  verifies(
    'PLAN-TEXT-1',
    'counts every call that the text shows in the most, where no row of the pilot came to it',
    () => {
      const rows = [row(call(FIRST))];
      const texts = new Map([
        [FIRST.path, shown(['one.find', 'two.find'])],
        [SECOND.path, shown([], { tools: new Map([['two.find', 2]]) })],
      ]);
      const json = plan({ ...pilotOf(rows), shownAt: (_, leg) => texts.get(leg) ?? shown() });
      const [first, beside, second] = legsOf(json);
      expect(first?.credits.most).toBe(40);
      // 60 rows stand at the first leg's first call, 10 at the second leg's first of two.
      expect(beside).toMatchObject({ leg: 'email.first', tool: 'two.find', credits: { expected: 0, most: 60 * 4 } });
      expect(second).toMatchObject({ calls: { new: 10 }, credits: { most: (10 + 60 * 2 + 10) * 4 } });
      expect(json.isWhole).toBe(true);
    },
  );

  verifies(
    ['PLAN-TEXT-1', 'PLAN-BLIND-1'],
    'is not whole where rows may come to calls that the text does not tell',
    () => {
      const rows = [row(call(FIRST))];
      const at = (leg: string, text: ShownCalls | undefined, more: Partial<Experience> = {}) =>
        plan({ ...pilotOf(rows), shownAt: (_, one) => (one === leg ? text : shown(['one.find'])), ...more });
      const computed = at(SECOND.path, shown([], { computed: 1 }));
      expect(computed.isWhole).toBe(false);
      expect(computed.notes.join()).toContain("does not tell every call at email.second (a tool's id is computed)");
      expect(at(SECOND.path, shown([], { hidden: ['ctx is handed on'] })).isWhole).toBe(false);
      expect(at(SECOND.path, undefined).isWhole).toBe(false);
      // Rows that stand at the only call there is make no other; free tools need nobody's yes.
      expect(at(FIRST.path, shown([], { computed: 1 })).isWhole).toBe(true);
      expect(at(SECOND.path, undefined, { mayCost: false }).isWhole).toBe(true);
    },
  );

  verifies(
    ['PLAN-TEXT-1', 'PLAN-BLIND-1'],
    'is not whole where a later dataset may have rows of what is missing',
    () => {
      // In the pilot nothing missed, and the dataset of what missed was empty.
      const [people] = counts().datasets;
      const missed = { ...people, key: 'missed', datasetNo: 2, total: 0, waiting: 0 } as NonNullable<typeof people>;
      const datasets = [...(people === undefined ? [] : [people]), missed];
      const text = (key: string | null, mayCost = true) => ({
        datasets: [
          { key: 'people', mayCost: true },
          { key, mayCost },
        ],
      });
      const planned = plan(text('missed'), { counts: counts({ datasets }) });
      expect(planned.isWhole).toBe(false);
      expect(planned.notes.join()).toContain("may rest on answers that are not there yet: 'missed'.");
      expect(plan(text('missed')).isWhole).toBe(false);
      expect(plan(text(null)).notes.join()).toContain('not there yet: one with a computed key.');
      expect(plan(text('missed', false), { counts: counts({ datasets }) }).isWhole).toBe(true);
    },
  );

  verifies('PLAN-FAILED-1', 'takes nothing from calls that all failed, and says so', () => {
    const shownAt = (_: string, leg: string) =>
      shown([FIRST, SECOND].filter(({ path }) => path === leg).map(({ tool: id }) => id));
    const failed = Array.from({ length: 6 }, () => row(call(FIRST, failure)));
    const json = plan({ ...pilotOf(failed), shownAt, hasFailed: () => true });
    const [first, second] = legsOf(json);
    expect(first?.credits).toEqual({ least: 0, expected: 40, most: 40 });
    // Nothing has ever been found at the first leg: all rows may come to the second.
    expect(second).toMatchObject({ calls: { new: 70 }, credits: { least: 0, expected: 280, most: 280 } });
    expect(json.notes).toEqual([
      'All 6 calls of one.find at email.first failed in run_1: they tell neither the cost nor how rows go on, so both are counted as without that run. A pilot of the mended tool tells more.',
    ]);
    // What is known of the tool otherwise counts.
    const known = { ...pilotOf(failed), shownAt, hitRate: () => 0.75, meanCredits: () => 0.5 };
    expect(legsOf(plan(known)).map(({ credits }) => credits.expected)).toEqual([20, 12.5]);
    // One answer tells what answers cost, and what rows do that have one.
    const one = pilotOf([...failed, row(call(FIRST))]);
    expect(plan(one).notes.join()).not.toContain('failed in');
    // Rows of a later dataset may be missing for the same reason.
    const empty = { key: 'found', total: 0, rows: [] };
    const datasets = [{ key: 'people', total: 6, rows: failed }, empty];
    expect(plan(pilotOf(failed, { datasets })).isWhole).toBe(false);
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

  verifies(
    'PLAN-BOUNDS-1',
    'scales a sample up and says so; of rows beyond it, nothing is certain and all may call',
    () => {
      const json = plan({ hitRate: () => 1 }, { sample: { rows: 100, of: 1000 } });
      expect(json.datasets[0]?.rows).toBe(1000);
      expect(legsOf(json)[0]?.calls).toMatchObject({ new: 400, receipt: 600 });
      expect(legsOf(json)[0]?.credits).toEqual({ least: 40, expected: 400, most: 940 });
      expect(json.sample).toEqual({ rows: 100, of: 1000 });
      expect(json.notes[0]).toBe('Planned on the first 100 of 1000 rows and scaled up.');
      expect(plan().sample).toBeNull();
    },
  );

  it('takes as long as the slowest account at its declared limit', () => {
    // 40 calls at 10 a second, 40 at 5 a second: the last of them go out in the eighth window.
    expect(plan({ hitRate: () => 0.5 }).seconds).toEqual({ atDeclaredLimits: 8, isDeclared: true });
    const one = { ...counts(), fresh: [{ datasetNo: 1, ...FIRST, fresh: 10, shared: 0, stopped: 10 }], cut: [] };
    expect(plan({}, { counts: one }).seconds).toEqual({ atDeclaredLimits: 0, isDeclared: true });
  });

  verifies('PLAN-UNLIMITED-1', 'knows whether any rate is declared', () => {
    const free = defineTool({ id: 'one.find', effect: 'read', input: { type: 'object' }, run: () => 1 });
    const unlimited = buildCatalogue({ tools: [free], mode: 'live' });
    const tool = (id: string) => (unlimited.has(id) ? unlimited.get(id) : undefined);
    expect(plan({ tool }).seconds).toEqual({ atDeclaredLimits: 0, isDeclared: false });
  });

  verifies('PLAN-MOST-1', 'names the tools of which a try that fails may be charged besides', () => {
    const tried = plan({ tool: (id) => (unkeyed.has(id) ? unkeyed.get(id) : catalogue.get(id)) }).notes;
    expect(tried.join()).toContain('of what sends no idempotency key: one.find. They are not in most');
    expect(plan().notes.join()).not.toContain('charged besides');
  });

  verifies('PLAN-BLIND-1', 'says what it could not see past', () => {
    const blind = counts({
      fresh: counts().fresh.slice(0, 1),
      cut: counts().cut.slice(0, 1),
      stops: ["step 'token'"],
      isCutShort: true,
      error: new Error('mine'),
    });
    const [guessed, ...notes] = plan(
      { shownAt: (_, leg) => (leg === SECOND.path ? undefined : shown()) },
      { counts: blind },
    ).notes;
    expect(guessed).toMatch(/^No earlier run tells how rows go on: .*--limit 500$/);
    expect(notes).toEqual([
      "The play's text does not tell every call at email.second (which it does not show): what these may cost beyond earlier rows is not in most.",
      "Could not see past step 'token', which a plan does not run.",
      'The play failed while it was planned: mine',
    ]);
    expect(plan({}, { counts: counts({ isCutShort: true }) }).isWhole).toBe(false);
    expect(plan().isWhole).toBe(true);
    expect(plan({ shownAt: () => shown(['two.find']) }, { counts: blind }).notes).toHaveLength(3);
  });

  verifies('PLAN-BLIND-1', 'is not whole where a step stands before rows, unless a pilot tells how they go on', () => {
    const stepped = counts({
      fresh: [],
      answered: [],
      stops: ["step 'clean'"],
      cut: [{ datasetNo: 1, path: FIRST.path, at: 'step', isShared: false, rows: 100, known: [] }],
    });
    expect(plan({}, { counts: stepped })).toMatchObject({ isWhole: false });
    const rows = [{ ...row(call(FIRST)), stops: [{ path: FIRST.path, at: 'step' }] }];
    const told = plan(pilotOf(rows), { counts: stepped });
    expect(told).toMatchObject({ isWhole: true, notes: [], credits: { least: 0, expected: 100, most: 100 } });
  });

  verifies('PLAN-BLIND-1', 'takes from the pilot what comes after a call outside datasets, and is not whole', () => {
    const outside = { ...FIRST, path: '', datasetNo: 0 };
    const short = counts({
      datasets: [],
      fresh: [{ ...outside, fresh: 1, shared: 0, stopped: 1 }],
      answered: [],
      cut: [],
      isCutShort: true,
      largestFile: 1_000,
    });
    const pilot = pilotOf([row(call(FIRST)), row(call(FIRST))], {
      outside: [{ ...outside, source: 'live', outcome: 'completed', calls: 3, credits: 3 }],
      fileRows: 2,
    });
    const json = plan(pilot, { counts: short });
    // Three calls outside, and one of each of a thousand rows.
    expect(json).toMatchObject({ isWhole: false, credits: { least: 1, expected: 1_003, most: 1_003 } });
    expect(json.datasets).toMatchObject([{ key: 'people', rows: 1_000 }]);
  });
});
