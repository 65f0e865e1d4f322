import { readFileSync } from 'node:fs';
import { CallsheetError } from '../sdk/index.ts';
import { parseDotenv } from './dotenv.ts';
import { EncryptedFile } from './encrypted-file.ts';
import { defaultKeyPath, type Environment, type KeySource } from './key.ts';
import { checkSecretName, isSecretName } from './names.ts';

export type SecretSource = 'environment' | '.env' | 'file';

export interface ListedSecret {
  readonly name: string;
  /** Where its value comes from: the first source that has one. */
  readonly source: SecretSource;
}

export interface SecretsOptions {
  readonly env: Environment;
  /** The workspace's `.env`; it may be missing. */
  readonly dotenvPath?: string | undefined;
  /** The encrypted file; it is made by the first `set`. */
  readonly storePath: string;
  /** The key's file; default: `defaultKeyPath`. `CALLSHEET_KEY` in `env`, or `key`, takes its place. */
  readonly keyPath?: string | undefined;
  /** The key itself, 32 bytes as base64 or hexadecimal. */
  readonly key?: string | undefined;
}

/** Where credentials come from: the environment, then `.env`, then the encrypted file. An empty value counts as not set. */
export interface Secrets {
  /** Undefined where it is not set. Throws `SECRET_NAME_INVALID`, `SECRET_STORE_UNREADABLE`, `FILE_MALFORMED`. */
  read(name: string): string | undefined;
  /** Names, never values; by name. Of the environment only what is in `declared` or in another source too. */
  list(declared?: readonly string[]): readonly ListedSecret[];
  /** Writes to the encrypted file. Throws `SECRET_NAME_INVALID`, `SECRET_STORE_UNREADABLE`, `USAGE`, `OUTPUT_NOT_WRITABLE`. */
  set(name: string, value: string): void;
  /** Removes from the encrypted file; false where it had none. */
  delete(name: string): boolean;
  /** Reads `.env` and the file anew; true where one of these secrets has another value than before. */
  reread(names: readonly string[]): boolean;
}

/** Opens the sources; each is read when it is first needed. */
export function openSecrets(options: SecretsOptions): Secrets {
  return new OpenedSecrets(options);
}

class OpenedSecrets implements Secrets {
  readonly #env: Environment;
  readonly #dotenvPath: string | undefined;
  readonly #file: EncryptedFile;
  readonly #values = new Map<string, string | undefined>();
  #dotenv: ReadonlyMap<string, string> | undefined;

  constructor({ env, dotenvPath, storePath, keyPath, key }: SecretsOptions) {
    this.#env = env;
    this.#dotenvPath = dotenvPath;
    const given = key ?? (env.CALLSHEET_KEY || undefined);
    const keySource: KeySource = given === undefined ? { keyPath: keyPath ?? defaultKeyPath(env) } : { key: given };
    this.#file = new EncryptedFile(storePath, keySource);
  }

  read(name: string): string | undefined {
    const known = this.#values.get(name);
    if (known !== undefined || this.#values.has(name)) return known;
    checkSecretName(name);
    const value = this.#env[name] || this.#fromDotenv().get(name) || this.#file.read(name) || undefined;
    this.#values.set(name, value);
    return value;
  }

  list(declared: readonly string[] = []): readonly ListedSecret[] {
    const dotenv = this.#fromDotenv();
    const inFile = new Set(this.#file.names());
    const names = new Set([...declared, ...dotenv.keys(), ...inFile].filter(isSecretName));
    return [...names].sort().flatMap((name) => {
      const source = this.#sourceOf(name, dotenv, inFile);
      return source === undefined ? [] : [{ name, source }];
    });
  }

  set(name: string, value: string): void {
    checkSecretName(name);
    if (typeof value !== 'string' || value === '')
      throw new CallsheetError('USAGE', `The value for the secret ${name} is empty.`, {
        details: { secret: name },
        next: [`callsheet secrets delete ${name}`],
      });
    this.#file.set(name, value);
    this.#forget();
  }

  delete(name: string): boolean {
    const deleted = this.#file.delete(checkSecretName(name));
    this.#forget();
    return deleted;
  }

  reread(names: readonly string[]): boolean {
    const before = names.map((name) => this.read(name));
    // Only these: what others have read stays what they have to compare with.
    for (const name of names) this.#values.delete(name);
    this.#dotenv = undefined;
    return names.some((name, index) => this.read(name) !== before[index]);
  }

  #forget(): void {
    this.#values.clear();
    this.#dotenv = undefined;
  }

  #sourceOf(name: string, dotenv: ReadonlyMap<string, string>, inFile: ReadonlySet<string>): SecretSource | undefined {
    if (this.#env[name]) return 'environment';
    if (dotenv.get(name)) return '.env';
    return inFile.has(name) ? 'file' : undefined;
  }

  #fromDotenv(): ReadonlyMap<string, string> {
    this.#dotenv ??= this.#dotenvPath === undefined ? new Map() : readDotenv(this.#dotenvPath);
    return this.#dotenv;
  }
}

function readDotenv(path: string): ReadonlyMap<string, string> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ENOENT') return new Map();
    throw new CallsheetError('FILE_MALFORMED', `${path} cannot be read: ${(error as Error).message}.`, {
      details: { file: path },
      next: [`Make ${path} a file that you may read, or remove it.`],
    });
  }
  return parseDotenv(text, path);
}
