import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, NotJsonError, toJson } from '../scope/index.ts';
import { plainValue } from './plain-value.ts';
import { redactorOf } from './redaction.ts';

const SECRET = 'k3y/with+odd "signs" & <more>=é';
const redactor = redactorOf(new Map([['KEY', SECRET]]));

describe('redaction', () => {
  it.each<[string, string]>([
    ['as it is', SECRET],
    ['as JSON', JSON.stringify(SECRET).slice(1, -1)],
    ['as JSON with escaped slashes', JSON.stringify(SECRET).slice(1, -1).replaceAll('/', '\\/')],
    ['in a URL', encodeURIComponent(SECRET)],
    ['in a URL with small hex digits', encodeURIComponent(SECRET).replace(/%../g, (code) => code.toLowerCase())],
    ['in a form', new URLSearchParams({ k: SECRET }).toString().slice(2)],
    ['in HTML', 'k3y/with+odd &quot;signs&quot; &amp; &lt;more&gt;=é'],
    ['as base64', Buffer.from(SECRET).toString('base64')],
    ['as base64url', Buffer.from(SECRET).toString('base64url')],
  ])('finds a secret %s', (_name, spelling) => {
    expect(redactor.text(`before ${spelling} after`)).toBe('before [secret KEY] after');
  });

  it('finds a secret within a longer text that was encoded as base64, wherever it starts', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 8, maxLength: 40 }),
        fc.string({ maxLength: 5 }),
        fc.string({ maxLength: 5 }),
        (secret, before, after) => {
          const clean = redactorOf(new Map([['S', secret]]));
          const encoded = Buffer.from(`${before}${secret}${after}`).toString('base64');
          const left = clean.text(encoded);
          // At most one character on each side also holds bits of the secret.
          expect(left).toContain('[secret S]');
          expect(left.replace('[secret S]', '').length).toBeLessThanOrEqual(
            Math.ceil((before.length + after.length) * 4) + 6,
          );
        },
      ),
      { numRuns: 200 },
    );
  });

  it('takes a value of replacement signs literally', () => {
    const odd = redactorOf(new Map([['ODD', '$&$1$$']]));
    expect(odd.text('x $&$1$$ y')).toBe('x [secret ODD] y');
  });

  it('replaces the longer of two secrets first', () => {
    const both = redactorOf(
      new Map([
        ['SHORT', 'abcd'],
        ['LONG', 'abcdefgh'],
      ]),
    );
    expect(both.text('abcdefgh abcd')).toBe('[secret LONG] [secret SHORT]');
  });

  it('leaves values of fewer than four characters alone', () => {
    expect(redactorOf(new Map([['PIN', '123']])).text('123')).toBe('123');
  });

  it('follows a rotated value', () => {
    expect(redactorOf(new Map([['ROTATED', 'old-value']])).text('old-value')).toBe('[secret ROTATED]');
    expect(redactorOf(new Map([['ROTATED', 'new-value']])).text('old-value new-value')).toBe(
      'old-value [secret ROTATED]',
    );
  });

  it('works on bytes without touching the others', () => {
    const bytes = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(SECRET), Buffer.from([0x80, 0x00])]);
    const clean = redactor.bytes(bytes);
    expect(clean).toEqual(
      Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('[secret KEY]'), Buffer.from([0x80, 0x00])]),
    );
  });
});

describe('a copy as plain JSON', () => {
  it('agrees with toJson on every value, and refuses exactly what canonicalJson refuses', () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withNullPrototype: true,
      withSparseArray: true,
    });
    fc.assert(
      fc.property(anything, (value) => {
        let expected: unknown;
        try {
          expected = toJson(value);
        } catch (error) {
          expect(error).toBeInstanceOf(NotJsonError);
          expect(() => plainValue(value, undefined)).toThrow(NotJsonError);
          return;
        }
        expect(canonicalJson(plainValue(value, undefined))).toBe(canonicalJson(expected));
      }),
      { numRuns: 500 },
    );
  });

  it('keeps a key named __proto__ as a key', () => {
    const copy = plainValue(JSON.parse('{"__proto__":{"a":1}}'), undefined);
    expect(JSON.stringify(copy)).toBe('{"__proto__":{"a":1}}');
    expect((copy as { a?: unknown }).a).toBeUndefined();
  });
});
