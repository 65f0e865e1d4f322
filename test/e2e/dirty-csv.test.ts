import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { cli, jsonOf } from './harness/cli.ts';
import { folder } from './harness/folders.ts';

const PLAY = `import { definePlay } from 'callsheet';
export default definePlay('copy', async (ctx, input: { csv: string }) => {
  const rows = await ctx.dataset('rows', await ctx.csv(input.csv)).withColumn('seen', (row, _ctx, index) => index).run();
  return { rows };
});
`;

/** Cells of one file, in characters that Windows-1252 has. */
const HEADER = ['Vorname', 'Größe', 'Größe', '', 'Notiz'];
const ROWS: readonly (readonly string[])[] = [
  ['Zoë', '007', '1,5', 'x', 'erste\nzweite "Zeile"; mit Semikolon'],
  ['Jürgen', '+49 (0)30', '2026-01-02', '', '  Leerzeichen vorn und hinten  '],
  ['Łukasz'.replace('Ł', 'L'), '1e5', '00000', 'null', '„Anführung“ – € 5'],
  ['kurz', '1'],
  ['lang', '1', '2', '3', '4', 'über', 'zählig'],
  ['', '', '', '', ''],
  ['=1+1', '@x', '-', '+', '\tTab'],
];

function csvText(delimiter: string, lineBreak: string): string {
  const cell = (value: string): string =>
    /["\r\n]/.test(value) || value.includes(delimiter) ? `"${value.replaceAll('"', '""')}"` : value;
  return [HEADER, ...ROWS].map((row) => row.map(cell).join(delimiter) + lineBreak).join('');
}

/** Single bytes, with the five characters of this file that Windows-1252 keeps between 0x80 and 0x9F. */
function windows1252(text: string): Buffer {
  const special = new Map([
    ['€', 0x80],
    ['„', 0x84],
    ['“', 0x93],
    ['–', 0x96],
    ['ë', 0xeb],
  ]);
  return Buffer.from(
    [...text].map((character) => {
      const byte = special.get(character) ?? character.charCodeAt(0);
      if (byte > 0xff) throw new Error(`${character} is not in Windows-1252`);
      return byte;
    }),
  );
}

function utf16(text: string): Buffer {
  return Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')]);
}

const FORMS = [
  {
    name: 'semicolons, Windows-1252, CRLF',
    bytes: windows1252(csvText(';', '\r\n')),
    says: [/windows-1252/i, 'semicolon', 'CRLF'],
  },
  { name: 'tabs, UTF-16, LF', bytes: utf16(csvText('\t', '\n')), says: [/utf-16/i, 'tab'] },
  {
    name: 'pipes, UTF-8 with BOM, CRLF',
    bytes: Buffer.from(`\uFEFF${csvText('|', '\r\n')}`),
    says: [/byte order mark/, 'pipe'],
  },
  {
    name: 'commas, a sep= line, UTF-8',
    bytes: Buffer.from(`sep=,\n${csvText(',', '\n')}`),
    says: ['sep= line', 'comma'],
  },
] as const;

verifies(
  [
    'FILE-ENCODING-1',
    'FILE-DELIMITER-1',
    'FILE-QUOTES-1',
    'FILE-RAGGED-1',
    'FILE-HEADERS-1',
    'FILE-VALUES-1',
    'CLI-IMPORT-1',
    'FILE-OUT-1',
  ],
  'dirty CSVs in every form lose no value on their way to the export, and everything odd is reported',
  async () => {
    const outputs = await Promise.all(
      FORMS.map(async ({ name, bytes, says }) => {
        const dir = folder({ 'copy.play.ts': PLAY, 'in.csv': bytes });
        const ended = await cli(dir, ['run', 'copy.play.ts', '--csv', 'in.csv', '-o', 'out.csv', '--json']);
        expect(ended.exit, `${name}\n${ended.stderr}`).toBe(0);
        expect(jsonOf(ended).datasets[0], name).toMatchObject({ total: ROWS.length, completed: ROWS.length });
        expectReported(ended.stderr, name, says);
        return readFileSync(join(dir, 'out.csv'), 'utf8');
      }),
    );
    const [header, ...rows] = parse(outputs[0] ?? '', { bom: true, relax_column_count: false }) as string[][];
    // The user's own columns in their spelling, the cells beyond them, and what the play derived.
    expect(header).toEqual([...HEADER, '_extra_1', '_extra_2', 'seen']);
    expect(rows).toHaveLength(ROWS.length);
    for (const [index, row] of ROWS.entries()) {
      const wanted = [...row, ...Array.from({ length: 7 - row.length }, () => '')];
      expect(rows[index]?.slice(0, 7), `row ${index}`).toEqual(wanted);
      expect(rows[index]?.[7]).toBe(String(index));
    }
    // One content, one output, in whatever bytes it came.
    expect(new Set(outputs).size).toBe(1);
  },
  120_000,
);

function expectReported(stderr: string, name: string, says: readonly (string | RegExp)[]): void {
  const odd = [
    'repeats a name',
    'has no name',
    'too few cells',
    'too many cells',
    /Ragged rows: lines \d+, \d+/,
    'with no value at all',
  ];
  for (const said of [...says, ...odd])
    expect(stderr, name).toMatch(said instanceof RegExp ? said : new RegExp(said.replace(/[=.]/g, '\\$&')));
}
