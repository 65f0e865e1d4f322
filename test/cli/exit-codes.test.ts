import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifies } from '../requirements.ts';
import { addFiles, begin, documentOf, environment, newFolder, removeFolder, typed } from './command-line.ts';
import { FILES } from './plays.ts';

let dir = '';
beforeAll(() => {
  dir = newFolder(FILES);
});
afterAll(() => removeFolder(dir));

describe('exit codes', () => {
  verifies('CLI-EXIT-1', 'tell how a run ended: 0, 1, 3, 4 and 6', async () => {
    const run = (...args: string[]) => typed(dir, ['run', ...args]);
    expect((await run('upper.play.ts', '--csv', 'rows.csv')).exit).toBe(0);
    expect((await run('throws.play.ts')).exit).toBe(1);
    expect((await run('broken.play.ts')).exit).toBe(3);
    expect((await run('gone.play.ts')).exit).toBe(4);
    expect((await run('picky.play.ts', '--csv', 'rows.csv')).exit).toBe(6);
  });

  verifies(
    ['CLI-EXIT-1', 'RUN-RESUME-1'],
    'say 130 after Ctrl-C, and a resume makes what an undisturbed run makes',
    async () => {
      const rows = Array.from({ length: 150 }, (_, index) => `row ${index},text ${index}`);
      addFiles(dir, { 'many.csv': `name,text\n${rows.join('\n')}\n` });
      const { child, ended } = begin(dir, ['run', 'slow.play.ts', '--csv', 'many.csv', '-o', 'slow.csv']);
      child.stderr?.on('data', (piece: string) => {
        if (piece.includes("Dataset 'rows'")) child.kill('SIGINT');
      });
      const stopped = await ended;
      expect(stopped).toMatchObject({ exit: 130, stdout: '' });
      const id = /callsheet runs resume (run_[\w-]+)/.exec(stopped.stderr)?.[1] ?? 'none';
      const seen = documentOf<{ run: { status: string }; datasets: { unfinished: number }[] }>(
        await typed(dir, ['runs', 'show', id, '--json']),
      );
      expect(seen.run.status).toBe('interrupted');
      expect(seen.datasets[0]?.unfinished).toBeGreaterThan(0);
      const resumed = await typed(dir, ['runs', 'resume', id, '-o', 'slow.csv', '--json']);
      expect(resumed.exit).toBe(0);
      expect(documentOf<{ calls: unknown }>(resumed).calls).toMatchObject({ live: 150, failed: 0 });
      await typed(dir, ['run', 'slow.play.ts', '--csv', 'many.csv', '-o', 'whole.csv']);
      expect(readFileSync(join(dir, 'slow.csv'))).toEqual(readFileSync(join(dir, 'whole.csv')));
    },
    60_000,
  );

  it('of a run that another process works on: 1 for who wants it too, its own for who watches', async () => {
    const { child, ended } = begin(dir, ['run', 'slow.play.ts', '--csv', 'many.csv', '--refresh']);
    await new Promise<void>((admitted) => {
      child.stderr?.on('data', (piece: string) => {
        if (piece.includes("Dataset 'rows'")) admitted();
      });
    });
    const wanted = await typed(dir, ['runs', 'resume', 'last', '--json']);
    expect(documentOf<{ error: { code: string } }>(wanted).error.code).toBe('RUN_HELD');
    expect(wanted.exit).toBe(1);
    const watched = await typed(dir, ['runs', 'watch', 'last', '--json']);
    const lines = watched.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string });
    expect(lines.filter((line) => line.type === 'progress').length).toBeGreaterThan(0);
    expect(lines.at(-1)).toMatchObject({ type: 'end', run: { status: 'completed' } });
    expect(watched.exit).toBe((await ended).exit);
  }, 60_000);

  it('say 2 where there is nothing to resume', async () => {
    await typed(dir, ['run', 'upper.play.ts', '--csv', 'rows.csv']);
    const again = await typed(dir, ['runs', 'resume', 'last']);
    expect(again).toMatchObject({ exit: 2, stderr: expect.stringContaining('RUN_NOT_RESUMABLE') });
    const cancel = await typed(dir, ['runs', 'cancel', 'last']);
    expect(cancel).toMatchObject({ exit: 2, stderr: expect.stringContaining('completed already') });
  });
});

describe('an older Node.js', () => {
  verifies('CLI-NODE-1', 'gets one line with the way out, and 2', async () => {
    const old = join(dir, 'old-node.mjs');
    writeFileSync(
      old,
      "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } });",
    );
    const bin = join(import.meta.dirname, '../../src/cli/bin.ts');
    const child = spawn(process.execPath, ['--import', old, bin, 'runs', 'list'], { env: environment(dir) });
    let told = '';
    child.stderr.setEncoding('utf8').on('data', (piece: string) => {
      told += piece;
    });
    const [exit] = await once(child, 'close');
    expect(exit).toBe(2);
    expect(told.trimEnd().split('\n')).toHaveLength(1);
    expect(told).toMatch(/NODE_TOO_OLD: .*22\.13 or newer; this is 20\.20\.2.*npm ci.*npx callsheet/);
  });
});
