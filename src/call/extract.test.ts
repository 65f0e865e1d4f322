import { describe, expect, it } from 'vitest';
import { extractPath } from './extract.ts';

const root = {
  data: { people: [{ email: 'a@x.io' }, { email: null }, { name: 'C' }], meta: 1, 'x-y': 2, list: [[1], [2, 3]] },
  meta: { page: 3 },
  status: 'completed',
};

describe('what stands at a path', () => {
  it('goes through objects and into lists by number', () => {
    expect(extractPath(root, 'data.people[0].email')).toBe('a@x.io');
    expect(extractPath(root, 'data.list[1][1]')).toBe(3);
    expect(extractPath(root, 'data.people.0.email')).toBe('a@x.io');
    expect(extractPath(root, 'data.x-y')).toBe(2);
  });

  it('gives a list for a star, with null where an item has nothing', () => {
    expect(extractPath(root, 'data.people[*].email')).toEqual(['a@x.io', null, null]);
    expect(extractPath(root, 'data.people[*]')).toEqual(root.data.people);
  });

  it('is null where nothing stands, and never reaches a prototype', () => {
    for (const path of [
      'data.nobody',
      'data.people[9].email',
      'data.meta.deeper',
      'data.people[*].email.x[0]',
      'data.meta[*]',
    ])
      expect([path, extractPath(root, path)].flat(2).filter((value) => value !== null)).toEqual([path]);
    expect(extractPath(root, 'data.constructor.name')).toBeNull();
    expect(extractPath(root, 'data.people.length')).toBe(3);
  });

  it('starts below data unless the path begins with a name of the root', () => {
    expect(extractPath(root, 'people[0].email')).toBe('a@x.io');
    expect(extractPath(root, 'meta.page')).toBe(3);
    expect(extractPath(root, 'status')).toBe('completed');
    expect(extractPath({ data: null, meta: null, status: 'no_result' }, 'people[0]')).toBeNull();
  });
});
