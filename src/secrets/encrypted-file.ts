import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { CallsheetError } from '../sdk/index.ts';
import { type KeySource, makeKey, readKey } from './key.ts';
import { isSecretName } from './names.ts';

const FORMAT = 1;
const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Nonce, ciphertext and tag of one value, each as base64. */
interface Sealed {
  readonly nonce: string;
  readonly data: string;
  readonly tag: string;
}

/**
 * Secrets in one file, each value sealed on its own with AES-256-GCM under a random nonce. The name is authenticated with
 * the value, so that two entries cannot be swapped; names stand in plain text, so that they can be listed without the key.
 *
 * Every method throws `SECRET_STORE_UNREADABLE` where the file is damaged or the key is another one; no message holds a value.
 */
export class EncryptedFile {
  readonly #path: string;
  readonly #keySource: KeySource;

  constructor(path: string, keySource: KeySource) {
    this.#path = path;
    this.#keySource = keySource;
  }

  names(): readonly string[] {
    return [...this.#load().keys()];
  }

  read(name: string): string | undefined {
    const sealed = this.#load().get(name);
    return sealed === undefined ? undefined : this.#open(name, sealed, this.#key());
  }

  set(name: string, value: string): void {
    const entries = this.#load();
    const key = this.#keyForWriting(entries.size > 0);
    // One file never holds values under two keys: half of it would be lost without anybody noticing.
    const [other] = [...entries].filter(([known]) => known !== name);
    if (other !== undefined) this.#open(other[0], other[1], key);
    entries.set(name, seal(name, value, key));
    this.#save(entries);
  }

  /** False where there was none. */
  delete(name: string): boolean {
    const entries = this.#load();
    if (!entries.delete(name)) return false;
    this.#save(entries);
    return true;
  }

  #key(): Buffer {
    const key = readKey(this.#keySource);
    if (key !== undefined) return key;
    throw this.#unreadable('is there, but its key is not');
  }

  #keyForWriting(holdsSecrets: boolean): Buffer {
    if (holdsSecrets || 'key' in this.#keySource) return this.#key();
    return readKey(this.#keySource) ?? makeKey(this.#keySource.keyPath);
  }

  #open(name: string, sealed: Sealed, key: Buffer): string {
    const nonce = Buffer.from(sealed.nonce, 'base64');
    const tag = Buffer.from(sealed.tag, 'base64');
    if (nonce.length !== NONCE_BYTES || tag.length !== TAG_BYTES)
      throw this.#unreadable(`is damaged at the secret ${name}`);
    const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(authenticated(name));
    decipher.setAuthTag(tag);
    try {
      return Buffer.concat([decipher.update(Buffer.from(sealed.data, 'base64')), decipher.final()]).toString('utf8');
    } catch {
      throw this.#unreadable(`was written with another key, or is damaged, at the secret ${name}`);
    }
  }

  #load(): Map<string, Sealed> {
    let text: string;
    try {
      text = readFileSync(this.#path, 'utf8');
    } catch (error) {
      if ((error as { code?: unknown }).code === 'ENOENT') return new Map();
      throw this.#unreadable(`cannot be read: ${(error as Error).message}`);
    }
    const content = parsed(text);
    if (content === undefined)
      throw this.#unreadable('is damaged: it is not the JSON that `callsheet secrets set` writes');
    if (content.format !== FORMAT)
      throw this.#unreadable(`has format ${String(content.format)}; this release reads format ${FORMAT}`);
    const entries = Object.entries(content.secrets ?? {});
    for (const [name, sealed] of entries)
      if (!isSecretName(name) || !isSealed(sealed))
        throw this.#unreadable('is damaged: one of its entries cannot be read');
    return new Map(entries as [string, Sealed][]);
  }

  #save(entries: ReadonlyMap<string, Sealed>): void {
    const secrets = Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));
    const draft = `${this.#path}.${process.pid}.tmp`;
    try {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
      writeFileSync(draft, `${JSON.stringify({ format: FORMAT, secrets }, null, 2)}\n`, { mode: 0o600, flush: true });
      renameSync(draft, this.#path);
    } catch (error) {
      removeIfThere(draft);
      throw new CallsheetError(
        'OUTPUT_NOT_WRITABLE',
        `The secrets file ${this.#path} cannot be written: ${(error as Error).message}.`,
        { details: { file: this.#path }, next: ['Make its folder writable and try again.'] },
      );
    }
  }

  #unreadable(problem: string): CallsheetError {
    const where = 'key' in this.#keySource ? 'CALLSHEET_KEY' : this.#keySource.keyPath;
    return new CallsheetError('SECRET_STORE_UNREADABLE', `The secrets file ${this.#path} ${problem}.`, {
      details: { file: this.#path, key: where },
      next: [
        `Use the key with which the file was written (now: ${where}), or set CALLSHEET_KEY to it.`,
        'Or delete the file and set its secrets again with `callsheet secrets set`.',
      ],
    });
  }
}

function seal(name: string, value: string, key: Buffer): Sealed {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(authenticated(name));
  const data = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()]);
  return {
    nonce: nonce.toString('base64'),
    data: data.toString('base64'),
    tag: cipher.getAuthTag().toString('base64'),
  };
}

function authenticated(name: string): Buffer {
  return Buffer.from(`callsheet secret ${FORMAT} ${name}`);
}

function parsed(text: string): { readonly format?: unknown; readonly secrets?: object } | undefined {
  try {
    const content: unknown = JSON.parse(text);
    if (typeof content !== 'object' || content === null || Array.isArray(content)) return undefined;
    const { secrets } = content as { secrets?: unknown };
    return typeof secrets === 'object' && secrets !== null ? content : undefined;
  } catch {
    return undefined;
  }
}

function isSealed(value: unknown): value is Sealed {
  const { nonce, data, tag } = (value ?? {}) as Partial<Record<keyof Sealed, unknown>>;
  return typeof nonce === 'string' && typeof data === 'string' && typeof tag === 'string';
}

function removeIfThere(file: string): void {
  try {
    unlinkSync(file);
  } catch {
    // It was never made.
  }
}
