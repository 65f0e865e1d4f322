import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { CallsheetError } from '../sdk/index.ts';
import { openCsvWriter, readStaged, type StageOptions, stageFile } from './index.ts';
import { StagingFolder } from './staging.test-support.ts';

const folder = new StagingFolder();

const odd = fc.constantFrom(
  '',
  '"',
  '""',
  ',',
  ';',
  '\t',
  '|',
  '\n',
  '\r',
  '\r\n',
  '007',
  '=1+1',
  '+49',
  '-',
  '@',
  ' ',
  '\uFEFF',
  'sep=;',
  'é',
  '😀',
  "'",
  '\\',
  'null',
  '__proto__',
);
const text = fc.oneof(
  odd,
  fc.string({ unit: 'binary' }),
  fc.array(odd, { maxLength: 6 }).map((parts) => parts.join('')),
);
/** NULs apart: a file of little else is taken for UTF-16, as it should be. */
const cell = text.filter((value) => !value.includes('\0'));

function tables(cells: fc.Arbitrary<string>) {
  return fc.integer({ min: 1, max: 5 }).chain((columns) =>
    fc.record({
      header: fc.array(cells, { minLength: columns, maxLength: columns }),
      rows: fc.array(fc.array(cells, { minLength: columns, maxLength: columns }), { maxLength: 8 }),
    }),
  );
}

async function roundTrip(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  options: Partial<StageOptions>,
) {
  const path = join(folder.path, 'trip.csv');
  const writer = await openCsvWriter(path, { header });
  await writer.write(rows);
  await writer.close();
  const staged = await stageFile(path, { filesDir: folder.files, ...options });
  const read: string[][] = [];
  for await (const chunk of readStaged(staged, { filesDir: folder.files })) {
    read.push(...chunk.map((row) => staged.header.map((name) => String(row[name]))));
  }
  return { staged, read };
}

describe('what is written can be read', () => {
  verifies(
    ['FILE-OUT-2', 'FILE-QUOTES-1', 'FILE-VALUES-1'],
    'the same headers and strings, whatever is in them',
    async () => {
      await fc.assert(
        fc.asyncProperty(tables(cell), async ({ header, rows }) => {
          const { staged, read } = await roundTrip(header, rows, { delimiter: ',' });
          expect(staged.originalHeader).toEqual(header);
          expect(read).toEqual(rows);
          expect(staged.report).toMatchObject({ ragged: { count: 0 }, strayQuotes: { count: 0 }, blankLines: 0 });
        }),
        { numRuns: 150 },
      );
    },
  );

  it('NULs too, once the encoding is named', async () => {
    await fc.assert(
      fc.asyncProperty(tables(text), async ({ header, rows }) => {
        const { read } = await roundTrip(header, rows, { delimiter: ',', encoding: 'utf-8' });
        expect(read).toEqual(rows);
      }),
      { numRuns: 60 },
    );
  });

  it('an export reads back to the same bytes', async () => {
    const header = ['Name', 'Note'];
    const { staged, read } = await roundTrip(header, [['Zoë', 'a\r\nb']], {});
    const first = await readFile(staged.sourcePath);
    await roundTrip(staged.originalHeader, read, {});
    expect(await readFile(staged.sourcePath)).toEqual(first);
  });
});

describe('any bytes at all', () => {
  const soup = fc.array(
    fc.oneof(
      fc.constantFrom(
        ...['"', ',', ';', '\n', '\r\n', '\r', '{"a":1}', '[', ']', '{', '}', '\\', 'sep=;', 'é', '\0'].map((part) =>
          Buffer.from(part),
        ),
      ),
      fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
      fc.string({ unit: 'binary', maxLength: 8 }).map((part) => Buffer.from(part, 'utf16le')),
    ),
    { maxLength: 30 },
  );

  it('are read or refused with an error of ours that says what to do', async () => {
    await fc.assert(
      fc.asyncProperty(
        soup.map((parts) => Buffer.concat(parts)),
        fc.constantFrom('x.csv', 'x.tsv', 'x.jsonl', 'x.json', 'x'),
        fc.constantFrom(undefined, 'utf-8', 'utf-16le', 'windows-1252', 'shift_jis'),
        async (bytes, name, encoding) => {
          const path = join(folder.path, name);
          await writeFile(path, bytes);
          const options = { filesDir: folder.files, ...(encoding === undefined ? {} : { encoding }) };
          try {
            const staged = await stageFile(path, options);
            let rows = 0;
            for await (const chunk of readStaged(staged, { filesDir: folder.files })) rows += chunk.length;
            expect(rows).toBe(staged.rows);
            expect(new Set(staged.header).size).toBe(staged.header.length);
          } catch (error) {
            if (!(error instanceof CallsheetError)) throw error;
            expect(error.code).toMatch(/^FILE_|^NOT_YET_SUPPORTED$/);
            expect(error.next.length).toBeGreaterThan(0);
          }
        },
      ),
      { numRuns: 400 },
    );
  });
});
