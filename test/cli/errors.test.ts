import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, testProvider } from '../harness/provider.ts';
import { verifies } from '../requirements.ts';
import { addFiles, documentOf, newFolder, removeFolder, typed } from './command-line.ts';
import { FILES } from './plays.ts';

let dir = '';
beforeAll(() => {
  dir = newFolder(FILES);
});
afterAll(() => removeFolder(dir));

interface Failed {
  readonly error: { code: string; message: string; details: Record<string, unknown>; next: string[] };
}

/** Arguments, code, exit, what the message names. */
const CASES: readonly (readonly [string, string, number, RegExp])[] = [
  ['run uper.play.ts', 'PLAY_FILE_NOT_FOUND', 4, /uper\.play\.ts.*upper\.play\.ts/],
  ['run broken.play.ts', 'PLAY_SYNTAX', 3, /broken\.play\.ts.*2/s],
  ['run tools/local.ts', 'PLAY_MISSING', 3, /exports no play/],
  ['run two.play.ts', 'PLAY_AMBIGUOUS', 3, /#one.*#two/],
  ['run two.play.ts#three', 'PLAY_EXPORT_NOT_FOUND', 4, /three/],
  ['run typed.play.ts --set n=many', 'PLAY_INPUT_INVALID', 3, /n: /],
  ['run upper.play.ts', 'FILE_NOT_FOUND', 3, /ctx\.csv/],
  ['run upper.play.ts --csv gone.csv', 'FILE_NOT_FOUND', 3, /gone\.csv/],
  ['run upper.play.ts --csv empty.csv', 'FILE_EMPTY', 3, /empty\.csv/],
  ['run upper.play.ts --csv other.csv', 'COLUMN_MISSING', 3, /text.*wrong/s],
  ['run upper.play.ts --csv rows.csv -o rows.csv', 'OUTPUT_IS_INPUT', 2, /rows\.csv/],
  ['run upper.play.ts --csv rows.csv -o no/such/out.csv', 'OUTPUT_FOLDER_MISSING', 2, /no\/such/],
  ['run paid.play.ts --csv rows.csv', 'CONFIRMATION_NEEDED', 2, /up to 6 credits.*confirmAbove \(5\)/],
  ['run unseen.play.ts', 'CONFIRMATION_NEEDED', 2, /Nobody can tell what this may cost.*step 'texts'/],
  ['run throws.play.ts', 'PLAY_THREW', 1, /broken/],
  ['run upper.play.ts --input @gone.json', 'FILE_NOT_FOUND', 3, /gone\.json/],
  ['runs show run_none', 'RUN_NOT_FOUND', 4, /run_none/],
  ['runs resolve run_none abc --as done', 'RUN_NOT_FOUND', 4, /run_none/],
  ['runs resolve last abc --as done', 'OPERATION_NOT_FOUND', 4, /abc.*Nothing of the run is in doubt/],
  ['runs resolve last -abc --as not-done', 'OPERATION_NOT_FOUND', 4, /-abc/],
  ['runs resolve last abc --as perhaps', 'USAGE', 2, /done, not-done/],
  ['runs resolve last abc --as done --data {', 'USAGE', 2, /JSON/],
  ['runs resolve last abc --as not-done --data {}', 'USAGE', 2, /--as done only/],
  ['tools describe local.uper', 'TOOL_NOT_FOUND', 3, /local\.upper/],
  ['tools call local.upper --set txt=1', 'TOOL_INPUT_INVALID', 1, /local\.upper/],
  ['receipts show rcp_999', 'RECEIPT_NOT_FOUND', 4, /rcp_999/],
  ['receipts show nonsense', 'RECEIPT_NOT_FOUND', 4, /nonsense/],
  ['receipts evict', 'USAGE', 2, /--key, --tool or --older-than/],
  ['receipts evict --older-than soon', 'USAGE', 2, /soon/],
  ['secrets set lower', 'SECRET_NAME_INVALID', 2, /capital letters/],
];

describe('a failed command', () => {
  verifies(
    ['CLI-ERROR-JSON-1', 'ERROR-NEXT-1'],
    'prints its error with place and next step as the only JSON',
    async () => {
      addFiles(dir, { 'empty.csv': '', 'other.csv': 'wrong,header\n1,2\n' });
      for (const [line, code, exit, message] of CASES) {
        const ended = await typed(dir, [...line.split(' '), '--json'], { stdin: 'value' });
        const { error } = documentOf<Failed>(ended);
        expect({ line, code: error.code, exit: ended.exit }).toEqual({ line, code, exit });
        expect(error.message, line).toMatch(message);
        expect(error.next.length, line).toBeGreaterThan(0);
      }
      const { stderr } = await typed(dir, ['run', 'uper.play.ts']);
      expect(stderr).toMatch(/^PLAY_FILE_NOT_FOUND: .*\n {2}→ callsheet check .*upper\.play\.ts/);
    },
    60_000,
  );

  verifies('CLI-OUTPUT-1', 'for its output path has made no run and touched nothing', async () => {
    const before = readFileSync(join(dir, 'rows.csv'), 'utf8');
    const count = async () => documentOf<{ runs: unknown[] }>(await typed(dir, ['runs', 'list', '--json'])).runs.length;
    const runs = await count();
    for (const output of ['rows.csv', './tools/../rows.csv', 'no/such/out.csv', 'tools'])
      expect((await typed(dir, ['run', 'upper.play.ts', '--csv', 'rows.csv', '-o', output])).exit).not.toBe(0);
    expect(await count()).toBe(runs);
    expect(readFileSync(join(dir, 'rows.csv'), 'utf8')).toBe(before);
  });
});

describe('a config that does not fit', () => {
  verifies('CLI-CONFIG-1', 'is refused with the path of the error', async () => {
    const wrong = newFolder({
      'callsheet.config.json': '{ "providers": { "hunter": { "mode": "sandbx" } }, "confirm": 1 }',
    });
    const { exit, stderr } = await typed(wrong, ['tools', 'list']);
    expect(exit).toBe(3);
    expect(stderr).toMatch(/CONFIG_INVALID: .*callsheet\.config\.json.*providers\.hunter\.mode/);
    addFiles(wrong, {
      'callsheet.config.json': '{ "providers": { "hunter": { "limits": { "rates": [] } } }, "confirmAbov": 1 }',
    });
    const told = (await typed(wrong, ['tools', 'list'])).stderr;
    expect(told).toMatch(/providers\.hunter\.limits: .*"rates"\. Did you mean 'rate'\?/);
    expect(told).toMatch(/the config: .*"confirmAbov"\. Did you mean 'confirmAbove'\?/);
    removeFolder(wrong);
  });
});

describe('the workspace', () => {
  verifies(
    'CLI-WORKSPACE-1',
    'is the nearest folder upwards, or what --workspace or CALLSHEET_WORKSPACE says',
    async () => {
      addFiles(dir, { 'deep/er/x.txt': '' });
      const tools = async (from: string, ...more: string[]) =>
        documentOf<{ tools: { id: string }[] }>(await typed(from, ['tools', 'list', '--json', ...more])).tools.filter(
          // Those that every workspace has say nothing about which one it is.
          ({ id }) => id.includes('.'),
        ).length;
      expect(await tools(join(dir, 'deep/er'))).toBe(4);
      const elsewhere = newFolder();
      expect(await tools(elsewhere, '--workspace', dir)).toBe(4);
      const named = await typed(elsewhere, ['tools', 'list', '--json'], { env: { CALLSHEET_WORKSPACE: dir } });
      expect(documentOf<{ tools: { id: string }[] }>(named).tools.filter(({ id }) => id.includes('.'))).toHaveLength(4);
      expect(existsSync(join(elsewhere, '.callsheet'))).toBe(false);
      removeFolder(elsewhere);
    },
  );
});

describe('a provider that refuses', () => {
  verifies('ERRORS-SAID-1', 'is quoted by runs errors and why', async () => {
    const provider = await testProvider((response) => json(response, 422, { error: 'poison' }));
    const there = newFolder(FILES);
    addFiles(there, {
      'tools/refusing.ts': `import { defineTool } from 'callsheet';
export const refusing = defineTool<{ text: string }>({
  id: 'acme.refusing', effect: 'read', input: { type: 'object' }, request: () => ({ url: '${provider.url}' }),
});
`,
      'refused.play.ts': FILES['upper.play.ts'].replace('local.upper', 'acme.refusing'),
    });
    expect((await typed(there, ['run', 'refused.play.ts', '--csv', 'rows.csv', '--yes'])).exit).toBe(6);
    const errors = (await typed(there, ['runs', 'errors', 'last'])).stdout;
    expect(errors).toMatch(/Ada: .*422.*\n {6}it said: \{"error":"poison"\}\n/);
    expect(errors).toMatch(/\n {2}→ Mend what the provider names first.*\n {2}→ callsheet runs resume/);
    const why = (await typed(there, ['why', 'last', '--row', 'Ada'])).stdout;
    expect(why).toContain('  it said: {"error":"poison"}\n');
    expect(why).toMatch(/answer: rejected, by acme\.refusing.* It said: \{"error":"poison"\}\n/);
    removeFolder(there);
  });
});

describe('money', () => {
  verifies('CLI-CONFIRM-1', 'is spent with --yes, or up to --max-credits', async () => {
    addFiles(dir, { '.env': 'PAID_KEY=k\n' });
    const run = (...more: string[]) => typed(dir, ['run', 'paid.play.ts', '--csv', 'rows.csv', ...more]);
    expect(await run()).toMatchObject({ exit: 2, stderr: expect.stringContaining('CONFIRMATION_NEEDED') });
    const capped = await run('--max-credits', '3');
    expect(capped).toMatchObject({ exit: 1, stderr: expect.stringContaining('OUT_OF_CREDITS') });
    expect((await run('--yes')).exit).toBe(0);
    // All is bought by now, so there is nothing to ask.
    expect((await run()).exit).toBe(0);
  });

  verifies(['NEXT-WORKS-1', 'WHY-UNFINISHED-1'], 'that is used up is named with what goes on after it', async () => {
    const poor = newFolder(FILES);
    addFiles(poor, { '.env': 'PAID_KEY=k\n' });
    const { stderr } = await typed(poor, ['run', 'paid.play.ts', '--csv', 'rows.csv', '--max-credits', '3']);
    const resumes = stderr.split('\n').filter((line) => line.includes('runs resume'));
    expect(resumes).toEqual([expect.stringMatching(/^ {2}→ callsheet runs resume run_\S+ --max-credits \d+$/)]);
    const { stdout } = await typed(poor, ['why', 'last', '--row', 'Cleo']);
    expect(stdout).toContain(`The run ended with OUT_OF_CREDITS before its end.\n${resumes[0]}\n`);
    expect(stdout).not.toContain('no call was made for it');
    removeFolder(poor);
  });

  it('is not asked about where little is at stake', async () => {
    expect((await typed(dir, ['run', 'upper.play.ts', '--csv', 'rows.csv'])).stderr).not.toContain('may cost');
  });
});
