import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { digest, digestPrefix48, hexDigest } from './index.ts';

describe('digests', () => {
  it('are SHA-256 of the UTF-8 text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(digest(text)).toBe(createHash('sha256').update(text, 'utf8').digest('base64url'));
        expect(hexDigest(text)).toBe(createHash('sha256').update(text, 'utf8').digest('hex'));
      }),
    );
    expect(hexDigest('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  });

  it('of bytes and of their text are the same', () => {
    expect(hexDigest(Buffer.from('Zürich'))).toBe(hexDigest('Zürich'));
  });

  it('have 43 characters of base64url', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(digest(text)).toMatch(/^[A-Za-z0-9_-]{43}$/);
      }),
    );
  });
});

describe('digestPrefix48', () => {
  it('is the first six bytes as one integer', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const bytes = createHash('sha256').update(text).digest();
        expect(digestPrefix48(digest(text))).toBe(bytes.readUIntBE(0, 6));
      }),
      { numRuns: 500 },
    );
  });

  it('is exact at both ends', () => {
    expect(digestPrefix48('A'.repeat(43))).toBe(0);
    expect(digestPrefix48('_'.repeat(43))).toBe(2 ** 48 - 1);
    expect(Number.isSafeInteger(digestPrefix48('_'.repeat(43)))).toBe(true);
  });
});
