import type { SchemaLike } from './schema.ts';

export interface PlayOptions {
  readonly description?: string;
  /** Checked before the run starts. */
  readonly input?: SchemaLike;
  readonly billing?: { readonly maxCreditsPerRun?: number };
  /** `timeout`: a duration such as '30m'; none by default. */
  readonly runtime?: { readonly timeout?: string };
  readonly secrets?: readonly string[];
  /** Kept in the artifact and shown; triggers come with the server. */
  readonly cron?: unknown;
  readonly webhook?: unknown;
  readonly sqlListeners?: unknown;
  readonly compatibility?: unknown;
  readonly inline?: unknown;
}

export const KNOWN_PLAY_OPTIONS: readonly string[] = [
  'description',
  'input',
  'billing',
  'runtime',
  'secrets',
  'cron',
  'webhook',
  'sqlListeners',
  'compatibility',
  'inline',
];

export const playBrand: unique symbol = Symbol.for('callsheet.play') as never;

/** What names a play: in children, and for the runtime. */
export interface PlayHandle {
  readonly [playBrand]: true;
  readonly name: string;
  readonly description: string | undefined;
  readonly options: PlayOptions;
  /** Option names that this release does not know; a check warning. */
  readonly unknownOptions: readonly string[];
}
