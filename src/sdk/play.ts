import type { PlayCtx } from './ctx.ts';
import { CallsheetError } from './errors.ts';
import { KNOWN_PLAY_OPTIONS, type PlayHandle, type PlayOptions, playBrand } from './play-options.ts';

export type PlayFn<Input, Result> = (ctx: PlayCtx<Input>, input: Input) => Result | Promise<Result>;

/** A play: callable by the runtime, and a handle that other plays name it by. */
// biome-ignore lint/suspicious/noExplicitAny: a handle's input type is checked where it is run, not where it is named
export type Play<Input = any, Result = unknown> = PlayFn<Input, Result> & PlayHandle;

export type PlayObject<Input, Result> = PlayOptions & {
  readonly id: string;
  readonly run: PlayFn<Input, Result>;
};

/**
 * Defines a play, as `definePlay(name, fn, options?)` or `definePlay({ id, run, … })`.
 * Throws `PLAY_DEFINITION_INVALID` where the name or function cannot be used.
 */
export function definePlay<Input, Result>(
  name: string,
  fn: PlayFn<Input, Result>,
  options?: PlayOptions,
): Play<Input, Result>;
export function definePlay<Input, Result>(definition: PlayObject<Input, Result>): Play<Input, Result>;
export function definePlay<Input, Result>(
  nameOrDefinition: string | PlayObject<Input, Result>,
  fn?: PlayFn<Input, Result>,
  options?: PlayOptions,
): Play<Input, Result> {
  if (typeof nameOrDefinition === 'object' && nameOrDefinition !== null) {
    const { id, run, ...rest } = nameOrDefinition;
    return makePlay(id, run, rest);
  }
  return makePlay(nameOrDefinition, fn, options ?? {});
}

function makePlay<Input, Result>(
  rawName: unknown,
  fn: PlayFn<Input, Result> | undefined,
  options: PlayOptions,
): Play<Input, Result> {
  const refuse = (problem: string): never => {
    throw new CallsheetError('PLAY_DEFINITION_INVALID', `definePlay: ${problem}.`, {
      details: { play: String(rawName) },
      next: ["Write definePlay('name', async (ctx, input) => { … })."],
    });
  };
  if (typeof rawName !== 'string' || rawName.trim() === '') return refuse('a play needs a name that is not empty');
  const name = rawName.trim();
  if (name.length > 200) return refuse(`the name has ${name.length} characters; at most 200 are allowed`);
  if (typeof fn !== 'function') return refuse(`play '${name}' needs a function`);
  const credits = options.billing?.maxCreditsPerRun;
  if (credits !== undefined && !(typeof credits === 'number' && credits >= 0))
    return refuse('billing.maxCreditsPerRun must be a number of credits, 0 or more');
  const timeout: unknown = options.runtime?.timeout;
  const isDuration = typeof timeout === 'number' || /^\s*\d+(\.\d+)?\s*(ms|s|m|h|d)\s*$/.test(String(timeout));
  if (timeout !== undefined && !isDuration)
    return refuse(`runtime.timeout must be a duration such as '30m', not ${JSON.stringify(timeout)}`);
  const play = (ctx: PlayCtx<Input>, input: Input): Result | Promise<Result> => fn(ctx, input);
  const facts = {
    [playBrand]: true,
    name,
    description: options.description,
    options: Object.freeze({ ...options }),
    unknownOptions: Object.keys(options).filter((key) => !KNOWN_PLAY_OPTIONS.includes(key)),
  };
  for (const key of Reflect.ownKeys(facts))
    Object.defineProperty(play, key, { value: facts[key as keyof typeof facts], enumerable: true });
  // Whoever imports author code takes note of what it defines, also of plays that its file does not export.
  (globalThis as Record<symbol, unknown[] | undefined>)[Symbol.for('callsheet.defining')]?.push(play);
  return play as unknown as Play<Input, Result>;
}

export function isPlay(value: unknown): value is Play {
  return typeof value === 'function' && (value as unknown as Record<symbol, unknown>)[playBrand] === true;
}
