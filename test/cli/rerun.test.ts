import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { addFiles, documentOf, type Ended, newFolder, removeFolder, typed } from './command-line.ts';
import { FILES } from './plays.ts';

const TOOLS = `import { defineTool } from 'callsheet';
const input = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
export const send = defineTool<{ text: string }>({ id: 'local.send', effect: 'write', input, run: () => ({ text: 'sent' }) });
export const lost = defineTool<{ text: string }>({ id: 'local.lost', effect: 'write', input, run: ({ text }) => {
  if (text === 'apple') throw Object.assign(new Error('no answer'), { endsAs: 'ambiguous' });
  return { text };
} });
`;

let dir = '';
beforeAll(() => {
  dir = newFolder(FILES);
  addFiles(dir, {
    'tools/send.ts': TOOLS,
    'send.play.ts': FILES['upper.play.ts'].replaceAll('local.upper', 'local.send').replace("'upper'", "'send'"),
    'lost.play.ts': FILES['upper.play.ts'].replaceAll('local.upper', 'local.lost').replace("'upper'", "'lost'"),
  });
});
afterAll(() => removeFolder(dir));

interface Report {
  readonly run: { readonly id: string; readonly replayedFrom: string | null };
  readonly calls: { readonly live: number; readonly sourceRun: number };
  readonly error?: { readonly code: string; readonly message: string; readonly next: readonly string[] };
}
const reported = (ended: Ended): Report => documentOf<Report>(ended);

describe('a write in doubt', () => {
  verifies('DOUBT-LISTED-1', 'is counted wherever a run is shown, with the command that lists it', async () => {
    const ended = await typed(dir, ['run', 'lost.play.ts', '--csv', 'rows.csv', '--json']);
    const { run, inDoubt, next } = documentOf<Report & { inDoubt: number; next: string[] }>(ended);
    expect(inDoubt).toBe(1);
    expect(next).toContain(`callsheet runs errors ${run.id}`);
    const shown = await typed(dir, ['runs', 'show', run.id]);
    expect(shown.stdout).toContain('doubts   1 write in doubt');
    const errors = await typed(dir, ['runs', 'errors', run.id]);
    expect(errors.stderr).toContain('1 row failed, 1 write in doubt');
    expect(errors.stdout).not.toContain('<run>');
  });
});

describe('runs rerun', () => {
  verifies('RERUN-SELECT-1', 'does chosen rows again under the code of now, and exports all rows', async () => {
    const first = reported(await typed(dir, ['run', 'picky.play.ts', '--csv', 'rows.csv', '--json']));
    addFiles(dir, { 'mended.play.ts': FILES['picky.play.ts'].replaceAll('local.picky', 'local.upper') });
    const args = ['runs', 'rerun', first.run.id, '--failed', '--code', 'mended.play.ts', '-o', 'out.csv'];
    const again = await typed(dir, [...args, '--json']);
    expect(again.exit).toBe(0);
    expect(reported(again)).toMatchObject({ run: { replayedFrom: first.run.id }, calls: { live: 1, sourceRun: 0 } });
    expect(readFileSync(join(dir, 'out.csv'), 'utf8')).toBe(
      'name,text,answer\nAda,apple,apple\nBob,banana,BANANA\nCleo,cherry,cherry\n',
    );
    const gone = await typed(dir, ['runs', 'rerun', first.run.id, '--failed', '--code', 'nofile.ts']);
    expect([gone.exit, gone.stderr]).toEqual([4, expect.stringMatching(/^PLAY_FILE_NOT_FOUND/)]);
    const told = await typed(dir, args);
    expect([told.exit, told.stderr]).toEqual([0, expect.stringContaining('rows: 1 of 3 rows again')]);
    const none = await typed(dir, ['runs', 'rerun', reported(again).run.id, '--failed', '--json']);
    expect([none.exit, reported(none).error?.code]).toEqual([2, 'RERUN_EMPTY']);
    const resumed = await typed(dir, ['runs', 'resume', first.run.id, '--retry-failed', '--code', 'mended.play.ts']);
    expect(resumed.exit).toBe(0);
  });

  verifies('RERUN-REFRESH-1', 'asks before a write is made again and before credits are spent', async () => {
    const first = reported(await typed(dir, ['run', 'send.play.ts', '--csv', 'rows.csv', '--json']));
    const args = ['runs', 'rerun', first.run.id, '--json'];
    const refused = await typed(dir, [...args, '--refresh=local.send', '--max-credits', '100']);
    expect([refused.exit, reported(refused).error]).toMatchObject([
      2,
      { code: 'CONFIRMATION_NEEDED', message: expect.stringContaining('local.send') },
    ]);
    expect(reported(await typed(dir, args)).calls).toMatchObject({ live: 0, sourceRun: 3 });
    expect(reported(await typed(dir, [...args, '--refresh'])).calls).toMatchObject({ live: 0, sourceRun: 3 });
    expect(reported(await typed(dir, [...args, '--refresh=local.send', '--yes'])).calls).toMatchObject({ live: 3 });
    const env = { PAID_KEY: 'x' };
    const paid = await typed(dir, ['run', 'paid.play.ts', '--csv', 'rows.csv', '--yes', '--json'], { env });
    const rerun = ['runs', 'rerun', reported(paid).run.id, '--json'];
    expect((await typed(dir, rerun, { env })).exit).toBe(0);
    // Six credits, where five are spent unasked.
    expect(reported(await typed(dir, [...rerun, '--refresh'], { env })).error).toMatchObject({
      code: 'CONFIRMATION_NEEDED',
      message: expect.stringContaining('6 credits'),
    });
    expect(reported(await typed(dir, [...rerun, '--refresh', '--yes'], { env })).calls).toMatchObject({ live: 3 });
  });
});
