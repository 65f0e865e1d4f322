import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { runReport } from '../../src/report/index.ts';
import { digest } from '../../src/scope/index.ts';
import {
  existingRun,
  prepareRerun,
  type RunRecord,
  reportSource,
  resumeOptions,
  type Workspace,
} from '../../src/workspace/index.ts';
import { crash, laterClock } from '../harness/crash.ts';
import { rerun } from '../harness/rerun.ts';
import { countedTool, endsAs } from '../harness/tools.ts';
import { attempt, openTest, playFile, queued, runPlay, testFolder, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const FILE = 'p.play.ts';

/** Three rows whose columns are given as text. */
const play = (columns: string, options = `{ key: 'n', concurrency: 1 }`): string => `async (ctx) => {
  const rows = await ctx.dataset('rows', [{ n: 0 }, { n: 1 }, { n: 2 }])${columns}.run(${options});
  return (await rows.materialize()).map(({ n, ...row }) => row);
}`;
const call = (label: string, tool: string, input = '{ n: row.n }'): string =>
  `(await ctx.tools.execute({ id: '${label}', tool: '${tool}', input: ${input} })).data`;
const column = (name: string, value: string): string => `.withColumn('${name}', async (row, ctx) => ${value})`;
const FOUND = column('found', call('f', 'acme.find'));

async function goOn(
  workspace: Workspace,
  runId: string,
  change: { file?: string; resend?: boolean; retryFailed?: boolean },
) {
  const { file = FILE, ...rest } = change;
  await resumeOptions(workspace, await existingRun(workspace, runId), {
    ...rest,
    code: { play: file, cwd: workspace.paths.dir },
  });
  return attempt(workspace, runId);
}

async function failuresOf(workspace: Workspace, run: RunRecord) {
  const rows = await workspace.store.report.failedRows(run.no, 1, { afterOrdinal: -1, limit: 9 });
  return rows.map((row) => JSON.parse(row.error ?? '{}') as { code: string; message: string });
}

describe('a run under changed code', () => {
  verifies('CODE-RESUME-1', 'uses what is recorded and keeps finished rows; only what is new is done', async () => {
    const find = countedTool({ reuse: 'never' }, ({ n }) => n);
    const other = countedTool({ id: 'acme.other' }, ({ n }) => n * 100);
    const dir = testFolder();
    const tools = [find.tool, other.tool];
    const now = await openTest(dir, { tools });
    const old = play(
      column(
        'v',
        `{ const found = ${call('f', 'acme.find')}; if (row.n === 1) throw new Error('mine'); return found; }`,
      ).replace('=> {', '=> {'),
    );
    const run = await queued(now, old, { file: FILE });
    let rows = 0;
    await crash(now, run.id, (write) => write.kind === 'row' && ++rows === 3);
    expect(find.sent.map(({ input }) => input.n)).toEqual([0, 1, 2]);
    const later = await openTest(dir, { tools, clock: laterClock() });
    playFile(
      later,
      play(column('v', `{ const found = ${call('f', 'acme.find')}; return found + ${call('o', 'acme.other')}; }`)),
      { file: FILE },
    );
    const { result, run: resumed } = await goOn(later, run.id, {});
    expect(result.map((row: { v?: number }) => row.v ?? null)).toEqual([0, null, 202]);
    const retried = await goOn(later, run.id, { retryFailed: true });
    expect(retried.result.map((row: { v?: number }) => row.v)).toEqual([0, 101, 202]);
    expect([find.sent.length, other.sent.map(({ input }) => input.n)]).toEqual([3, [2, 1]]);
    expect(resumed.artifact).not.toBe(run.artifact);
    // Without --code it stays with that code from now on, and a rerun has it from there.
    const again = await rerun(later, retried.run);
    expect([again.result, again.run.artifact, find.sent.length]).toEqual([retried.result, resumed.artifact, 3]);
  });

  verifies('CODE-COLUMNS-1', 'with other columns runs the rows again, answered by what is recorded', async () => {
    const find = countedTool({ reuse: 'never' }, ({ n }) => n);
    const other = countedTool({ id: 'acme.other' }, ({ n }) => n * 100);
    const dir = testFolder();
    const tools = [find.tool, other.tool];
    const now = await openTest(dir, { tools });
    const run = await queued(now, play(FOUND), { file: FILE });
    let rows = 0;
    await crash(now, run.id, (write) => write.kind === 'row' && ++rows === 3);
    const later = await openTest(dir, { tools, clock: laterClock() });
    playFile(later, play(column('more', call('o', 'acme.other')) + FOUND), { file: FILE });
    const ended = await goOn(later, run.id, {});
    const expected = [0, 1, 2].map((n) => ({ more: n * 100, found: n }));
    expect(ended.result).toEqual(expected);
    expect(ended.events.find(({ type }) => type === 'dataset.redefined')?.message).toContain("'rows'");
    expect([find.sent.length, other.sent.length]).toEqual([3, 3]);
    const { datasets } = await runReport(reportSource(later), ended.run);
    expect(datasets).toMatchObject([{ total: 3, completed: 3, failed: 0 }]);
    // The same by a rerun, of which no row was chosen.
    const first = await runPlay(later, play(FOUND), { file: 'q.play.ts' });
    playFile(later, play(FOUND + column('more', call('o', 'acme.other'))), { file: 'q.play.ts' });
    const sentBefore = find.sent.length;
    const again = await rerun(later, first.run, { code: 'q.play.ts', rows: ['0'] });
    expect([again.result, find.sent.length]).toEqual([expected, sentBefore]);
    const begun = await rerun(later, first.run, { code: 'q.play.ts', column: 'more' });
    expect([begun.result, find.sent.length]).toEqual([expected, sentBefore]);
    expect((await runReport(reportSource(later), begun.run)).calls.byTool).not.toHaveProperty('acme.find');
  });

  verifies(
    'CODE-WRITE-1',
    'sends no write again from another place or in another form, unless it is told to',
    async () => {
      const { tool, sent } = countedTool({ id: 'acme.send', effect: 'write' });
      const workspace = await testWorkspace({ tools: [tool] });
      const text = play(
        column('sent', call('s', 'acme.send')) +
          column('then', `{ if (globalThis.breaks) throw new Error('mine'); return 1; }`),
      );
      const globals = globalThis as { breaks?: boolean };
      globals.breaks = true;
      const first = await runPlay(workspace, text, { file: FILE });
      globals.breaks = false;
      expect(sent).toHaveLength(3);
      const codes = [
        [
          'another column',
          play(column('mail', call('s', 'acme.send'))),
          /call 's' in mail.*call 's' in sent with the same input/,
        ],
        [
          'another label',
          play(column('sent', call('t', 'acme.send'))),
          /call 't' in sent.*call 's' in sent with the same input/,
        ],
        [
          'another input',
          play(column('sent', call('s', 'acme.send', '{ n: row.n, more: 1 }'))),
          /call 's' in sent.*another input/,
        ],
      ] as const;
      for (const [name, code, told] of codes) {
        playFile(workspace, code, { file: FILE });
        const made = await rerun(workspace, first.run, { code: FILE });
        const failures = await failuresOf(workspace, made.run);
        expect([name, failures.map((failure) => failure.code), sent.length]).toEqual([
          name,
          ['WRITE_ALREADY_DONE', 'WRITE_ALREADY_DONE', 'WRITE_ALREADY_DONE'],
          3,
        ]);
        expect(failures[0]?.message).toMatch(told);
        // A rerun of that one knows that its code is not that of the run that sent them.
        await rerun(workspace, made.run, { failed: true });
        await rerun(workspace, made.run, { failed: true, code: FILE });
        expect(sent).toHaveLength(3);
      }
      const kept = await rerun(workspace, first.run, { code: FILE, resend: true, rows: ['1'] });
      expect([kept.outcome.kind, sent.length]).toEqual(['completed', 6]);
      playFile(workspace, codes[0][1], { file: FILE });
      const resumed = await goOn(workspace, first.run.id, { retryFailed: true });
      expect([(await failuresOf(workspace, resumed.run)).map(({ code }) => code), sent.length]).toEqual([
        ['WRITE_ALREADY_DONE', 'WRITE_ALREADY_DONE', 'WRITE_ALREADY_DONE'],
        6,
      ]);
      const resent = await goOn(workspace, first.run.id, { retryFailed: true, resend: true });
      expect([resent.result.length, await failuresOf(workspace, resent.run), sent.length]).toEqual([3, [], 9]);
    },
  );

  verifies('CODE-WRITE-1', 'sends a write in another form where the provider has refused it as it was', async () => {
    const { tool, sent } = countedTool({ id: 'acme.send', effect: 'write' }, ({ n }) => {
      if (n === 1) throw endsAs('rejected');
      return 'ok';
    });
    const workspace = await testWorkspace({ tools: [tool] });
    const { run } = await runPlay(workspace, play(column('sent', call('s', 'acme.send'))), { file: FILE });
    playFile(workspace, play(column('sent', call('s', 'acme.send', '{ n: row.n + 10 }'))), { file: FILE });
    const again = await rerun(workspace, run, { code: FILE, failed: true });
    expect(await failuresOf(workspace, again.run)).toEqual([]);
    expect([again.result[1], sent.length]).toEqual([{ sent: 'ok' }, 4]);
    // The rerun has sent it: the source does not as well.
    const resumed = await goOn(workspace, run.id, { retryFailed: true });
    expect([(await failuresOf(workspace, resumed.run)).map(({ code }) => code), sent.length]).toEqual([
      ['WRITE_ALREADY_DONE'],
      4,
    ]);
    const alone = await runPlay(workspace, play(column('sent', call('s', 'acme.send'))), { file: 'alone.play.ts' });
    playFile(workspace, play(column('sent', call('s', 'acme.send', '{ n: row.n + 10 }'))), { file: 'alone.play.ts' });
    const mended = await goOn(workspace, alone.run.id, { file: 'alone.play.ts', retryFailed: true });
    expect([mended.result[1], sent.length]).toEqual([{ sent: 'ok' }, 8]);
  });

  verifies('CODE-REFUSED-1', 'is refused where it is another play, or keys a dataset otherwise', async () => {
    const { tool, sent } = countedTool();
    const workspace = await testWorkspace({ tools: [tool] });
    const { run } = await runPlay(workspace, play(FOUND), { file: FILE });
    playFile(workspace, play(FOUND, `{ key: ['n'] }`), { file: FILE });
    const keyed = await rerun(workspace, run, { code: FILE });
    expect([keyed.code, sent.length]).toEqual(['NON_DETERMINISTIC', 3]);
    playFile(workspace, play(FOUND), { file: FILE, name: 'another' });
    await expect(rerun(workspace, run, { code: FILE })).rejects.toMatchObject({
      code: 'PLAY_EXPORT_NOT_FOUND',
      message: expect.stringMatching(/'another'.*'test-play'/),
    });
    playFile(workspace, play(FOUND), {
      file: FILE,
      options: `{ input: { type: 'object', required: ['x'], properties: { x: { type: 'string' } } } }`,
    });
    await expect(goOn(workspace, run.id, {})).rejects.toMatchObject({ code: 'PLAY_INPUT_INVALID' });
    expect(await existingRun(workspace, run.id)).toMatchObject({ artifact: run.artifact, options: run.options });
    const held = await queued(workspace, play(FOUND), { file: 'held.play.ts' });
    const { hub: _hub, ...working } = await workspace.engine.start(held.id);
    await working.begun;
    await expect(goOn(workspace, held.id, { file: 'held.play.ts' })).rejects.toMatchObject({ code: 'RUN_HELD' });
    await working.outcome;
    const { mostCredits } = await prepareRerun(workspace, run, { cwd: workspace.paths.dir, code: 'held.play.ts' });
    expect(mostCredits).toBe(3);
    expect((await prepareRerun(workspace, run, { cwd: workspace.paths.dir })).mostCredits).toBe(0);
  });
});

describe('pinned code', () => {
  verifies('PINNED-CODE-1', 'is what a resume and a rerun execute, wherever the file has gone', async () => {
    let fails = true;
    const { tool } = countedTool({}, ({ n }) => {
      if (fails && n === 1) throw endsAs('rejected');
      return n;
    });
    const workspace = await testWorkspace({ tools: [tool] });
    const { run } = await runPlay(workspace, play(FOUND), { file: FILE });
    fails = false;
    const file = join(workspace.paths.dir, FILE);
    const expected = [{ found: 0 }, { found: 1 }, { found: 2 }];
    playFile(workspace, play(column('other', '1')), { file: FILE });
    expect((await rerun(workspace, run, { failed: true })).result).toEqual(expected);
    renameSync(file, join(workspace.paths.dir, 'moved.play.ts'));
    expect((await rerun(workspace, run)).result).toEqual(expected);
    rmSync(join(workspace.paths.dir, 'moved.play.ts'));
    await resumeOptions(workspace, run, { retryFailed: true });
    expect((await attempt(workspace, run.id)).result).toEqual(expected);
  });

  verifies(
    'PINNED-EDITION-1',
    'of an unknown contract edition is refused, also where only its description says so',
    async () => {
      const { tool, sent } = countedTool();
      const workspace = await testWorkspace({ tools: [tool] });
      const asking = await runPlay(workspace, play(FOUND), { options: `{ compatibility: '2031-01' }` });
      expect([asking.code, sent.length]).toEqual(['EDITION_UNKNOWN', 0]);
      const run = await queued(workspace, play(FOUND));
      const meta = join(workspace.paths.artifacts, `${run.artifact}.json`);
      writeFileSync(meta, readFileSync(meta, 'utf8').replace('"edition": "2026-11"', '"edition": "2027-03"'));
      const newer = await attempt(workspace, run.id);
      expect([newer.code, newer.run.status, sent.length]).toEqual(['EDITION_UNKNOWN', 'failed', 0]);
      expect(JSON.parse(newer.run.error ?? '{}').message).toMatch(/2027-03.*2026-11/);
    },
  );

  verifies('PINNED-BOUNDARY-1', 'meets no record that it does not know without saying so', async () => {
    const { tool, sent } = countedTool();
    const workspace = await testWorkspace({ tools: [tool] });
    const run = await queued(workspace, play(FOUND));
    const now = workspace.clock.now();
    await workspace.committer.commit([
      { kind: 'lease', runId: run.id, attempt: 1, owner: 'x', now, until: now, takeOver: false },
      {
        kind: 'boundary',
        fence: { runNo: run.no, attempt: 1 },
        place: { datasetNo: 0, ordinal: 0 },
        entry: {
          key: digest('k'),
          kind: 'teleport' as 'step',
          label: 'of a later release',
          path: '',
          inputDigest: digest('i'),
          state: 'resolved',
          value: '1',
          at: now,
        },
      },
    ]);
    const ended = await attempt(workspace, run.id);
    expect([ended.code, sent.length]).toEqual(['BOUNDARY_UNKNOWN', 0]);
  });
});
