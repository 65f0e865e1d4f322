import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { failure, StagingFolder } from './staging.test-support.ts';

const folder = new StagingFolder();

describe('JSON', () => {
  verifies('FILE-JSONL-1', 'reads JSON lines as they are, with the union of their keys as header', async () => {
    const { staged, rows, report } = await folder.stage(
      '{"a":1,"b":[true,null]}\r\n\n{"b":"x","c":{"d":"\\n"}}',
      {},
      'x.jsonl',
    );
    expect(rows).toEqual([
      { a: 1, b: [true, null] },
      { b: 'x', c: { d: '\n' } },
    ]);
    expect(staged.header).toEqual(['a', 'b', 'c']);
    expect(report).toMatchObject({ format: 'jsonl', rows: 2, columns: 3, blankLines: 1 });
  });

  verifies('FILE-JSONL-1', 'reads a pretty-printed array, over many reads', async () => {
    const wanted = Array.from({ length: 3000 }, (_, i) => ({ i, text: `[{"${'ä'.repeat(50)}\\", ]}`, n: { m: [i] } }));
    const { rows, report } = await folder.stage(JSON.stringify(wanted, null, 2), {}, 'x.json');
    expect(rows).toEqual(wanted);
    expect(report.format).toBe('json');
  });

  it('takes a .json file of lines for JSON lines, and an empty array for no rows', async () => {
    expect((await folder.stage('{"a":1}\n{"a":2}\n', {}, 'x.json')).report.format).toBe('jsonl');
    expect((await folder.stage(' [ ] ', {}, 'x.json')).report.warnings).toEqual(['The file has no rows.']);
  });

  it('keeps ids that JavaScript cannot hold as text', async () => {
    const { rows, report } = await folder.stage(
      '{"id":9007199254740993,"n":1.25,"s":"9007199254740993"}\n',
      {},
      'x.jsonl',
    );
    expect(rows).toEqual([{ id: '9007199254740993', n: 1.25, s: '9007199254740993' }]);
    expect(report.bigNumbers).toEqual({ count: 1, lines: [1] });
  });

  it('stops at the limit', async () => {
    const lines = await folder.stage('{"a":1}\n{"a":2}\n', { limit: 1 }, 'x.jsonl');
    expect([lines.rows.length, lines.report.cutAtLimit]).toEqual([1, true]);
    const array = await folder.stage('[{"a":1},{"a":2}]', { limit: 1 }, 'x.json');
    expect([array.rows.length, array.report.cutAtLimit]).toEqual([1, true]);
  });

  verifies('FILE-JSONL-1', 'FILE_MALFORMED names the line', async () => {
    for (const [name, content, line] of [
      ['x.jsonl', '{"a":1}\n\n[1,2]\n', 3],
      ['x.jsonl', '{"a":1}\n{"a":\n', 2],
      ['x.jsonl', 'null\n', 1],
      ['x.json', '[\n{"a":1},\n5]', 3],
      ['x.json', '[{"a":1}\n{"a":2}]', 1],
      ['x.json', '[{"a":1},\n]', 2],
      ['x.json', '[\n,{"a":1}]', 2],
      ['x.json', '[{"a":1}', 1],
      ['x.json', '[{"a":1},\n{"b":', 2],
      ['x.json', '[{"a":1}]\n[]', 2],
      ['x.json', '"text"', 1],
      ['x.json', '[{"a":1] }', 1],
    ] as const) {
      const error = await failure(folder.stage(content, {}, name));
      expect([content, error.code, error.details.line]).toEqual([content, 'FILE_MALFORMED', line]);
    }
  });
});
