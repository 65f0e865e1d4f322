import { describe, expect, it } from 'vitest';
import { requirementCoverage } from '../scripts/requirement-coverage.ts';
import { LATER, REQUIREMENTS } from './requirements.ts';

const LISTS = { required: ['A-1', 'B-1'], later: ['C-1'] };
const source = (text: string) => [{ path: 'src/seed.test.ts', text }];

describe('the list of promises', () => {
  it('has ids of one form, and none twice', () => {
    const ids = [...Object.keys(REQUIREMENTS), ...Object.keys(LATER)];
    for (const id of ids) expect(id).toMatch(/^[A-Z]+(-[A-Z]+)*-[0-9]+$/);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('says each promise once, as a sentence', () => {
    const texts = [...Object.values(REQUIREMENTS), ...Object.values(LATER)];
    for (const text of texts) expect(text).toMatch(/^[A-Za-z_\-#/.].{15,}[.]$/);
    expect(new Set(texts).size).toBe(texts.length);
  });
});

describe('the coverage gate', () => {
  it('misses an id that no test names', () => {
    const { missing } = requirementCoverage(source("verifies('A-1', 'x', () => {});"), LISTS);
    expect(missing).toEqual(['B-1']);
  });

  it('reads one id, several ids, and calls over several lines', () => {
    const text = "verifies(['A-1', 'C-1'], 'x', () => {});\nverifies(\n  'B-1',\n  'y',\n  fn,\n);";
    const { claims, missing } = requirementCoverage(source(text), LISTS);
    expect(claims.map(({ id, line, test }) => [id, line, test])).toEqual([
      ['A-1', 1, 'x'],
      ['C-1', 1, 'x'],
      ['B-1', 2, 'y'],
    ]);
    expect(missing).toEqual([]);
  });

  it('does not require ids of later work', () => {
    const { missing } = requirementCoverage(source("verifies(['A-1', 'B-1'], 'x', fn);"), LISTS);
    expect(missing).toEqual([]);
  });

  it('reports an id that is in no list, with its place', () => {
    const { unknown } = requirementCoverage(source("\nverifies('Z-9', 'x', fn);"), LISTS);
    expect(unknown).toEqual([{ id: 'Z-9', file: 'src/seed.test.ts', line: 2, test: 'x' }]);
  });

  it('is not fooled by comments and strings', () => {
    const text = "// verifies('A-1', 'x', fn)\nconst s = \"verifies('B-1', 'x', fn)\";";
    expect(requirementCoverage(source(text), LISTS).claims).toEqual([]);
  });

  it('reports ids that it cannot read', () => {
    const { unreadable } = requirementCoverage(
      source("verifies(ids, 'x', fn);\nverifies(['A-1', b], 'x', fn);"),
      LISTS,
    );
    expect(unreadable.map(({ line }) => line)).toEqual([1, 2]);
  });
});
