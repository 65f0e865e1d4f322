import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { exportDataset, runReport, type WhyJson, whyRow } from '../../src/report/index.ts';
import { existingRun, progressOf, type RunRecord, reportSource, type Workspace } from '../../src/workspace/index.ts';
import { crash, laterClock, zeroChance } from '../harness/crash.ts';
import { rerun } from '../harness/rerun.ts';
import { countedTool, endsAs } from '../harness/tools.ts';
import { openTest, queued, retryFailed, runPlay, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const ask = (tool: string, input = 'name: row.name'): string =>
  `(await ctx.tools.execute({ id: 'ask', tool: '${tool}', input: { ${input} } })).data`;
const over = (names: readonly string[], columns: string): string => `async (ctx) => {
  const rows = await ctx.dataset('people', ${JSON.stringify(names)}.map((name, n) => ({ name, n })))${columns}
    .run({ key: 'n', concurrency: 2 });
  return { rows };
}`;

/** Finds mails; a checker that knows some of them to be bad; a domain of everybody. */
function tools(broken: { is: boolean } = { is: true }) {
  return [
    countedTool({ id: 'one.find' }, ({ name }) => (name.includes('none') ? null : `${name}@one.io`)).tool,
    countedTool({ id: 'two.find', cost: { credits: 5, per: 'result' } }, ({ name }) =>
      name.includes('nowhere') ? null : `${name}@two.io`,
    ).tool,
    countedTool({ id: 'check.mail', cost: { credits: 2 } }, ({ mail }) => !mail.startsWith('bad')).tool,
    countedTool({ id: 'name.domain', cost: { credits: 3 } }, ({ name }) => `${name}.io`).tool,
    countedTool({ id: 'shaky.find', cost: { credits: 7 }, maxTries: 1 }, ({ name }) => {
      if (name.includes('refused') && broken.is) throw endsAs('rejected');
      return `${name}@shaky.io`;
    }).tool,
  ];
}

async function outcomes(workspace: Workspace, run: RunRecord, row: string): Promise<string[]> {
  const why: WhyJson = await whyRow(reportSource(workspace), run, { row });
  return why.columns.flatMap(({ attempts }) => attempts.map(({ leg, outcome }) => `${leg} ${outcome}`));
}

/** Provenance of the first column, by row. */
async function exported(workspace: Workspace, run: RunRecord) {
  const path = join(workspace.paths.dir, 'out.jsonl');
  await exportDataset(reportSource(workspace), run, { path, provenance: true });
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line)._provenance as Record<string, { leg: string | null; credits: number }>);
}

describe('a leg that found something', () => {
  verifies(
    'PROVENANCE-REJECTED-1',
    'is rejected where a later step threw it away and another leg answered',
    async () => {
      const workspace = await testWorkspace({ tools: tools() });
      const { run } = await runPlay(
        workspace,
        over(
          ['bad', 'good', 'bad nowhere'],
          `.withColumn('mail', steps()
        .step('one', async (row, ctx) => ${ask('one.find')})
        .step('checked', async (row, ctx) => ${ask('check.mail', 'mail: row.one')} ? row.one : null)
        .step('two', async (row, ctx) => ${ask('two.find')}, { runIf: (row) => row.checked === null })
        .return((row) => row.checked ?? row.two))`,
        ),
      );
      expect(await outcomes(workspace, run, '0')).toEqual([
        'mail.one rejected',
        'mail.checked completed',
        'mail.two completed',
      ]);
      expect(await outcomes(workspace, run, '1')).toEqual([
        'mail.one completed',
        'mail.checked completed',
        'mail.two skipped',
      ]);
      expect((await outcomes(workspace, run, '2')).at(-1)).toBe('mail.two no_result');
      expect((await exported(workspace, run)).map(({ mail }) => mail)).toMatchObject([
        { leg: 'mail.two', credits: 8 },
        { leg: 'mail.checked', credits: 3 },
        { leg: 'mail.checked', credits: 3 },
      ]);
    },
  );

  verifies('PROVENANCE-REJECTED-1', 'is rejected where `return` or a step around it threw it away', async () => {
    const workspace = await testWorkspace({ tools: tools() });
    const inner = (name: string): string => `.step('${name}', steps()
      .step('deep', async (row, ctx) => ${ask('one.find')})
      .return((row) => row.deep))`;
    const { run } = await runPlay(
      workspace,
      over(
        ['bad', 'good'],
        `
        .withColumn('mail', steps().step('one', async (row, ctx) => ${ask('one.find')})
          .return((row) => row.one.startsWith('bad') ? null : row.one))
        .withColumn('other', steps()${inner('around')}
          .step('two', async (row, ctx) => ${ask('two.find')}, { runIf: (row) => row.around.startsWith('bad') })
          .return((row) => ({ mail: row.two ?? row.around })))`,
      ),
    );
    expect(await outcomes(workspace, run, '0')).toEqual([
      'mail.one rejected',
      'other.around.deep rejected',
      'other.two completed',
    ]);
    expect(await outcomes(workspace, run, '1')).toEqual([
      'mail.one completed',
      'other.around.deep completed',
      'other.two skipped',
    ]);
  });

  verifies(
    'PROVENANCE-REJECTED-1',
    'is not rejected where the leg that answered went by it, or nobody can tell',
    async () => {
      const workspace = await testWorkspace({ tools: tools() });
      const { run, result } = await runPlay(
        workspace,
        `async (ctx) => {
        const rows = await ctx.dataset('people', [{ name: 'ada', n: 0 }])
          .withColumn('mail', steps()
            .step('domain', async (row, ctx) => ${ask('name.domain')})
            .step('one', async (row, ctx) => ${ask('one.find', 'name: row.domain')})
            .return((row) => row.one))
          .withColumn('size', steps().step('one', async (row, ctx) => ${ask('one.find')}).return((row) => row.one.length * 1000))
          .withColumn('row', steps().step('one', async (row, ctx) => ${ask('one.find')}).return((row) => row))
          .withColumn('whole', steps()
            .step('one', (row, ctx) => ctx.tools.execute({ id: 'ask', tool: 'one.find', input: { name: row.name } }))
            .return((row) => row.one.data))
          .run({ key: 'n' });
        return (await rows.first()).row;
      }`,
      );
      // What a step found is a plain property of the row.
      expect(result).toMatchObject({ name: 'ada', n: 0, one: 'ada@one.io' });
      const all = await outcomes(workspace, run, '0');
      expect(all.filter((one) => !one.endsWith('completed'))).toEqual([]);
      expect(all).toHaveLength(5);
    },
  );

  verifies('PROVENANCE-REJECTED-1', 'and a column that a condition left out is skipped', async () => {
    const workspace = await testWorkspace({ tools: tools() });
    const { run } = await runPlay(
      workspace,
      over(['ada'], `.withColumn('mail', { runIf: () => false, run: async ({ row, ctx }) => ${ask('one.find')} })`),
    );
    expect(await outcomes(workspace, run, '0')).toEqual(['mail skipped']);
  });
});

describe('the credits of all cells', () => {
  const NAMES = ['ada', 'none', 'bad', 'none nowhere', 'refused', 'ada', 'refused twice'];
  const PLAY = over(
    NAMES,
    `
    .withColumn('mail', steps()
      .step('one', async (row, ctx) => ${ask('one.find')})
      .step('two', async (row, ctx) => ${ask('two.find')}, { runIf: (row) => row.one === null })
      .return(async (row, ctx) => {
        const mail = row.one ?? row.two;
        return mail && ${ask('check.mail', 'mail')} ? mail : null;
      }))
    .withColumn('twice', async (row, ctx) => [${ask('name.domain')}, ${ask('name.domain', "name: row.name + '2'")}])
    .withColumn('shaky', async (row, ctx) => ${ask('shaky.find')})`,
  );

  async function agree(workspace: Workspace, run: RunRecord): Promise<number> {
    const cells = (await exported(workspace, run)).flatMap((row) => Object.values(row));
    const sum = cells.reduce((total, { credits }) => total + credits, 0);
    const report = await runReport(reportSource(workspace), run);
    expect(sum).toBe(report.credits.settled);
    expect(report.datasets[0]?.credits).toBe(sum);
    return sum;
  }

  verifies(
    'PROVENANCE-CREDITS-1',
    'are those of runs show, with failed rows, retries, refreshes and reruns',
    async () => {
      const broken = { is: true };
      const workspace = await testWorkspace({ tools: tools(broken), chance: zeroChance() });
      const first = await runPlay(workspace, PLAY);
      // 6 names once; two mails of the second leg; five mails checked, two domains each, four shaky ones.
      expect(await agree(workspace, first.run)).toBe(6 + 5 + 5 * 2 + 6 * 6 + 4 * 7);
      broken.is = false;
      const retried = await retryFailed(workspace, first.run.id);
      expect(await agree(workspace, retried.run)).toBe(6 + 5 + 5 * 2 + 6 * 6 + 6 * 7);
      const refreshed = await runPlay(workspace, PLAY, { refresh: ['one.find'] });
      expect(await agree(workspace, refreshed.run)).toBe(7);
      const again = await rerun(workspace, refreshed.run, { refresh: ['check.mail'] });
      expect(await agree(workspace, again.run)).toBeGreaterThan(0);
    },
  );

  verifies(
    ['PROVENANCE-CREDITS-1', 'LEGS-RESUMED-1'],
    'are those of runs show after a kill, and the legs have counted each row once',
    async () => {
      const workspace = await testWorkspace({ tools: tools(), chance: zeroChance() });
      const run = await queued(workspace, PLAY);
      let rows = 0;
      await crash(workspace, run.id, (write) => write.kind === 'row' && ++rows > 3);
      const other = await openTest(workspace.paths.dir, {
        tools: tools(),
        clock: laterClock(),
        chance: zeroChance(),
      });
      const progress = await other.engine.start(run.id);
      const outcome = await progress.outcome;
      expect(outcome.kind).toBe('completed');
      const view = progress.view();
      const [dataset] = view === undefined ? [] : progressOf(view).datasets;
      const leg = (path: string) => dataset?.legs.find((one) => one.path === path);
      expect(leg('mail.one')).toMatchObject({ hits: 4, misses: 2, rejected: 1, credits: 6 });
      expect(leg('mail.two')).toMatchObject({ hits: 1, misses: 1, skipped: 5, credits: 5 });
      expect(leg('shaky')).toMatchObject({ hits: 5, failed: 2, credits: 28 });
      const spent = await agree(other, await existingRun(other, run.id));
      expect(dataset?.credits).toBe(spent);
    },
  );
});
