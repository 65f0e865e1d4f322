import { describe, expect, it } from 'vitest';
import { offencesOf } from '../scripts/check-budgets.ts';
import { countsOf } from '../scripts/verify.ts';

const lines = (count: number): string => '  work();\n'.repeat(count);
const whats = (path: string, text: string): string[] => offencesOf(path, text).map(({ what }) => what);

describe('budgets', () => {
  it.each([
    ['a file of more than 400 lines', 'src/a.ts', 'x;\n'.repeat(401), ['file']],
    ['a function of more than 60 lines', 'src/a.ts', `function f() {\n${lines(60)}}\n`, ['function f']],
    ['an arrow function of more than 60 lines', 'src/a.ts', `const g = () => {\n${lines(60)}};\n`, ['function g']],
    ['a method of more than 60 lines', 'src/a.ts', `class A {\n m() {\n${lines(60)}}\n}\n`, ['function m']],
    ['a class of more than 300 lines', 'src/a.ts', `class A {\n${'  a;\n'.repeat(300)}}\n`, ['class A']],
    ['four parameters', 'src/a.ts', 'function f(a, b, c, d) {}\n', ['parameters of f']],
    [
      'an interface of 16 methods',
      'src/a.ts',
      `interface I {\n${Array.from({ length: 16 }, (_, index) => `m${index}(): void;`).join('\n')}\n}\n`,
      ['methods of I'],
    ],
    ['a name that says nothing', 'src/run/utils.ts', '', ['name']],
    ['unfinished work', 'src/a.ts', `// ${'TO'}DO: later\n`, ['mark']],
  ])('catch %s', (_name, path, text, expected) => {
    expect(whats(path, text)).toEqual(expected);
  });

  it.each([
    ['400 lines', 'src/a.ts', 'x;\n'.repeat(400)],
    ['a function of 60 lines', 'src/a.ts', `function f() {\n${lines(58)}}\n`],
    ['three parameters and options', 'src/a.ts', 'function f(a, b, c, options) {}\n'],
    ['a long test', 'src/a.test.ts', `it('x', () => {\n${lines(80)}});\n`],
    ['an interface of 30 properties', 'src/a.ts', `interface I {\n${'readonly a: 1;\n'.repeat(30)}}\n`],
  ])('allow %s', (_name, path, text) => {
    expect(whats(path, text)).toEqual([]);
  });
});

describe('counts of a step of verify', () => {
  it.each([
    ['x\n12 passed, 0 failed\n', true, { passed: 12, failed: 0 }],
    ['x\n12 passed, 3 failed', false, { passed: 12, failed: 3 }],
    // A crash after the count is a failure all the same.
    ['12 passed, 0 failed', false, { passed: 12, failed: 1 }],
    ['fine', true, { passed: 1, failed: 0 }],
    ['', false, { passed: 0, failed: 1 }],
  ])('%j, ok: %s', (output, ok, expected) => {
    expect(countsOf(output, ok)).toEqual(expected);
  });
});
