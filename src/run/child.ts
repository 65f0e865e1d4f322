import { type OpenedArtifact, validatePlayInput } from '../play/index.ts';
import type { Scope } from '../scope/index.ts';
import { CallsheetError, isPlay, type JsonValue, type Play, type PlayHandle } from '../sdk/index.ts';
import type { AttemptContext } from './attempt-context.ts';
import { MAX_CHILDREN_A_ROW } from './child-keys.ts';
import { deepFrozen } from './deep-frozen.ts';
import { asJson } from './json-result.ts';
import { asResult } from './result.ts';

const MAX_DEPTH = 8;

/** What `ctx.runPlay` and `ctx.runPlayAsync` are asked. */
export interface AskedChild {
  readonly key: unknown;
  readonly play: PlayHandle | string;
  readonly input: unknown;
}

export interface Child {
  readonly key: string;
  readonly play: Play;
  readonly input: JsonValue;
}

/**
 * The child that is asked for, its input checked. Throws CALL_REQUEST_INVALID, PLAY_EXPORT_NOT_FOUND, CHILD_REFUSED
 * (cycle, depth, too many) and PLAY_INPUT_INVALID.
 */
export async function childOf(context: AttemptContext, scope: Scope, asked: AskedChild): Promise<Child> {
  context.ending.assertGoing();
  const { key } = asked;
  if (typeof key !== 'string' || key.trim() === '' || key.length > 200)
    throw new CallsheetError(
      'CALL_REQUEST_INVALID',
      'ctx.runPlay takes a key that is not empty, at most 200 characters.',
      {
        next: ["Write await ctx.runPlay('enrich', play, input)."],
      },
    );
  const play = playOf(context.plays, asked.play);
  const { ancestry } = context;
  const line = [...ancestry, play.name].join(' > ');
  if (ancestry.includes(play.name))
    throw refused(
      { key, play },
      `it is one of its own ancestors (${line})`,
      'Break the cycle: a play that runs itself never ends.',
    );
  if (ancestry.length > MAX_DEPTH)
    throw refused(
      { key, play },
      `it would be ${ancestry.length} plays deep (${line}); at most ${MAX_DEPTH} are`,
      'Call the inner play from higher up.',
    );
  if (!context.children.admit(scope, `${key}:${play.name}`))
    throw refused(
      { key, play },
      `the row has ${MAX_CHILDREN_A_ROW} children already`,
      'Put the inner items into a dataset of their own, with the outer key as a field.',
    );
  const input = asJson(asked.input ?? {}, `The input of child '${key}'`);
  return { key, play, input: (await validatePlayInput(play, input)) as JsonValue };
}

/** A play by its handle, or by the name of one that the artifact holds. */
function playOf(plays: OpenedArtifact['all'], asked: PlayHandle | string): Play {
  if (isPlay(asked)) return asked;
  const found = typeof asked === 'string' ? plays.find((play) => play.name === asked) : undefined;
  if (found !== undefined) return found;
  const names = [...new Set(plays.map((play) => play.name))];
  throw new CallsheetError(
    'PLAY_EXPORT_NOT_FOUND',
    `There is no play ${typeof asked === 'string' ? `'${asked}'` : 'in what ctx.runPlay was given'}; this one knows ${names.join(', ')}.`,
    {
      details: { wanted: String(asked), plays: names },
      next: ['Import the play into the file of this one and pass its handle.'],
    },
  );
}

function refused({ key, play }: Pick<Child, 'key' | 'play'>, why: string, next: string): CallsheetError {
  return new CallsheetError('CHILD_REFUSED', `Child '${key}' (${play.name}) is not run: ${why}.`, {
    details: { key, play: play.name },
    next: [next],
  });
}

/**
 * `ctx.runPlay`: the child's code in this run and attempt, at a scope path of its own. Nothing of the child itself is
 * recorded, so that nothing hides a wait in it: a later attempt runs it again, and what it called is replayed.
 */
export async function runInline(
  context: AttemptContext,
  scope: Scope,
  { asked, ctxOf }: { readonly asked: AskedChild; readonly ctxOf: (context: AttemptContext) => unknown },
): Promise<unknown> {
  const { key, play, input } = await childOf(context, scope, asked);
  const inner = scope.child(key, play.name);
  const frozen = deepFrozen(input);
  context.emit({ type: 'child.started', level: 'debug', message: `Child '${key}' runs ${play.name}.` });
  const returned = await play(
    ctxOf({
      ...context,
      scope: inner,
      input: frozen,
      secrets: play.options.secrets ?? [],
      ancestry: [...context.ancestry, play.name],
    }) as never,
    frozen,
  );
  // Datasets that the child left running are the run's, which waits for them.
  asResult(returned);
  // Nothing reaches the parent's code once the attempt is over.
  return scope.gate.state === 'closed' ? new Promise(() => {}) : returned;
}
