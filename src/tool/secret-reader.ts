import { CallsheetError } from '../sdk/index.ts';
import type { CatalogueTool, ReadSecret } from './port.ts';

/** What one operation may read of the secrets, and what it did read. */
export class SecretReader {
  readonly #tool: CatalogueTool;
  readonly #readSecret: ReadSecret;
  #used: Map<string, string> | undefined;
  #refusal: unknown;

  constructor(tool: CatalogueTool, readSecret: ReadSecret) {
    this.#tool = tool;
    this.#readSecret = readSecret;
  }

  /** Names and values read so far: what must not leave the transport. */
  get used(): ReadonlyMap<string, string> | undefined {
    return this.#used;
  }

  /** The last error that `read` threw. */
  get refusal(): unknown {
    return this.#refusal;
  }

  /** Throws `SECRET_NOT_DECLARED` or `SECRET_MISSING`, and what the injected reader throws. */
  read(name: string): string {
    const known = this.#used?.get(name);
    if (known !== undefined) return known;
    try {
      const value = this.#readDeclared(name);
      this.#used ??= new Map();
      this.#used.set(name, value);
      return value;
    } catch (error) {
      this.#refusal = error;
      throw error;
    }
  }

  #readDeclared(name: string): string {
    const { id, secrets } = this.#tool;
    if (!secrets.includes(name))
      throw new CallsheetError(
        'SECRET_NOT_DECLARED',
        `Tool ${id} asked for the secret ${name}, which its definition does not list.`,
        { details: { tool: id, secret: name }, next: [`Add '${name}' to \`secrets\` in the definition of ${id}.`] },
      );
    const value = this.#readSecret(name);
    if (value === undefined || value === '')
      throw new CallsheetError('SECRET_MISSING', `The secret ${name}, which tool ${id} needs, is not set.`, {
        details: { tool: id, secret: name },
        next: [`callsheet secrets set ${name}`, `Or set ${name} in the environment or in .env.`],
      });
    return value;
  }
}
