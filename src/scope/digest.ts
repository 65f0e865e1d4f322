import { hash } from 'node:crypto';

/** SHA-256 as 43 characters of base64url. */
export type Digest = string;

/** The number inside every identity; a run keeps the one it started with. */
export const IDENTITY_FORMAT = 1;

/** SHA-256 of a text (as UTF-8). */
export function digest(text: string): Digest {
  return hash('sha256', text, 'base64url');
}

/** SHA-256 of bytes, as 64 hexadecimal digits: for files and artifacts, whose digests people read. */
export function hexDigest(bytes: string | Uint8Array): string {
  return hash('sha256', bytes, 'hex');
}

const BASE64URL = new Int8Array(128).fill(-1);
for (const [value, char] of [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'].entries())
  BASE64URL[char.charCodeAt(0)] = value;

/** The first 48 bits of a digest as an integer: exact in a double, small in an index. */
export function digestPrefix48(of: Digest): number {
  let high = 0;
  let low = 0;
  for (let index = 0; index < 4; index++) high = high * 64 + (BASE64URL[of.charCodeAt(index)] ?? 0);
  for (let index = 4; index < 8; index++) low = low * 64 + (BASE64URL[of.charCodeAt(index)] ?? 0);
  return high * 16_777_216 + low;
}
