import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ERROR_HELP } from '../scripts/error-help.ts';
import { errorSlug, errorsPage, GENERATED_PAGES } from '../scripts/generated-docs.ts';
import { ERROR_CODES, type ErrorCode } from '../src/sdk/index.ts';
import { verifies } from './requirements.ts';

const CODES = Object.keys(ERROR_CODES) as ErrorCode[];
const onDisk = (path: string): string => readFileSync(join(import.meta.dirname, '..', path), 'utf8');

describe('generated pages', () => {
  it.each(Object.keys(GENERATED_PAGES))('%s is what npm run docs:generate writes', (path) => {
    expect(onDisk(path)).toBe(GENERATED_PAGES[path]?.());
  });

  verifies(
    'ERROR-CODES-1',
    'docs/errors.md has every code with meaning, exit code and what to do, and no other',
    () => {
      const page = onDisk('docs/errors.md');
      expect([...page.matchAll(/^## (\w+)$/gm)].map((match) => match[1])).toEqual(CODES);
      for (const code of CODES) {
        expect(page).toContain(`<a id="${errorSlug(code)}"></a>`);
        expect(page).toContain(`${ERROR_CODES[code].means}\n\n- Exit code: ${ERROR_CODES[code].exit}\n`);
        expect(page).toContain(`- What to do: ${ERROR_HELP[code]}\n`);
      }
      expect(errorsPage()).toBe(page);
    },
  );

  it('help says something for every code, and ends as a sentence', () => {
    for (const [code, help] of Object.entries(ERROR_HELP)) expect(help, code).toMatch(/^.{20,}[.]$/);
  });
});
