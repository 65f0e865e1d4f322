import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { verifies } from '../../test/requirements.ts';
import { definePlay, type SchemaLike } from '../sdk/index.ts';
import { describePlay, loadPlay, validatePlayInput } from './index.ts';
import { folderWith, rejection } from './temp-folder.test-support.ts';

const withInput = (input?: SchemaLike) => definePlay('p', async () => ({}), input === undefined ? {} : { input });

describe('validatePlayInput', () => {
  verifies('PLAY-INPUT-2', 'gives plain JSON with defaults filled in, deeply frozen', async () => {
    const play = withInput(z.object({ csv: z.string(), options: z.object({ limit: z.number().default(10) }) }));
    const input = (await validatePlayInput(play, { csv: 'a.csv', options: {} })) as { options: { limit: number } };
    expect(input).toEqual({ csv: 'a.csv', options: { limit: 10 } });
    expect(() => {
      input.options.limit = 3;
    }).toThrow(TypeError);
  });

  it('takes any JSON where the play declares nothing, and leaves the caller’s object alone', async () => {
    const given = { a: [{ b: 1 }] };
    const input = await validatePlayInput(withInput(), given);
    expect(input).toEqual(given);
    expect(Object.isFrozen((input as typeof given).a[0])).toBe(true);
    expect(Object.isFrozen(given)).toBe(false);
    expect(await validatePlayInput(withInput(), null)).toBeNull();
  });

  verifies('PLAY-INPUT-1', 'PLAY_INPUT_INVALID names every field, by Standard Schema and by JSON Schema', async () => {
    const standard = withInput(z.object({ csv: z.string(), people: z.array(z.object({ age: z.number() })) }));
    const one = await rejection(validatePlayInput(standard, { people: [{ age: 'x' }] }));
    expect(one.code).toBe('PLAY_INPUT_INVALID');
    expect(one.message).toMatch(/play 'p'[\s\S]* csv: [\s\S]* people\[0\]\.age: /);
    const json = withInput({ type: 'object', required: ['csv'], properties: { n: { type: 'number' } } });
    const two = await rejection(validatePlayInput(json, { n: 'x' }));
    expect(two.details.issues).toEqual([
      { path: 'csv', message: 'is required' },
      { path: 'n', message: 'must be number' },
    ]);
    expect(two.next[0]).toContain('csv, n');
    expect((await rejection(validatePlayInput(json, 'text'))).message).toContain('(the input): must be object');
  });

  it('waits for a schema that does', async () => {
    const play = withInput(z.object({ a: z.string().refine(async (a) => a === 'x', 'must be x') }));
    expect(await validatePlayInput(play, { a: 'x' })).toEqual({ a: 'x' });
    expect(await rejection(validatePlayInput(play, { a: 'y' }))).toMatchObject({ code: 'PLAY_INPUT_INVALID' });
  });

  it('PLAY_INPUT_INVALID for what is not JSON, before and after the schema', async () => {
    const before = await rejection(validatePlayInput(withInput(), { a: [1n] }));
    expect(before).toMatchObject({ code: 'PLAY_INPUT_INVALID', details: { issues: [{ path: 'a[0]' }] } });
    const after = await rejection(
      validatePlayInput(withInput(z.object({ at: z.coerce.date() })), { at: '2026-01-01' }),
    );
    expect(after.message).toContain("What the play's schema made of the input");
    expect(after.details.issues).toEqual([{ path: 'at', message: 'is an instance of Date' }]);
  });

  it('PLAY_DEFINITION_INVALID where the schema is none', async () => {
    const error = await rejection(validatePlayInput(withInput({ type: 'strnig' }), {}));
    expect(error).toMatchObject({ code: 'PLAY_DEFINITION_INVALID', details: { option: 'input' } });
  });
});

it('describePlay shows name, options, input and exports as plain JSON', async () => {
  const folder = folderWith({
    'x.play.ts': `import { definePlay } from 'callsheet';
      export const a = definePlay({ id: 'aa', description: 'does', input: { type: 'object' }, run: async () => ({}), colour: 'red', cron: '0 * * * *' } as never);
      export const b = definePlay('bb', async () => ({}));`,
  });
  const described = describePlay(await loadPlay(`${path.join(folder, 'x.play.ts')}#a`));
  expect(JSON.parse(JSON.stringify(described))).toEqual({
    name: 'aa',
    description: 'does',
    exportName: 'a',
    exports: [
      { exportName: 'a', name: 'aa' },
      { exportName: 'b', name: 'bb' },
    ],
    options: { description: 'does', colour: 'red', cron: '0 * * * *' },
    unknownOptions: ['colour'],
    inputSchema: { type: 'object' },
    artifact: expect.stringMatching(/^sha256-[0-9a-f]{64}$/),
  });
  const bare = describePlay(await loadPlay(`${path.join(folder, 'x.play.ts')}#b`));
  expect(bare).toMatchObject({ description: null, inputSchema: null, options: {} });
});
