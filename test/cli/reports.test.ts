import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifies } from '../requirements.ts';
import { begin, callsheet, documentOf, type Ended, newFolder, removeFolder, typed } from './command-line.ts';
import { FILES } from './plays.ts';

let dir = '';
const json = async <Document>(...args: string[]): Promise<Document> =>
  documentOf(await typed(dir, [...args, '--json']));
let picky: Ended;
let outside: Ended;

beforeAll(async () => {
  dir = newFolder(FILES);
  await typed(dir, ['run', 'throws.play.ts']);
  await typed(dir, ['run', 'upper.play.ts', '--csv', 'rows.csv']);
  outside = await typed(dir, ['run', 'unseen.play.ts', '--yes', '--json'], { env: { PAID_KEY: 'k' } });
  picky = await typed(dir, ['run', 'picky.play.ts', '--csv', 'rows.csv', '--json']);
}, 30_000);
afterAll(() => removeFolder(dir));

/** Every path of a document with the type of what is there; names that are data are `*`. */
function shapeOf(value: unknown, path = '$'): string[] {
  if (Array.isArray(value))
    return [...new Set([`${path}: array`, ...value.flatMap((one) => shapeOf(one, `${path}[]`))])];
  if (typeof value !== 'object' || value === null) return [`${path}: ${value === null ? 'null' : typeof value}`];
  return Object.entries(value).flatMap(([name, one]) =>
    shapeOf(one, `${path}.${path.endsWith('.byTool') ? '*' : name}`),
  );
}

describe('stdout', () => {
  verifies('CLI-STDOUT-1', 'has the one document with --json and else the result; all else is on stderr', async () => {
    expect(() => JSON.parse(picky.stdout)).not.toThrow();
    expect(picky.stderr).toContain('picky: completed');
    const plain = await typed(dir, ['run', 'upper.play.ts', '--csv', 'rows.csv']);
    expect(JSON.parse(plain.stdout)).toEqual({ rows: { dataset: 'rows' } });
    const thrown = await typed(dir, ['run', 'throws.play.ts']);
    expect(thrown.stdout).toBe('');
    expect(thrown.stderr).toContain('| on the console');
  });

  verifies('CLI-STDOUT-1', 'is kept clean of all that a play writes there', async () => {
    const ended = await callsheet(dir, 'run', 'loud.play.ts', '--json');
    expect(documentOf(ended)).toMatchObject({ result: 1 });
    for (const text of ['while loading', 'past the console', 'while running', 'again'])
      expect(ended.stderr).toContain(text);
  });

  it('may have a reader that goes away', async () => {
    const { child, ended } = begin(dir, ['runs', 'events', 'last', '--json']);
    child.stdout?.destroy();
    const { exit, stderr } = await ended;
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
  });

  verifies('CLI-JSON-1', 'has the JSON of the design, pinned', async () => {
    const id = documentOf<{ run: { id: string } }>(picky).run.id;
    const list = await json<{ runs: { id: string }[] }>('runs', 'list');
    const unseen = documentOf<{ run: { id: string } }>(outside).run.id;
    const documents = {
      'run --json': documentOf(picky),
      'runs show --json': await json('runs', 'show', id),
      'runs list --json': { ...list, runs: list.runs.filter((one) => one.id === id) },
      'plan --json': await json('plan', 'paid.play.ts', '--csv', 'rows.csv'),
      'why --json': await json('why', id, '--row', 'Ada'),
      'why --json, without --row': await json('why', unseen),
      'runs errors --json': await json('runs', 'errors', id),
      'check --json': await json('check', 'upper.play.ts', '--no-types'),
      'receipts list --json': await json('receipts', 'list', '--limit', '1'),
      'tools list --json': await json('tools', 'list'),
    };
    const shapes = Object.entries(documents).flatMap(([name, document]) => [`# ${name}`, ...shapeOf(document), '']);
    await expect(shapes.join('\n')).toMatchFileSnapshot(join(import.meta.dirname, '../pins/cli-json.txt'));
  });
});

describe('reports', () => {
  verifies('CLI-ERRORS-1', 'group failed rows with counts, samples and what mends them', async () => {
    interface Errors {
      readonly failedRows: number;
      readonly groups: readonly { code: string; count: number; samples: { row: string }[]; next: string[] }[];
    }
    const { id } = documentOf<{ run: { id: string } }>(picky).run;
    const errors = await json<Errors>('runs', 'errors', id);
    expect(errors.failedRows).toBe(1);
    expect(errors.groups[0]).toMatchObject({ code: 'TOOL_THREW', count: 1, samples: [{ row: 'Bob' }] });
    expect(errors.groups[0]?.next).toContain(`callsheet runs resume ${id} --retry-failed`);
  });

  verifies('CLI-EXPORT-1', 'export all rows, completed or failed ones, as CSV, JSONL or on stdout', async () => {
    const id = documentOf<{ run: { id: string } }>(picky).run.id;
    const all = await typed(dir, ['runs', 'export', id]);
    expect(all.stdout).toBe('name,text,answer\nAda,apple,apple\nBob,banana,\nCleo,cherry,cherry\n');
    expect(readdirSync(join(dir, '.callsheet/exports'))).toEqual([]);
    const failed = await typed(dir, ['runs', 'export', id, '--rows', 'failed', '-o', 'failed.jsonl']);
    expect(failed).toMatchObject({ exit: 0, stdout: '' });
    expect(JSON.parse(readFileSync(join(dir, 'failed.jsonl'), 'utf8'))).toMatchObject({ name: 'Bob' });
    const completed = await json<{ path: string; rows: number }>('runs', 'export', id, '--rows', 'completed');
    expect(completed.rows).toBe(2);
    expect(existsSync(completed.path)).toBe(true);
    const over = await typed(dir, ['runs', 'export', id, '-o', 'rows.csv']);
    expect(over).toMatchObject({ exit: 2, stderr: expect.stringContaining('OUTPUT_IS_INPUT') });
  });

  verifies('CLI-LIMIT-1', '--limit takes the first rows', async () => {
    await typed(dir, ['run', 'upper.play.ts', '--csv', 'rows.csv', '--limit', '2', '-o', 'two.csv']);
    expect(readFileSync(join(dir, 'two.csv'), 'utf8')).toBe('name,text,answer\nAda,apple,APPLE\nBob,banana,BANANA\n');
  });

  verifies('CLI-PLAN-1', 'plan counts what would be new, and buys nothing', async () => {
    const plan = await json<{ datasets: { rows: number; columns: { legs: unknown[] }[] }[]; credits: unknown }>(
      'plan',
      'paid.play.ts',
      '--csv',
      'rows.csv',
    );
    expect(plan.credits).toMatchObject({ most: 6 });
    expect(plan.datasets[0]?.columns[0]?.legs[0]).toMatchObject({ tool: 'paid.lookup', calls: { new: 3, receipt: 0 } });
    const known = await json<typeof plan>('plan', 'upper.play.ts', '--csv', 'rows.csv');
    expect(known.datasets[0]?.columns[0]?.legs[0]).toMatchObject({ calls: { new: 0, receipt: 3 } });
  });

  it('watch, logs and events tell of a run that has ended', async () => {
    const thrown = (await json<{ runs: { id: string; play: string }[] }>('runs', 'list')).runs.find(
      (run) => run.play === 'throws',
    );
    const id = thrown?.id ?? '';
    const logs = await typed(dir, ['runs', 'logs', id, '--json']);
    const messages = logs.stdout
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { message: string }).message);
    expect(messages).toEqual(['before', 'on the console']);
    const watched = await typed(dir, ['runs', 'watch', id]);
    expect(watched).toMatchObject({ exit: 1, stderr: expect.stringContaining('PLAY_THREW') });
    const events = await typed(dir, ['runs', 'events', id, '--type', 'log']);
    expect(events.stdout).toMatch(/info {3}log {2}before\n$/);
  });
});
