import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { IDENTITY_FORMAT } from '../src/scope/index.ts';
import * as sdk from '../src/sdk/index.ts';

/**
 * What the public sees, frozen: a change here is a decision (VERSIONING.md says which), written with
 * `npm run pins:update` and named in the CHANGELOG.
 */
const pin = (name: string): string => join(import.meta.dirname, 'pins', name);
const lines = (list: readonly string[]): string => `${list.join('\n')}\n`;

/** Names of types and values that a file exports, as written in its export clauses. */
function exportedNames(path: string): string[] {
  const text = readFileSync(join(import.meta.dirname, '..', path), 'utf8');
  const clauses = [...text.matchAll(/export (type )?\{([^}]*)\}/g)];
  return clauses
    .flatMap(([, typesOnly, names]) =>
      (names ?? '')
        .split(',')
        .map((name) => name.trim())
        .filter((name) => name !== '')
        .map((name) => (typesOnly ? `type ${name}` : name)),
    )
    .sort();
}

describe('pins', () => {
  it('what the module callsheet exports', async () => {
    const names = exportedNames('src/sdk/index.ts');
    expect(names.filter((name) => !name.startsWith('type '))).toEqual(Object.keys(sdk).sort());
    await expect(lines(names)).toMatchFileSnapshot(pin('sdk-exports.txt'));
  });

  it('error codes and their exit codes', async () => {
    const codes = Object.entries(sdk.ERROR_CODES).map(([code, { exit }]) => `${code} ${exit}`);
    await expect(lines(codes.sort())).toMatchFileSnapshot(pin('error-codes.txt'));
  });

  it('options of a play', async () => {
    await expect(lines([...sdk.KNOWN_PLAY_OPTIONS].sort())).toMatchFileSnapshot(pin('play-options.txt'));
  });

  it('the number in every identity: another one makes every receipt a stranger', () => {
    expect(IDENTITY_FORMAT).toBe(1);
  });

  it('what the package offers', () => {
    const text = readFileSync(join(import.meta.dirname, '../package.json'), 'utf8');
    const { bin, exports, engines, type } = JSON.parse(text) as Record<string, unknown>;
    expect({ bin, entries: Object.keys(exports as object), engines, type }).toEqual({
      bin: { callsheet: 'dist/cli/bin.js' },
      entries: ['.', './package.json'],
      engines: { node: '>=22.13' },
      type: 'module',
    });
  });
});
