import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifies } from '../requirements.ts';
import { documentOf, newFolder, removeFolder, typed } from './command-line.ts';
import { FILES } from './plays.ts';

const PLAYS = {
  ...FILES,
  'ask.play.ts': `import { definePlay } from 'callsheet';
export default definePlay('ask', async (ctx) => ({ answer: await ctx.waitForEvent('ask', { event: 'approved', timeout: '3d' }) }));
`,
  'twice.play.ts': `import { definePlay } from 'callsheet';
export default definePlay('twice', async (ctx) => {
  const first = await ctx.waitForEvent('first', { event: 'approved' });
  const second = await ctx.waitForEvent('second', { event: 'approved' });
  return { first, second, third: await ctx.waitForEvent('third', { event: 'approved' }) };
});
`,
  'parent.play.ts': `import { definePlay } from 'callsheet';
import twice from './twice.play.ts';
export default definePlay('parent', async (ctx) => {
  await ctx.runPlayAsync('one', twice, {});
});
`,
  'rows.play.ts': `import { definePlay } from 'callsheet';
export default definePlay('rows', async (ctx, input: { csv: string }) => {
  const file = await ctx.csv<{ name: string }>(input.csv);
  const rows = await ctx.dataset('rows', file)
    .withColumn('ok', (row, ctx) => ctx.waitForEvent('ask', { event: 'approved' }))
    .run({ key: 'name' });
  return { rows };
});
`,
  'several.play.ts': `import { definePlay } from 'callsheet';
export default definePlay('several', async (ctx, input: { b?: string }) => {
  for (const key of ['a', input.b ?? 'b'])
    await ctx.dataset(key, [{ n: 1 }]).withColumn('twice', (row: { n: number }) => row.n * 2).run({ key: 'n' });
  return 'kept';
});
`,
  'both.play.ts': `import { definePlay } from 'callsheet';
export default definePlay('both', async (ctx) => {
  ctx.log('begun');
  await ctx.dataset('people', [{ n: 1 }]).withColumn('m', (row) => row.n).run({ key: 'n' });
  await ctx.dataset('firms', [{ n: 1 }]).withColumn('m', (row) => row.n).run({ key: 'n' });
});
`,
};

interface Report {
  readonly error?: { readonly code: string; readonly message: string; readonly next: readonly string[] };
  readonly run: { readonly id: string; readonly status: string; readonly attempt: number };
  readonly result: unknown;
  readonly waiting: {
    readonly wakeAt: string | null;
    readonly events: readonly unknown[];
    readonly open: readonly { readonly id: string; readonly row: string | null }[];
  } | null;
  readonly datasets: readonly { readonly completed: number; readonly waiting: number }[];
  readonly next: readonly string[];
}

let dir = '';
beforeEach(() => {
  dir = newFolder(PLAYS);
});
afterEach(() => removeFolder(dir));

/** The document of a command, which ends with this exit code. */
async function json<Document = Report>(exit: number, ...args: string[]): Promise<Document> {
  const ended = await typed(dir, [...args, '--json']);
  expect(ended).toMatchObject({ exit });
  return documentOf<Document>(ended);
}

async function codeOf(exit: number, ...args: string[]): Promise<string | undefined> {
  return (await json(exit, ...args)).error?.code;
}

const show = (id: string): Promise<Report> => json(0, 'runs', 'show', id);
const signalled = (...args: string[]) =>
  json<{
    signal: { kept: boolean; answered: readonly { run: string; row: string | null }[] };
    next: readonly string[];
  }>(0, 'signal', ...args);

describe('a waiting run', () => {
  verifies('WAITING-EXIT-1', 'exits 5 without an error, and says what it waits for and what comes next', async () => {
    const { error, run, waiting, next } = await json(5, 'run', 'ask.play.ts', '--yes');
    expect(error).toBeUndefined();
    expect(run.status).toBe('waiting');
    expect(waiting).toMatchObject({ wakeAt: expect.any(String), events: [{ event: 'approved', count: 1 }] });
    expect(next).toEqual([
      `callsheet signal ${run.id} --event approved --data '{…}'`,
      'callsheet worker',
      `callsheet runs resume ${run.id}`,
    ]);
    expect(await codeOf(5, 'runs', 'resume', run.id)).toBeUndefined();
    const watched = await typed(dir, ['runs', 'watch', run.id]);
    expect(watched).toMatchObject({ exit: 5, stderr: expect.stringContaining("waits    for 'approved', until") });
    expect((await json(0, 'run', 'upper.play.ts', '--csv', 'rows.csv')).waiting).toBeNull();
  });

  verifies('WAITING-EXIT-1', 'lists its open waits: rows, since, until', async () => {
    const { run, next } = await json(5, 'run', 'rows.play.ts', '--yes', '--csv', 'rows.csv');
    expect((await show(run.id)).waiting?.open).toMatchObject([
      { id: 'wait_1', event: 'approved', row: 'Ada', since: expect.any(String), until: null },
      { row: 'Bob' },
      { row: 'Cleo' },
    ]);
    expect(next[0]).toBe(`callsheet signal ${run.id} --event approved --row Ada --data '{…}'`);
    const { stdout } = await typed(dir, ['runs', 'show', run.id]);
    expect(stdout).toMatch(/event +row +since +until +wait\n +approved +Ada +20\S+Z +– +wait_1/);
  });

  verifies('WAITING-RESUME-1', 'writes -o when it is completed, and says so while it waits', async () => {
    const waiting = await typed(dir, ['run', 'rows.play.ts', '--yes', '--csv', 'rows.csv', '-o', 'out.csv']);
    expect(waiting).toMatchObject({ exit: 5, stdout: '' });
    const id = /callsheet runs resume (run_[\w-]+) -o out\.csv/.exec(waiting.stderr)?.[1] ?? 'none';
    expect(existsSync(join(dir, 'out.csv'))).toBe(false);
    await signalled(id, '--event', 'approved', '--all', '--data', 'true');
    const { run } = await json(0, 'runs', 'resume', id, '-o', 'out.csv');
    expect(run).toMatchObject({ status: 'completed', attempt: 2 });
    expect(readFileSync(join(dir, 'out.csv'), 'utf8')).toBe(
      'name,text,ok\nAda,apple,true\nBob,banana,true\nCleo,cherry,true\n',
    );
  });
});

describe('a signal', () => {
  verifies(
    ['SIGNAL-DURABLE-1', 'SIGNAL-DOUBLE-1'],
    'is on disk, names what it answered, and answers once',
    async () => {
      const { run } = await json(5, 'run', 'ask.play.ts', '--yes');
      const { signal, next } = await signalled(run.id, '--event', 'approved', '--data', '{"by":"Ada"}');
      expect(signal).toMatchObject({ kept: false, answered: [{ run: run.id, wait: 'wait_1', row: null }] });
      expect(next).toEqual(['callsheet worker', `callsheet runs resume ${run.id}`]);
      // The second one names the same wait; the first stands.
      const again = [run.id, '--event', 'approved', '--wait', 'wait_1', '--data', '{"by":"Bob"}'];
      expect(await codeOf(2, 'signal', ...again)).toBe('WAIT_SETTLED');
      expect((await json(0, 'runs', 'resume', run.id)).result).toEqual({ answer: { by: 'Ada' } });
      const late = await json(2, 'signal', ...again);
      expect(late.error).toMatchObject({ code: 'RUN_FINISHED', message: expect.stringContaining('is completed') });
    },
  );

  verifies('SIGNAL-EARLY-1', 'that comes before its wait is kept for it', async () => {
    const { run } = await json(5, 'run', 'ask.play.ts', '--yes', '--detach');
    const { signal } = await signalled('last', '--event', 'approved', '--data', '7');
    expect(signal).toMatchObject({ kept: true, answered: [] });
    expect((await json(0, 'runs', 'resume', run.id)).result).toEqual({ answer: 7 });
  });

  verifies('SIGNAL-DOUBLE-1', 'that comes early twice is kept once, unless it is told to keep', async () => {
    const { run } = await json(5, 'run', 'twice.play.ts', '--yes', '--detach');
    const click = [run.id, '--event', 'approved', '--data', '1'];
    expect((await signalled(...click)).signal.kept).toBe(true);
    const { error } = await json(2, 'signal', ...click);
    expect(error).toMatchObject({
      code: 'WAIT_SETTLED',
      message: expect.stringMatching(/"approved" that came at 20\S+Z is kept already/),
      next: [`callsheet runs show ${run.id}`, `callsheet signal ${run.id} --event approved --data 1 --keep`],
    });
    // The second question is asked.
    expect((await json(5, 'runs', 'resume', run.id)).waiting?.open).toMatchObject([{ id: 'wait_2' }]);
  });

  verifies('SIGNAL-MATCH-1', 'answers its own event and row only, and says that others are kept', async () => {
    const { run } = await json(5, 'run', 'rows.play.ts', '--yes', '--csv', 'rows.csv');
    const { signal: other } = await signalled(run.id, '--event', 'refused', '--data', '1');
    expect(other).toMatchObject({ kept: true, answered: [] });
    const told = await typed(dir, ['signal', run.id, '--event', 'aproved', '--data', '1']);
    expect(told.stderr).toContain("What it does wait for: 'approved' (3).");
    const { signal } = await signalled(run.id, '--event', 'approved', '--row', 'Bob', '--data', 'true');
    expect(signal.answered.map(({ row }) => row)).toEqual(['Bob']);
    const resumed = await json(5, 'runs', 'resume', run.id);
    expect(resumed.datasets[0]).toMatchObject({ completed: 1, waiting: 2 });
    expect(resumed.waiting?.open.map(({ row }) => row)).toEqual(['Ada', 'Cleo']);
  });

  verifies('SIGNAL-MATCH-1', 'needs --all where several rows or runs match, and lists them', async () => {
    const { run } = await json(5, 'run', 'rows.play.ts', '--yes', '--csv', 'rows.csv');
    const several = await json(2, 'signal', run.id, '--event', 'approved', '--data', '1');
    expect(several.error).toMatchObject({
      code: 'SIGNAL_AMBIGUOUS',
      details: { waits: [{ run: run.id, row: 'Ada' }, { row: 'Bob' }, { row: 'Cleo' }] },
      next: [
        `callsheet signal ${run.id} --row Ada --event approved --data '…'`,
        `callsheet signal ${run.id} --all --event approved --data '…'`,
      ],
    });
    const other = await json(5, 'run', 'ask.play.ts', '--yes');
    expect(await codeOf(2, 'signal', '--event', 'approved', '--data', '1')).toBe('SIGNAL_AMBIGUOUS');
    const { signal } = await signalled('--event', 'approved', '--all', '--data', '1');
    expect(signal.answered.map((one) => one.run)).toEqual([run.id, run.id, run.id, other.run.id]);
  });

  verifies('SIGNAL-DOUBLE-1', 'sent twice does not answer a later question, unless it is told to keep', async () => {
    const { run } = await json(5, 'run', 'twice.play.ts', '--yes');
    const order = ['--event', 'approved', '--data', '{"by":"it\'s me"}'];
    expect((await signalled(run.id, ...order)).signal.kept).toBe(false);
    const { error } = await json(2, 'signal', run.id, ...order);
    expect(error).toMatchObject({
      code: 'WAIT_SETTLED',
      message: expect.stringMatching(/was answered at 20\S+Z/),
      next: [
        `callsheet runs show ${run.id}`,
        `callsheet signal ${run.id} --event approved --data '{"by":"it'\\''s me"}' --keep`,
      ],
    });
    expect((await json(5, 'runs', 'resume', run.id)).waiting?.open).toMatchObject([{ id: 'wait_2' }]);
    await signalled(run.id, ...order);
    const { signal } = await signalled(run.id, '--event', 'approved', '--data', '3', '--keep');
    expect(signal.kept).toBe(true);
    expect((await json(0, 'runs', 'resume', run.id)).result).toMatchObject({ third: 3 });
  });

  verifies('SIGNAL-MATCH-1', 'for a row that no dataset has is refused once all are read', async () => {
    const { run } = await json(5, 'run', 'rows.play.ts', '--yes', '--csv', 'rows.csv', '--detach');
    const nobody = ['--event', 'approved', '--row', 'Nobody', '--data', '1'];
    expect((await signalled(run.id, ...nobody)).signal.kept).toBe(true);
    await json(5, 'runs', 'resume', run.id);
    expect(await codeOf(4, 'signal', run.id, ...nobody)).toBe('ROW_NOT_FOUND');
    expect((await signalled(run.id, ...nobody, '--keep')).signal.kept).toBe(true);
    // Its number names a row as well as its key does.
    const { signal } = await signalled(run.id, '--event', 'approved', '--row', '#2', '--data', 'true');
    expect(signal.answered).toMatchObject([{ row: 'Bob' }]);
  });

  it('cannot be sent to a cancelled run, which is not cancelled twice either', async () => {
    const { run } = await json(5, 'run', 'ask.play.ts', '--yes');
    await json(0, 'runs', 'cancel', run.id);
    const { error } = await json(2, 'runs', 'cancel', run.id);
    expect(error).toMatchObject({ code: 'RUN_FINISHED', message: expect.stringContaining('is cancelled already') });
    expect(await codeOf(2, 'signal', run.id, '--event', 'approved', '--data', '1')).toBe('RUN_FINISHED');
  });

  verifies('CLI-LAST-1', 'takes the newest run that somebody started, not one that a run has started', async () => {
    const { run } = await json(0, 'run', 'parent.play.ts', '--yes');
    const { runs } = await json<{ runs: { id: string }[] }>(0, 'runs', 'list');
    expect(runs).toHaveLength(2);
    const [child] = runs;
    expect(child?.id).not.toBe(run.id);
    expect((await json(0, 'runs', 'show', 'last')).run.id).toBe(run.id);
    expect((await json<{ run: string }>(0, 'runs', 'errors', 'last')).run).toBe(run.id);
    expect((await json<{ run: string }>(0, 'why', 'last')).run).toBe(run.id);
    expect((await json(0, 'runs', 'watch', 'last')).run.id).toBe(run.id);
    for (const command of [
      ['runs', 'resume', 'last'],
      ['runs', 'cancel', 'last'],
      ['signal', 'last', '--event', 'e', '--data', '1'],
      ['runs', 'export', 'last'],
      ['runs', 'resolve', 'last', 'abc', '--as', 'not-done'],
    ]) {
      const { error } = documentOf<{ error: { details: { runId: string } } }>(await typed(dir, [...command, '--json']));
      expect([command, error.details.runId]).toEqual([command, run.id]);
    }
    expect((await json(0, 'runs', 'rerun', 'last')).run).toMatchObject({ replayedFrom: run.id });
    // Somebody asked for this one.
    const again = await json(5, 'runs', 'rerun', child?.id ?? '');
    expect((await json(0, 'runs', 'show', 'last')).run.id).toBe(again.run.id);
  });

  it('finds the one run that waits where none is named', async () => {
    const { run } = await json(5, 'run', 'ask.play.ts', '--yes');
    const told = await typed(dir, ['signal', '--event', 'approved', '--data', '-'], { stdin: '"yes"' });
    expect(told).toMatchObject({ exit: 0, stderr: expect.stringContaining(`'approved' has answered ${run.id}.`) });
    expect((await json(0, 'runs', 'resume', run.id)).result).toEqual({ answer: 'yes' });
  });

  it.each([
    ['a run that is not there', 4, 'RUN_NOT_FOUND', ['run_gone', '--event', 'e', '--data', '1']],
    ['an event that nobody waits for', 4, 'SIGNAL_UNAWAITED', ['--event', 'e', '--data', '1']],
    ['no data', 2, 'USAGE', ['--event', 'e']],
    ['no event', 2, 'USAGE', ['--data', '1']],
    ['data that is not JSON', 2, 'USAGE', ['--event', 'e', '--data', '{a:1}']],
    ['a data file that is not there', 3, 'FILE_NOT_FOUND', ['--event', 'e', '--data', '@gone.json']],
    ['a wait that is no id', 2, 'USAGE', ['--event', 'e', '--wait', 'first', '--data', '1']],
    ['a wait and a row', 2, 'USAGE', ['--event', 'e', '--wait', '1', '--row', 'a', '--data', '1']],
    ['a wait that is not there', 4, 'WAIT_NOT_FOUND', ['--event', 'e', '--wait', 'wait_9', '--data', '1']],
  ])('is refused for %s', async (_name, exit, code, args) => {
    expect(await codeOf(exit, 'signal', ...args)).toBe(code);
  });
});

describe('run --detach', () => {
  verifies('DETACH-1', 'exits 5 with the run and who works on it; worker --once does', async () => {
    const { run, next } = await json(5, 'run', 'upper.play.ts', '--csv', 'rows.csv', '--detach');
    expect(run).toMatchObject({ status: 'queued', attempt: 0 });
    expect(next).toEqual(['callsheet worker', `callsheet runs watch ${run.id}`]);
    const worked = await typed(dir, ['worker', '--once', '--json']);
    expect(worked.exit).toBe(0);
    const lines = worked.stdout.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { type: 'took', run: { id: run.id, status: 'running' } },
      { type: 'ended', run: { id: run.id, status: 'completed' } },
      { type: 'end', taken: 1, completed: 1 },
    ]);
    const idle = await typed(dir, ['worker', '--once']);
    expect(idle).toMatchObject({ exit: 0, stdout: '', stderr: 'Nothing was due.\n' });
  });

  it('does not go with recorded files, which a worker does not have', async () => {
    expect(await codeOf(2, 'run', 'upper.play.ts', '--detach', '--fixtures', dir)).toBe('USAGE');
  });

  it('resumes a run of recorded files with them only', async () => {
    const { run } = await json(5, 'run', 'ask.play.ts', '--yes', '--fixtures', dir);
    const refused = await json(2, 'runs', 'resume', run.id);
    expect(refused.error?.next).toEqual([`callsheet runs resume ${run.id} --fixtures <dir>`]);
    await json(5, 'runs', 'resume', run.id, '--fixtures', dir);
  });
});

describe('an idempotency key', () => {
  verifies(
    'START-KEY-1',
    'starts one run, and is refused for another play or input, or where it is empty',
    async () => {
      const keyed = ['--idempotency-key', 'k'];
      const first = await json(0, 'run', 'upper.play.ts', '--csv', 'rows.csv', ...keyed);
      const again = await json(0, 'run', 'upper.play.ts', '--csv', 'rows.csv', ...keyed);
      expect(again.run).toEqual(first.run);
      const other = await json(2, 'run', 'two.play.ts#two', ...keyed);
      expect(other.error).toMatchObject({ code: 'IDEMPOTENCY_CONFLICT', details: { runId: first.run.id } });
      expect(await codeOf(2, 'run', 'upper.play.ts', '--csv', 'many.csv', ...keyed)).toBe('IDEMPOTENCY_CONFLICT');
      expect(await codeOf(2, 'run', 'upper.play.ts', '--csv', 'rows.csv', '--idempotency-key', '')).toBe('USAGE');
      expect((await json<{ runs: unknown[] }>(0, 'runs', 'list')).runs).toHaveLength(1);
    },
  );
});

describe('an output that cannot be written', () => {
  it('is refused before the run where the play tells: several datasets, or none of that name', async () => {
    const several = await json(4, 'run', 'both.play.ts', '-o', 'out.csv');
    expect(several.error).toMatchObject({ code: 'DATASET_NOT_FOUND', next: ['--dataset people', '--dataset firms'] });
    expect(await codeOf(4, 'run', 'both.play.ts', '-o', 'out.csv', '--dataset', 'persons')).toBe('DATASET_NOT_FOUND');
    expect((await json<{ runs: unknown[] }>(0, 'runs', 'list')).runs).toEqual([]);
    await json(0, 'run', 'both.play.ts', '-o', 'out.csv', '--dataset', 'firms');
    expect(readFileSync(join(dir, 'out.csv'), 'utf8')).toBe('n,m\n1,1\n');
  });

  it('keeps the run and its result where only the run could tell, and says what writes it', async () => {
    const ended = await json(4, 'run', 'several.play.ts', '-o', 'out.csv');
    expect(ended).toMatchObject({ run: { status: 'completed' }, result: 'kept', error: { code: 'DATASET_NOT_FOUND' } });
    const { id } = ended.run;
    expect(ended.error?.next).toEqual([
      `callsheet runs export ${id} --dataset a -o out.csv`,
      `callsheet runs export ${id} --dataset b -o out.csv`,
    ]);
  });

  it.each(['out.xlsx', 'out.json', 'out.tsv'])('is refused by its name: %s', async (name) => {
    expect(await codeOf(2, 'run', 'upper.play.ts', '--csv', 'rows.csv', '-o', name)).toBe('OUTPUT_FORMAT_UNKNOWN');
    await json(0, 'run', 'upper.play.ts', '--csv', 'rows.csv');
    expect(await codeOf(2, 'runs', 'export', 'last', '-o', name)).toBe('OUTPUT_FORMAT_UNKNOWN');
    expect(existsSync(join(dir, name))).toBe(false);
  });
});

describe('a hint', () => {
  it('names the run wherever it is known', async () => {
    const { run } = await json(5, 'run', 'upper.play.ts', '--csv', 'rows.csv', '--detach');
    rmSync(join(dir, '.callsheet/artifacts'), { recursive: true });
    const worked = await typed(dir, ['worker', '--once']);
    expect(worked).toMatchObject({ exit: 0, stderr: expect.stringContaining(`${run.id}: failed: ARTIFACT_MISSING`) });
    expect(worked.stderr).toContain(`callsheet runs resume ${run.id} --code`);
    const resumed = await json(1, 'runs', 'resume', run.id);
    expect(resumed.error?.next[1]).toContain(`callsheet runs resume ${run.id} --code`);
    const shown = await typed(dir, ['runs', 'show', run.id]);
    for (const { stdout, stderr } of [worked, shown]) expect(`${stdout}${stderr}`).not.toContain('<run>');
  });
});

describe('--workspace', () => {
  it('must be a folder that is there, and makes none', async () => {
    const missing = await json(4, '--workspace', 'gone', 'runs', 'list');
    expect(missing.error?.code).toBe('WORKSPACE_NOT_FOUND');
    expect(existsSync(join(dir, 'gone'))).toBe(false);
    expect((await typed(dir, ['init', 'gone'])).exit).toBe(0);
  });
});
