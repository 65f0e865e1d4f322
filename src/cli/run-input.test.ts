import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { filesNamedIn, inputOf } from './run-input.ts';
import { Terminal, type TextSink } from './terminal.ts';

const nowhere: TextSink = { write: () => true, once: () => undefined };

function terminalIn(cwd: string, stdin: readonly string[] = []): Terminal {
  async function* pieces() {
    for (const piece of stdin) yield Buffer.from(piece);
  }
  return new Terminal({ stdout: nowhere, stderr: nowhere, stdin: pieces(), env: {}, cwd, json: false });
}

const here = terminalIn('/');

describe('the input of a run', () => {
  it('is an empty object where nothing is given', async () => {
    expect(await inputOf(here, {})).toEqual({});
  });

  it('is the JSON of --input, also where it is no object', async () => {
    expect(await inputOf(here, { input: '{"a":[1]}' })).toEqual({ a: [1] });
    expect(await inputOf(here, { input: '"text"' })).toBe('text');
  });

  it('comes from a file with @, and from stdin with -', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'callsheet-input-'));
    writeFileSync(join(dir, 'input.json'), '\uFEFF{"from":"file"}');
    expect(await inputOf(terminalIn(dir), { input: '@input.json' })).toEqual({ from: 'file' });
    expect(await inputOf(terminalIn(dir, ['{"from":', '"stdin"}']), { input: '-' })).toEqual({ from: 'stdin' });
  });

  it('has the path of --csv as it was typed', async () => {
    expect(await inputOf(here, { csv: '../leads.csv', input: '{"csv":"x","n":1}' })).toEqual({
      csv: '../leads.csv',
      n: 1,
    });
  });

  it('takes --set as JSON where it is JSON, else as text, with dots for fields of fields', async () => {
    const set = ['n=3', 'text=three', 'empty=', 'list=[1,2]', 'a.b.c=true', 'a.b.d=x=y'];
    expect(await inputOf(here, { set })).toEqual({
      n: 3,
      text: 'three',
      empty: '',
      list: [1, 2],
      a: { b: { c: true, d: 'x=y' } },
    });
  });

  it('is left alone by --set where other fields of the same object are set', async () => {
    expect(await inputOf(here, { input: '{"a":{"keep":1}}', set: ['a.more=2'] })).toEqual({ a: { keep: 1, more: 2 } });
  });

  it.each([
    [{ input: '{a:1}' }, /not JSON/],
    [{ set: ['novalue'] }, /is not name=value/],
    [{ set: ['=1'] }, /is not name=value/],
    [{ set: ['a..b=1'] }, /is not name=value/],
    [{ set: ['__proto__.x=1'] }, /is not name=value/],
    [{ input: '{"a":1}', set: ['a.b=2'] }, /'a' is a number already/],
    [{ input: '[1]', csv: 'leads.csv' }, /--input is a list/],
  ])('%j is wrong usage', async (flags, message) => {
    await expect(inputOf(here, flags)).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringMatching(message),
    });
  });

  it('says which input file is missing', async () => {
    await expect(inputOf(here, { input: '@gone.json' })).rejects.toMatchObject({
      code: 'FILE_NOT_FOUND',
      message: expect.stringContaining('/gone.json'),
    });
  });
});

describe('files that an input names', () => {
  it('are found at any depth, relative to the folder of the command', () => {
    const dir = mkdtempSync(join(tmpdir(), 'callsheet-input-'));
    writeFileSync(join(dir, 'leads.csv'), 'a\n1\n');
    const input = { csv: 'leads.csv', more: [{ file: join(dir, 'leads.csv') }], text: 'no file', n: 1, none: null };
    expect(filesNamedIn(input, dir)).toEqual([join(dir, 'leads.csv'), join(dir, 'leads.csv')]);
  });
});
