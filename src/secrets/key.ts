import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { CallsheetError } from '../sdk/index.ts';

const KEY_BYTES = 32;

export type Environment = Readonly<Record<string, string | undefined>>;

/** `callsheet/key` in the folder that the system has for a user's settings. */
export function defaultKeyPath(env: Environment, platform: NodeJS.Platform = process.platform): string {
  // The XDG specification has relative paths ignored.
  const xdg = env.XDG_CONFIG_HOME?.startsWith('/') ? env.XDG_CONFIG_HOME : undefined;
  const home = env.HOME || homedir();
  const folder = platform === 'win32' ? env.APPDATA || join(home, 'AppData', 'Roaming') : xdg || join(home, '.config');
  return join(folder, 'callsheet', 'key');
}

/** Where the key of the encrypted file comes from: its text (of `CALLSHEET_KEY`), or a file. */
export type KeySource = { readonly key: string } | { readonly keyPath: string };

/** The key, or undefined where its file does not exist. Throws `SECRET_STORE_UNREADABLE` where it is no key. */
export function readKey(source: KeySource): Buffer | undefined {
  if ('key' in source) return decodedKey(source.key, 'CALLSHEET_KEY');
  try {
    return decodedKey(readFileSync(source.keyPath, 'utf8'), source.keyPath);
  } catch (error) {
    if (error instanceof CallsheetError) throw error;
    if ((error as { code?: unknown }).code === 'ENOENT') return undefined;
    throw unreadable(`The key file ${source.keyPath} cannot be read: ${(error as Error).message}`);
  }
}

/** The key of the file, made with user-only permissions if it does not exist; of two processes that make it, one wins. */
export function makeKey(keyPath: string): Buffer {
  try {
    mkdirSync(dirname(keyPath), { recursive: true, mode: 0o700 });
    // 'wx': nobody's key is ever replaced.
    writeFileSync(keyPath, `${randomBytes(KEY_BYTES).toString('base64')}\n`, { mode: 0o600, flag: 'wx', flush: true });
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EEXIST')
      throw new CallsheetError(
        'OUTPUT_NOT_WRITABLE',
        `The key file ${keyPath} cannot be made: ${(error as Error).message}.`,
        {
          details: { file: keyPath },
          next: ['Make its folder writable, or set CALLSHEET_KEY to 32 random bytes as base64.'],
        },
      );
  }
  const key = readKey({ keyPath });
  if (key === undefined) throw unreadable(`The key file ${keyPath} vanished while it was made`);
  return key;
}

function decodedKey(text: string, where: string): Buffer {
  const trimmed = text.trim();
  const key = /^[0-9a-fA-F]{64}$/.test(trimmed) ? Buffer.from(trimmed, 'hex') : base64Key(trimmed);
  if (key?.length === KEY_BYTES) return key;
  throw unreadable(`${where} does not hold ${KEY_BYTES} bytes as base64 or as 64 hexadecimal digits`);
}

function base64Key(text: string): Buffer | undefined {
  return /^[A-Za-z0-9+/_-]{43}=?$/.test(text) ? Buffer.from(text, 'base64') : undefined;
}

function unreadable(problem: string): CallsheetError {
  return new CallsheetError('SECRET_STORE_UNREADABLE', `${problem}.`, {
    next: ['Restore the key, or delete the encrypted secrets file and set its secrets again.'],
  });
}
