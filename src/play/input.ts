import { NotJsonError, type SchemaIssue, SchemaUnusableError, toJson, validateWith } from '../scope/index.ts';
import { CallsheetError, type JsonValue, type Play } from '../sdk/index.ts';

/**
 * The input a run of the play starts with: plain JSON, as the play's schema made it (defaults filled in), deeply
 * frozen. This is what a run keeps, so a schema is asked once and never on a resume. A play without a schema takes any
 * JSON. Throws `PLAY_INPUT_INVALID` naming each field, `PLAY_DEFINITION_INVALID` where the schema itself is broken.
 */
export async function validatePlayInput(play: Play, input: unknown): Promise<JsonValue> {
  const given = plain(play, input, 'The input');
  const schema = play.options.input;
  if (schema === undefined) return deepFreeze(given);
  const verdict = await verdictOn(play, given);
  if (!verdict.ok) throw notFitting(play, verdict.issues);
  return deepFreeze(plain(play, verdict.value, "What the play's schema made of the input"));
}

async function verdictOn(play: Play, input: JsonValue) {
  try {
    return await validateWith(play.options.input ?? {}, input);
  } catch (error) {
    if (!(error instanceof SchemaUnusableError)) throw error;
    throw new CallsheetError('PLAY_DEFINITION_INVALID', `Play '${play.name}': option \`input\` is ${error.message}.`, {
      details: { play: play.name, option: 'input' },
      next: ['Give `input` a Standard Schema (zod, valibot, arktype) or a JSON Schema object.'],
      cause: error,
    });
  }
}

function plain(play: Play, value: unknown, what: string): JsonValue {
  try {
    return toJson(value);
  } catch (error) {
    if (!(error instanceof NotJsonError)) throw error;
    throw new CallsheetError('PLAY_INPUT_INVALID', `${what} of play '${play.name}' is not JSON: ${error.message}.`, {
      details: { play: play.name, issues: [{ path: fieldOf(error.path), message: `is ${error.found}` }] },
      next: ['Use JSON values only: text, numbers, true, false, null, lists and objects of them.'],
      cause: error,
    });
  }
}

function fieldOf(path: string): string {
  return path.replace(/^\$\.?/, '');
}

function notFitting(play: Play, issues: readonly SchemaIssue[]): CallsheetError {
  const lines = issues.map((issue) => `  ${issue.path === '' ? '(the input)' : issue.path}: ${issue.message}`);
  return new CallsheetError('PLAY_INPUT_INVALID', `The input does not fit play '${play.name}':\n${lines.join('\n')}`, {
    details: { play: play.name, issues },
    next: [
      `Mend ${issues.map((issue) => issue.path || 'the input').join(', ')} in --input '{…}' (or --set field=value).`,
    ],
  });
}

function deepFreeze(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const item of Object.values(value)) deepFreeze(item);
  return Object.freeze(value);
}
