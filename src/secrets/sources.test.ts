import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { parseDotenv } from './dotenv.ts';
import { defaultKeyPath } from './key.ts';
import { openSecrets, type Secrets, type SecretsOptions } from './sources.ts';

const VALUE = 'sk-live-0123456789';
let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'callsheet-secrets-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function paths() {
  return {
    dotenvPath: join(dir, '.env'),
    storePath: join(dir, 'ws', 'secrets.json'),
    keyPath: join(dir, 'config', 'key'),
  };
}

function open(options: Partial<SecretsOptions> = {}): Secrets {
  return openSecrets({ env: {}, ...paths(), ...options });
}

/** Root may write anywhere, so what is about permissions runs as somebody else. */
function asOrdinaryUser(fn: () => void): void {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  try {
    fn();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

/** What a function throws, with everything that could be printed of it. */
function thrownBy(fn: () => unknown): { code: string; text: string } {
  try {
    fn();
  } catch (error) {
    const { code, message, details, next, stack } = error as Error & { code: string; details: object; next: string[] };
    return { code, text: JSON.stringify([message, details, next, stack]) };
  }
  throw new Error('nothing was thrown');
}

describe('sources', () => {
  verifies('SECRET-SOURCES-1', 'the environment goes before .env, and .env before the encrypted file', () => {
    open().set('A', 'from file');
    open().set('B', 'from file');
    open().set('C', 'from file');
    writeFileSync(paths().dotenvPath, 'A=from dotenv\nB=from dotenv\nD=\n');
    const secrets = open({ env: { A: 'from env', HOME: '/root', C: '' } });
    expect(['A', 'B', 'C', 'D', 'E'].map((name) => secrets.read(name))).toEqual([
      'from env',
      'from dotenv',
      'from file',
      undefined,
      undefined,
    ]);
    expect(secrets.list()).toEqual([
      { name: 'A', source: 'environment' },
      { name: 'B', source: '.env' },
      { name: 'C', source: 'file' },
    ]);
    expect(secrets.list(['HOME', 'E', 'not a name'])).toContainEqual({ name: 'HOME', source: 'environment' });
    expect(secrets.list(['E'])).toHaveLength(3);
  });

  it('nothing is there: nothing is read, made or thrown', () => {
    expect(open().read('A')).toBeUndefined();
    expect(open().list()).toEqual([]);
    expect(open().delete('A')).toBe(false);
    expect(readdirSync(dir)).toEqual([]);
  });

  it('a value in the environment needs no key and no readable file', () => {
    open().set('A', VALUE);
    writeFileSync(paths().storePath, 'damaged');
    expect(open({ env: { A: 'from env' } }).read('A')).toBe('from env');
    expect(thrownBy(() => open().read('A')).code).toBe('SECRET_STORE_UNREADABLE');
  });

  verifies(
    'RETRY-SECRET-1',
    'reading anew sees a value that another process has changed, and says whether it did',
    () => {
      const secrets = open();
      secrets.set('A', 'old');
      expect(secrets.read('A')).toBe('old');
      expect(secrets.reread(['A'])).toBe(false);
      open().set('A', 'new');
      expect(secrets.read('A')).toBe('old');
      expect(secrets.reread(['B'])).toBe(false);
      open().set('A', 'newer');
      expect(secrets.reread(['A'])).toBe(true);
      expect(secrets.read('A')).toBe('newer');
      writeFileSync(paths().dotenvPath, 'A=newest');
      expect(secrets.reread(['A'])).toBe(true);
    },
  );

  it('setting and deleting count at once', () => {
    const secrets = open();
    expect(secrets.read('A')).toBeUndefined();
    secrets.set('A', VALUE);
    expect(secrets.read('A')).toBe(VALUE);
    expect(secrets.delete('A')).toBe(true);
    expect(secrets.delete('A')).toBe(false);
    expect(secrets.read('A')).toBeUndefined();
  });

  it.each(['', 'lower', '1A', 'A-B', 'A B', '__proto__', `sk_live_${'x'.repeat(9)}`])(
    '%s is no name, and is not repeated',
    (name) => {
      for (const use of [() => open().read(name), () => open().set(name, VALUE), () => open().delete(name)]) {
        const { code, text } = thrownBy(use);
        expect(code).toBe('SECRET_NAME_INVALID');
        if (name.startsWith('sk_')) expect(text).not.toContain(name);
      }
    },
  );

  it('an empty value is refused', () => {
    expect(thrownBy(() => open().set('A', '')).code).toBe('USAGE');
  });

  it('a .env that is a folder is named', () => {
    expect(thrownBy(() => open({ dotenvPath: dir }).read('A'))).toMatchObject({
      code: 'FILE_MALFORMED',
      text: expect.stringContaining(dir),
    });
  });
});

describe('the encrypted file', () => {
  verifies('SECRET-STORE-1', 'neither the file nor an error holds a value, and another key reads nothing', () => {
    const secrets = open();
    secrets.set('A', VALUE);
    secrets.set('B', 'Zweiter Wert äöü 🔑\n');
    const text = readFileSync(paths().storePath, 'utf8');
    for (const form of [VALUE, Buffer.from(VALUE).toString('base64'), Buffer.from(VALUE).toString('hex')])
      expect(text).not.toContain(form);
    expect(open().read('B')).toBe('Zweiter Wert äöü 🔑\n');
    const otherKey = Buffer.alloc(32, 7).toString('base64');
    for (const use of [
      (s: Secrets) => s.read('A'),
      (s: Secrets) => s.set('C', VALUE),
      (s: Secrets) => s.set('A', VALUE),
    ]) {
      const { code, text: said } = thrownBy(() => use(open({ key: otherKey })));
      expect(code).toBe('SECRET_STORE_UNREADABLE');
      expect(said).not.toContain(VALUE);
      expect(said).not.toContain(otherKey);
    }
    expect(open({ key: otherKey }).list()).toEqual([
      { name: 'A', source: 'file' },
      { name: 'B', source: 'file' },
    ]);
    expect(readFileSync(paths().storePath, 'utf8')).toBe(text);
  });

  it('file and key are for their owner only, and no draft stays behind', () => {
    open().set('A', VALUE);
    const { storePath, keyPath } = paths();
    expect([storePath, keyPath].map((file) => statSync(file).mode & 0o777)).toEqual([0o600, 0o600]);
    expect(readdirSync(join(dir, 'ws'))).toEqual(['secrets.json']);
    expect(readdirSync(join(dir, 'config'))).toEqual(['key']);
  });

  it('the same value is never sealed the same way twice', () => {
    const sealed = () => JSON.parse(readFileSync(paths().storePath, 'utf8')).secrets.A;
    open().set('A', VALUE);
    const first = sealed();
    open().set('A', VALUE);
    expect(sealed().nonce).not.toBe(first.nonce);
    expect(sealed().data).not.toBe(first.data);
  });

  it('a key that exists is kept, and one that is lost is never replaced while the file holds secrets', () => {
    open().set('A', VALUE);
    const key = readFileSync(paths().keyPath, 'utf8');
    open().set('B', VALUE);
    expect(readFileSync(paths().keyPath, 'utf8')).toBe(key);
    rmSync(paths().keyPath);
    expect(thrownBy(() => open().set('C', VALUE)).code).toBe('SECRET_STORE_UNREADABLE');
    expect(thrownBy(() => open().read('A'))).toMatchObject({
      code: 'SECRET_STORE_UNREADABLE',
      text: expect.stringContaining('its key is not'),
    });
    expect(open({ env: { CALLSHEET_KEY: key } }).read('A')).toBe(VALUE);
    expect(open({ key: Buffer.from(key, 'base64').toString('hex') }).read('A')).toBe(VALUE);
  });

  it('entries cannot be swapped, and every changed byte is noticed', () => {
    const secrets = open();
    secrets.set('A', VALUE);
    secrets.set('B', 'another');
    const whole = JSON.parse(readFileSync(paths().storePath, 'utf8'));
    const rewrite = (content: unknown) => writeFileSync(paths().storePath, JSON.stringify(content));
    rewrite({ ...whole, secrets: { A: whole.secrets.B, B: whole.secrets.A } });
    expect(thrownBy(() => open().read('A')).code).toBe('SECRET_STORE_UNREADABLE');
    fc.assert(
      fc.property(
        fc.constantFrom('nonce', 'data', 'tag'),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        (part, at, change) => {
          const bytes = Buffer.from(whole.secrets.A[part], 'base64');
          const index = at % bytes.length;
          bytes[index] = (bytes[index] ?? 0) ^ change;
          rewrite({ ...whole, secrets: { A: { ...whole.secrets.A, [part]: bytes.toString('base64') } } });
          expect(thrownBy(() => open().read('A')).code).toBe('SECRET_STORE_UNREADABLE');
        },
      ),
      { numRuns: 50 },
    );
  });

  it.each([
    ['', 'is damaged'],
    ['[]', 'is damaged'],
    ['{"format":1}', 'is damaged'],
    ['{"format":2,"secrets":{}}', 'has format 2'],
    ['{"format":1,"secrets":{"A":{"nonce":"x"}}}', 'one of its entries'],
    ['{"format":1,"secrets":{"lower":{"nonce":"","data":"","tag":""}}}', 'one of its entries'],
    ['{"format":1,"secrets":{"A":{"nonce":"","data":"","tag":""}}}', 'damaged at the secret A'],
  ])('%s is refused with what is wrong', (text, problem) => {
    open().set('A', VALUE);
    writeFileSync(paths().storePath, text);
    expect(thrownBy(() => open().read('A'))).toMatchObject({
      code: 'SECRET_STORE_UNREADABLE',
      text: expect.stringContaining(problem),
    });
  });

  it.each(['', 'short', 'g'.repeat(64), Buffer.alloc(31).toString('base64'), Buffer.alloc(33).toString('base64')])(
    'a key file with "%s" is no key',
    (text) => {
      open().set('A', VALUE);
      writeFileSync(paths().keyPath, text);
      expect(thrownBy(() => open().read('A'))).toMatchObject({
        code: 'SECRET_STORE_UNREADABLE',
        text: expect.stringContaining('32 bytes'),
      });
    },
  );

  it('what cannot be read or written is named', () => {
    const key = Buffer.alloc(32).toString('base64');
    const write = (options: Partial<SecretsOptions>) => thrownBy(() => open(options).set('A', VALUE));
    expect(write({ storePath: '/dev/null/secrets', key }).code).toBe('SECRET_STORE_UNREADABLE');
    expect(write({ keyPath: '/dev/null/key' }).code).toBe('SECRET_STORE_UNREADABLE');
    chmodSync(dir, 0o555);
    asOrdinaryUser(() => {
      for (const options of [{ storePath: join(dir, 'secrets.json'), key }, { keyPath: join(dir, 'key') }]) {
        const { code, text } = write(options);
        expect(code).toBe('OUTPUT_NOT_WRITABLE');
        expect(text).toContain(dir);
        expect(text).not.toContain(VALUE);
      }
    });
    expect(thrownBy(() => open({ storePath: dir, key }).read('A')).code).toBe('SECRET_STORE_UNREADABLE');
    expect(write({ keyPath: dir }).code).toBe('SECRET_STORE_UNREADABLE');
  });
});

describe('the place of the key', () => {
  it.each([
    [{ HOME: '/home/u' }, 'linux', '/home/u/.config/callsheet/key'],
    [{ HOME: '/home/u', XDG_CONFIG_HOME: '/cfg' }, 'linux', '/cfg/callsheet/key'],
    [{ HOME: '/home/u', XDG_CONFIG_HOME: 'relative' }, 'linux', '/home/u/.config/callsheet/key'],
    [{ HOME: '/home/u', XDG_CONFIG_HOME: '/cfg' }, 'darwin', '/cfg/callsheet/key'],
    [{ HOME: '/u', APPDATA: '/appdata' }, 'win32', '/appdata/callsheet/key'],
    [{ HOME: '/u' }, 'win32', '/u/AppData/Roaming/callsheet/key'],
  ] as const)('%o on %s', (env, platform, path) => {
    expect(defaultKeyPath(env, platform)).toBe(path);
  });
});

describe('.env', () => {
  const parse = (text: string) => Object.fromEntries(parseDotenv(text, '.env'));

  it.each<[string, Record<string, string>]>([
    ['A=1\nB=two words  \n', { A: '1', B: 'two words' }],
    ['\ufeffA=1\r\nexport B=2\r\n', { A: '1', B: '2' }],
    ['# comment\n  # another\nA=1 # why\nB=a#b\nC=#all', { A: '1', B: 'a#b', C: '' }],
    ["A='as $it \\n is # here'\nB=2", { A: 'as $it \\n is # here', B: '2' }],
    ['A="tab\\t line\\n quote\\" back\\\\ odd\\q" # why\nB=2', { A: 'tab\t line\n quote" back\\ odd\\q', B: '2' }],
    ['A="line one\nline two"\nB=2', { A: 'line one\nline two', B: '2' }],
    ['A=first\nA=second', { A: 'second' }],
    ['A = spaced\nB=', { A: 'spaced', B: '' }],
    ['not an assignment\nA B=1\n=x\nC=1', { C: '1' }],
    ['A=pa=ss\'word"', { A: 'pa=ss\'word"' }],
    ['', {}],
  ])('%j', (text, expected) => {
    expect(parse(text)).toEqual(expected);
  });

  it('a quote that is never closed is named by its line, without what follows', () => {
    const { code, text } = thrownBy(() => parse(`A=1\nB="${VALUE}\nC=2`));
    expect(code).toBe('FILE_MALFORMED');
    expect(text).toContain('line 2');
    expect(text).not.toContain(VALUE);
  });

  it('reads back any value in double quotes, and never fails on text without quotes', () => {
    const quoted = (value: string) => value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\r', '\\r');
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => void expect(parse(`A="${quoted(value)}"`).A).toBe(value)),
    );
    fc.assert(fc.property(fc.string(), (text) => void parse(text.replace(/["']/g, ''))));
  });
});
