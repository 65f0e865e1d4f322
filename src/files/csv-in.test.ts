import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { describeReport, exportHeader } from './index.ts';
import { failure, StagingFolder } from './staging.test-support.ts';

const folder = new StagingFolder();

describe('delimiters', () => {
  verifies('FILE-DELIMITER-1', 'finds comma, semicolon, tab and pipe', async () => {
    for (const [delimiter, text] of [
      [',', 'a,b,c\n1,2,3\n'],
      [';', 'a;b;c\n1,5;2;3\n'],
      ['\t', 'a\tb\tc\n1,5\t2;7\t3\n'],
      ['|', 'a|b|c\n1|2|3\n'],
    ] as const) {
      const { staged, report } = await folder.stage(text);
      expect(report).toMatchObject({ delimiter, delimiterFrom: 'sniffed' });
      expect(staged.header).toEqual(['a', 'b', 'c']);
    }
  });

  it('does not count delimiters inside quotes', async () => {
    const { rows, report } = await folder.stage('name;note\nA;"x, y, z, ""q"", w"\nB;"1,2,3\n4,5"\n');
    expect(report.delimiter).toBe(';');
    expect(rows[1]).toEqual({ name: 'B', note: '1,2,3\n4,5' });
  });

  verifies('FILE-DELIMITER-1', 'takes the word of a sep= line and does not read it as a row', async () => {
    const { rows, report } = await folder.stage('sep=|\r\na|b\r\n1,5|2\r\n3\r\n');
    expect(rows).toEqual([
      { a: '1,5', b: '2' },
      { a: '3', b: '' },
    ]);
    expect(report).toMatchObject({ sepLine: true, delimiter: '|', delimiterFrom: 'sep-line' });
    expect(report.ragged.first).toEqual([{ line: 4, row: 2, cells: 1 }]);
  });

  it('prefers the tab in a .tsv file, and takes an option over everything', async () => {
    expect((await folder.stage('a,b\tc\n1,2\t3\n', {}, 'x.tsv')).report.delimiter).toBe('\t');
    expect((await folder.stage('a;b,c\n', { delimiter: 'semicolon' })).staged.header).toEqual(['a', 'b,c']);
    expect((await folder.stage('a^b\n1^2\n', { delimiter: '^' })).rows).toEqual([{ a: '1', b: '2' }]);
  });

  it('refuses what cannot be a delimiter', async () => {
    for (const delimiter of ['"', 'ab', '\n', '', '→']) {
      expect((await failure(folder.stage('a\n', { delimiter }))).code).toBe('USAGE');
    }
  });

  it('says so when there is one column only', async () => {
    const { rows, report } = await folder.stage('domain\nacme.example.com\n');
    expect(rows).toEqual([{ domain: 'acme.example.com' }]);
    expect(report.delimiterFrom).toBe('default');
    expect(report.warnings).toContain('No delimiter was found: one column.');
  });
});

describe('rows as they are found', () => {
  verifies('FILE-VALUES-1', 'keeps values as strings: leading zeros, dates, numbers, spaces, formulas', async () => {
    const { rows } = await folder.stage('zip,when,sum,pad,f\n01234,2026-01-02,1e5,  x ,=1+1\n');
    expect(rows).toEqual([{ zip: '01234', when: '2026-01-02', sum: '1e5', pad: '  x ', f: '=1+1' }]);
  });

  it.each([
    ['LF', '\n', 'LF line breaks'],
    ['CRLF', '\r\n', 'CRLF line breaks'],
    ['CR', '\r', 'CR line breaks'],
  ])('reads %s line breaks', async (_name, nl, said) => {
    const { rows, report } = await folder.stage(['a,b', '1,2', '3,4', ''].join(nl));
    expect(rows).toEqual([
      { a: '1', b: '2' },
      { a: '3', b: '4' },
    ]);
    expect(describeReport(report)[0]).toContain(said);
  });

  verifies(
    'FILE-QUOTES-1',
    'reads mixed line breaks, a missing last one, and line breaks and escapes inside fields',
    async () => {
      const { rows, report } = await folder.stage('a,b\r\n1,"x\r\ny"\n2,"say ""hi"""\r3,z');
      expect(rows).toEqual([
        { a: '1', b: 'x\r\ny' },
        { a: '2', b: 'say "hi"' },
        { a: '3', b: 'z' },
      ]);
      expect(report.lineBreaks).toEqual({ lf: 1, crlf: 2, cr: 1 });
      expect(report.strayQuotes.count).toBe(0);
      expect((await folder.stage('a,b\r\n1,2\r\n')).rows).toEqual([{ a: '1', b: '2' }]);
    },
  );

  verifies('FILE-RAGGED-1', 'keeps ragged rows, nothing lost, and reports their physical lines', async () => {
    const { staged, rows, report } = await folder.stage('a,b\n\n"x\ny",2\n1\n1,2,3,4\n');
    expect(staged.header).toEqual(['a', 'b', '_extra_1', '_extra_2']);
    expect(rows[1]).toEqual({ a: '1', b: '', _extra_1: '', _extra_2: '' });
    expect(rows[2]).toEqual({ a: '1', b: '2', _extra_1: '3', _extra_2: '4' });
    expect(report.ragged).toEqual({
      count: 2,
      short: 1,
      long: 1,
      first: [
        { line: 5, row: 2, cells: 1 },
        { line: 6, row: 3, cells: 4 },
      ],
    });
    expect(report.blankLines).toBe(1);
    expect(describeReport(report)).toContain('Ragged rows: lines 5, 6.');
    expect(exportHeader(staged)).toEqual(['a', 'b', '_extra_1', '_extra_2']);
  });

  it('counts the physical lines of CRLF and CR files too, and lists 20 ragged rows at most', async () => {
    const crlf = await folder.stage('a,b\r\n"x\r\n\r\ny",2\r\n1\r\n');
    expect(crlf.report.ragged.first).toEqual([{ line: 5, row: 2, cells: 1 }]);
    const cr = await folder.stage('a,b\r"x\r\ny",2\r1\r');
    expect(cr.report.ragged.first).toEqual([{ line: 4, row: 2, cells: 1 }]);
    const many = await folder.stage(`a,b\n${'1\n'.repeat(5000)}`);
    expect(many.report.ragged.count).toBe(5000);
    expect(many.report.ragged.first.length).toBe(20);
    expect(describeReport(many.report).join('\n')).toContain('and 4980 more');
  });

  it('finds ragged lines beyond the first read', async () => {
    const { report } = await folder.stage(`a,b\n${'1,2\n'.repeat(40_000)}only\n`);
    expect(report.ragged.first).toEqual([{ line: 40_002, row: 40_001, cells: 1 }]);
  });

  verifies('FILE-HEADERS-1', 'names duplicate, empty and reserved headers apart', async () => {
    const { staged, rows, report } = await folder.stage('email,email,,email_2,__proto__,column_3\n1,2,3,4,5,6\n');
    expect(staged.header).toEqual(['email', 'email_3', 'column_3_2', 'email_2', '_proto_', 'column_3']);
    expect(staged.originalHeader).toEqual(['email', 'email', '', 'email_2', '__proto__', 'column_3']);
    expect(rows[0]).toEqual({ email: '1', email_3: '2', column_3_2: '3', email_2: '4', _proto_: '5', column_3: '6' });
    expect(report.renamedHeaders).toEqual([
      { column: 2, from: 'email', to: 'email_3', why: 'duplicate' },
      { column: 3, from: '', to: 'column_3_2', why: 'empty' },
      { column: 5, from: '__proto__', to: '_proto_', why: 'reserved' },
    ]);
    expect(describeReport(report)).toContain('Column 2 "email" repeats a name: read as email_3.');
  });

  it('keeps stray quotes and names their lines', async () => {
    const { rows, report } = await folder.stage('a,b\n5" pipe,x\n"q"z,"ok ""so"""\n"p",r\n');
    expect(rows).toEqual([
      { a: '5" pipe', b: 'x' },
      { a: '"q"z', b: 'ok "so"' },
      { a: 'p', b: 'r' },
    ]);
    expect(report.strayQuotes).toEqual({ count: 2, lines: [2, 3] });
    expect(describeReport(report)).toContain('Stray quotes: lines 2, 3.');
  });

  verifies('FILE-ODD-1', 'keeps and counts NUL bytes and rows without any value', async () => {
    const { rows, report } = await folder.stage('a,b\nx\0y,long enough not to look like UTF-16\n,\n');
    expect(rows[0]?.a).toBe('x\0y');
    expect(report).toMatchObject({ nulBytes: 1, emptyRows: 1 });
    expect(report.warnings).toEqual(['1 NUL byte, kept in the values.', '1 row with no value at all, kept.']);
  });

  verifies('FILE-ODD-1', 'reads fields of megabytes', async () => {
    const big = 'é"x,\n'.repeat(700_000);
    const { rows } = await folder.stage(`a,b\n1,"${big.replaceAll('"', '""')}"\n2,z\n`);
    expect(rows.length).toBe(2);
    expect(rows[0]?.b === big).toBe(true);
  });

  verifies('FILE-EMPTY-1', 'accepts a header alone and says so', async () => {
    const { staged, rows, report } = await folder.stage('a,b\n');
    expect(rows).toEqual([]);
    expect(staged.rows).toBe(0);
    expect(report.warnings).toEqual(['The file has a header and no rows.']);
  });

  it('stops at the limit', async () => {
    const { rows, report } = await folder.stage(`a\n${'1\n'.repeat(100_000)}`, { limit: 3 });
    expect(rows.length).toBe(3);
    expect(report).toMatchObject({ rows: 3, cutAtLimit: true });
    expect((await folder.stage('a\n1\n2\n', { limit: 2 })).report.cutAtLimit).toBe(false);
    expect((await failure(folder.stage('a\n', { limit: -1 }))).code).toBe('USAGE');
  });
});
