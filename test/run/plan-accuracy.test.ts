import { createHash } from 'node:crypto';
import { describe, expect } from 'vitest';
import type { PlanJson } from '../../src/report/index.ts';
import type { Tool, ToolCost } from '../../src/sdk/index.ts';
import { planRun, type Workspace } from '../../src/workspace/index.ts';
import { zeroChance } from '../harness/crash.ts';
import { countedTool, endsAs } from '../harness/tools.ts';
import { playFile, putFile, runPlay, settled, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const PILOT = 500;
const UNSEEN = 5_000;
const FILE = 'rows.csv';

/** The same number from 0 to 1 for the same question: whether a provider has an answer is a matter of the question. */
function chanceOf(name: string, input: unknown): number {
  return createHash('sha256').update(name).update(JSON.stringify(input)).digest().readUInt32BE(0) / 2 ** 32;
}

/** Answers a share of its questions; a person without an answer at one provider has one less often at the next. */
function finder(id: string, share: number, cost: ToolCost<never>, fails = 0): Tool {
  return countedTool({ id, cost: cost as never }, (input: { n: string }) => {
    if (chanceOf(`${id}/fails`, input) < fails) throw endsAs('rejected');
    const isHard = chanceOf('hard', input) < 0.3;
    return chanceOf(id, input) < (isHard ? share / 3 : share)
      ? { found: input.n, people: 1 + Math.floor(chanceOf('people', input) * 5) }
      : null;
  }).tool;
}

/** A provider that is away for a share of the questions: for too few of its calls to be called a failing one. */
function away(id: string, share: number, gone: number): Tool {
  return countedTool({ id, cost: { credits: 3 }, maxTries: 1 }, (input: { n: string }) => {
    if (chanceOf(`${id}/gone`, input) < gone) throw endsAs('notDispatched');
    return chanceOf(id, input) < share ? { found: input.n } : null;
  }).tool;
}

const TOOLS: readonly Tool[] = [
  finder('one.find', 0.5, { credits: 1 }),
  finder('two.find', 0.6, { credits: 3, per: 'result' }),
  finder('three.find', 0.7, { credits: 5 }),
  finder('broken.find', 0.6, { credits: 2 }, 0.2),
  finder('check.mail', 0.8, { credits: 2 }),
  finder('list.people', 0.7, {
    credits: ((answer: { data: { people?: number } | null }) => answer.data?.people ?? 0) as never,
    max: 5,
  }),
  away('far.find', 0.6, 0.25),
];

const CALL = (tool: string, n = 'row.n'): string =>
  `((await ctx.tools.execute({ id: 'ask', tool: '${tool}', input: { n: ${n} } })).data?.found ?? null)`;
const over = (columns: string, more = ''): string => `async (ctx, input) => {
  const file = await ctx.csv('${FILE}');
  ${more}
  const rows = await ctx.dataset('rows', file)${columns}.run({ key: 'id' });
  return { rows };
}`;
const WATERFALL = `.withColumn('mail', steps()
  .step('one', async (row, ctx) => ${CALL('one.find')})
  .step('two', async (row, ctx) => ${CALL('two.find')}, { runIf: (row) => row.one === null })
  .step('three', async (row, ctx) => ${CALL('three.find')}, { runIf: (row) => row.one === null && row.two === null })
  .return((row) => row.one ?? row.two ?? row.three))`;

/** Questions of rows; the pilot takes the first 500. */
const unlike = (row: number): string => String(row);
const ofCompanies = (row: number): string => String(Math.floor(chanceOf('company', row) * 1_700));

interface Shape {
  readonly play: string;
  readonly question?: (row: number) => string;
}

const SHAPES: Readonly<Record<string, Shape>> = {
  'a waterfall of three legs': { play: over(WATERFALL) },
  'a column that checks what an earlier one found': {
    play: over(`${WATERFALL}.withColumn('checked', {
      runIf: (row) => row.mail !== null, run: async ({ row, ctx }) => ${CALL('check.mail')} })`),
  },
  'a leg that is unavailable, and goes on': {
    play: over(`.withColumn('mail', steps()
      .step('far', async (row, ctx) => ${CALL('far.find')}, { continueOnProviderUnavailable: true })
      .step('three', async (row, ctx) => ${CALL('three.find')}, { runIf: (row) => row.far === null })
      .return((row) => row.far ?? row.three))`),
  },
  'a column whose calls fail, and their rows': {
    play: over(`.withColumn('mail', async (row, ctx) => ${CALL('broken.find')})
      .withColumn('checked', async (row, ctx) => row.mail && ${CALL('check.mail')})`),
  },
  'costs that are a function of the answer': {
    play: over(`.withColumn('people', async (row, ctx) => ${CALL('list.people')})
      .withColumn('mail', async (row, ctx) => row.people && ${CALL('two.find')})`),
  },
  'two tools in one leg, and one of them twice': {
    play: over(`.withColumn('mail', async (row, ctx) => {
      const one = ${CALL('one.find')};
      if (one !== null) return one;
      const again = ${CALL('three.find', "row.n + '1'")};
      return again ?? (${CALL('three.find', "row.n + '2'")});
    })`),
  },
  'two calls at once': {
    play: over(`.withColumn('mail', async (row, ctx) => {
      const [one, two] = await Promise.all([(async () => ${CALL('one.find')})(), (async () => ${CALL('two.find')})()]);
      return one ?? two ?? ${CALL('three.find')};
    })`),
  },
  'as many calls as an answer has people': {
    play: over(`.withColumn('mails', async (row, ctx) => {
      const { data } = await ctx.tools.execute({ id: 'list', tool: 'list.people', input: { n: row.n } });
      const mails = [];
      for (let person = 0; person < (data?.people ?? 0); person++) mails.push(${CALL('one.find', 'row.n + person')});
      return mails;
    })`),
  },
  'a program in a program': {
    play: over(`.withColumn('mail', steps()
      .step('first', steps()
        .step('one', async (row, ctx) => ${CALL('one.find')})
        .step('two', async (row, ctx) => row.one ?? ${CALL('two.find')})
        .return((row) => row.one ?? row.two))
      .step('three', async (row, ctx) => ${CALL('three.find')}, { runIf: (row) => row.first === null })
      .return(async (row, ctx) => row.first ?? row.three ?? ${CALL('check.mail')}))`),
  },
  'questions that rows have in common, at every leg': { play: over(WATERFALL), question: ofCompanies },
  'questions that rows have in common behind the first leg': {
    play: over(`.withColumn('mail', async (row, ctx) => ${CALL('one.find', 'row.id')})
      .withColumn('company', async (row, ctx) => row.mail && ${CALL('three.find')})`),
    question: ofCompanies,
  },
  'a step before the calls of a row': {
    play: over(`.withColumn('mail', async (row, ctx) => {
      const n = await ctx.step('clean', () => row.n + 'x');
      return (${CALL('one.find')}) ?? (${CALL('two.find', 'n')});
    })`),
  },
  'a call before the dataset, another for each run': {
    play: over(
      WATERFALL,
      `await ctx.tools.execute({ id: 'all', tool: 'three.find', input: { n: 'rows ' + (await file.count()) } });`,
    ),
  },
  'a second dataset of what the first one found': {
    play: `async (ctx, input) => {
      const rows = await ctx.dataset('rows', await ctx.csv('${FILE}'))
        .withColumn('mail', async (row, ctx) => ${CALL('one.find')}).run({ key: 'id' });
      const found = (await rows.materialize()).filter((row) => row.mail !== null).map(({ id, n }) => ({ id, n }));
      const more = await ctx.dataset('found', found)
        .withColumn('phone', async (row, ctx) => ${CALL('three.find')}).run({ key: 'id' });
      return { rows, more };
    }`,
  },
};

function csv(rows: readonly number[], question: (row: number) => string): string {
  return `id,n\n${rows.map((row) => `${row},${question(row)}`).join('\n')}\n`;
}

async function spend(workspace: Workspace, play: string, file: string): Promise<number> {
  const { run, code } = await runPlay(workspace, play, { file });
  expect(code).toBeUndefined();
  return settled(workspace, run);
}

/** A pilot over the first rows, a plan for the others, and what these then cost. */
async function planned(
  { play, question = unlike }: Shape,
  rows: (all: readonly number[]) => readonly number[] = (all) => all.slice(PILOT),
): Promise<{ readonly plan: PlanJson; readonly cost: number }> {
  const workspace = await testWorkspace({ tools: TOOLS, chance: zeroChance() });
  const { dir } = workspace.paths;
  const all = Array.from({ length: PILOT + UNSEEN }, (_, row) => row);
  putFile(dir, FILE, csv(all.slice(0, PILOT), question));
  await spend(workspace, play, 'test.play.ts');
  putFile(dir, FILE, csv(rows(all), question));
  const file = playFile(workspace, play, { file: 'test.play.ts' });
  const plan = await planRun(workspace, { play: file, cwd: dir, input: {} });
  const cost = await spend(workspace, play, 'test.play.ts');
  await workspace.close();
  return { plan, cost };
}

function expectClose({ plan, cost }: { readonly plan: PlanJson; readonly cost: number }): void {
  const { least, expected, most } = plan.credits;
  expect(Math.abs(expected - cost) / cost, `${expected} expected, ${cost} spent`).toBeLessThan(0.2);
  expect(cost).toBeGreaterThanOrEqual(least);
  expect(cost).toBeLessThanOrEqual(most);
}

describe(`after a pilot of ${PILOT} rows, a plan for ${UNSEEN} others`, () => {
  for (const [name, shape] of Object.entries(SHAPES))
    verifies(
      ['PLAN-EXPECTED-1', 'PLAN-BOUNDS-1'],
      `expects what they cost within a fifth, between least and most: ${name}`,
      async () => expectClose(await planned(shape)),
      60_000,
    );

  verifies('PLAN-FAILED-1', 'whose calls all failed, expects what they cost once the tool is mended', async () => {
    let isBroken = true;
    const { tool } = countedTool({ id: 'new.find', maxTries: 1, cost: { credits: 2 } }, ({ n }) => {
      if (isBroken) throw new Error('not written yet');
      return { found: n };
    });
    const workspace = await testWorkspace({ tools: [tool], chance: zeroChance() });
    const rows = Array.from({ length: 300 }, (_, row) => row);
    putFile(workspace.paths.dir, FILE, csv(rows, unlike));
    const play = over(`.withColumn('mail', async (row, ctx) => ${CALL('new.find')})`);
    expect(await spend(workspace, play, 'test.play.ts')).toBe(0);
    isBroken = false;
    const file = playFile(workspace, play, { file: 'test.play.ts' });
    const plan = await planRun(workspace, { play: file, cwd: workspace.paths.dir, input: {} });
    expect(plan.credits).toEqual({ least: 0, expected: 600, most: 600 });
    expect(plan.notes.join()).toContain('All 300 calls of new.find at mail failed');
    expect(await spend(workspace, play, 'test.play.ts')).toBe(600);
  });

  verifies(
    ['PLAN-EXPECTED-1', 'PLAN-BOUNDS-1'],
    'holds where the rows of the pilot are among them',
    async () => expectClose(await planned({ play: over(WATERFALL) }, (all) => all)),
    60_000,
  );

  const legs = (calls: string): string => `async (ctx, input) => {
    ${calls}
    const rows = await ctx.dataset('rows', await ctx.csv('${FILE}')).withColumn('mail', steps()
      .step('one', find('one')).step('two', find('two'), { runIf: (row) => row.one === null })
      .step('three', find('three'), { runIf: (row) => row.one === null && row.two === null })
      .return((row) => row.one ?? row.two ?? row.three)).run({ key: 'id' });
    return { rows };
  }`;
  const TEXTS: Readonly<Record<string, { readonly calls: string; readonly isTold: boolean }>> = {
    'made by a function that is told its tool': {
      calls: `const find = (name) => async (row, c) => ${CALL('X').replaceAll("'X'", "name + '.find'").replace('ctx.', 'c.')};`,
      isTold: true,
    },
    'with a tool that only the run can tell': {
      calls: `const find = (name) => async (row, ctx) => ${CALL('X').replaceAll("'X'", "[name, 'find'].join('.')")};`,
      isTold: false,
    },
  };
  for (const [name, { calls, isTold }] of Object.entries(TEXTS))
    verifies('PLAN-TEXT-1', `after a pilot that found all at once, bounds legs ${name}, or asks`, async () => {
      const sure = { credits: 1 };
      const { tool: one } = countedTool({ id: 'one.find', cost: sure }, ({ n }) =>
        Number(n) < 20 ? { found: n } : null,
      );
      const tools = [one, finder('two.find', 0, { credits: 2 }), finder('three.find', 1, { credits: 5 })];
      const workspace = await testWorkspace({ tools, chance: zeroChance() });
      const { dir } = workspace.paths;
      const [pilot, later] = [
        Array.from({ length: 20 }, (_, row) => row),
        Array.from({ length: 30 }, (_, row) => row + 20),
      ];
      putFile(dir, FILE, csv(pilot, unlike));
      expect(await spend(workspace, legs(calls), 'test.play.ts')).toBe(20);
      putFile(dir, FILE, csv(later, unlike));
      const file = playFile(workspace, legs(calls), { file: 'test.play.ts' });
      const plan = await planRun(workspace, { play: file, cwd: dir, input: {} });
      const cost = await spend(workspace, legs(calls), 'test.play.ts');
      expect(cost).toBeGreaterThanOrEqual(30 * 8 - 30 * 5);
      expect(plan.isWhole).toBe(isTold);
      if (isTold) expect(plan.credits).toEqual({ least: 30, expected: 30, most: 30 * 8 });
      else expect(plan.notes.join()).toContain("mail.two (a tool's id is computed)");
      expect(!plan.isWhole || cost <= plan.credits.most).toBe(true);
      await workspace.close();
    });
});
