import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { JsonSchema } from '../sdk/index.ts';
import { prepareSchema, SchemaUnusableError, schemaAsJson, validateWith } from './index.ts';

const person: JsonSchema = {
  type: 'object',
  required: ['domain'],
  additionalProperties: false,
  properties: {
    domain: { type: 'string', minLength: 3 },
    tags: { type: 'array', items: { type: 'string' } },
    size: { enum: ['s', 'l'] },
    kind: { const: 'lead' },
    email: { type: 'string', format: 'email' },
  },
};

describe('JSON Schema', () => {
  it('accepts what fits, synchronously and unchanged', () => {
    const value = { domain: 'acme.com', tags: ['a'] };
    const verdict = validateWith(person, value);
    expect(verdict).toEqual({ ok: true, value });
    expect((verdict as { value: unknown }).value).toBe(value);
  });

  it('names every field that does not fit', () => {
    expect(validateWith(person, { tags: ['a', 3], size: 'm', kind: 'x', colour: 'red' })).toEqual({
      ok: false,
      issues: [
        { path: 'domain', message: 'is required' },
        { path: 'colour', message: 'is not a known field' },
        { path: 'tags[1]', message: 'must be string' },
        { path: 'size', message: 'must be one of ["s","l"]' },
        { path: 'kind', message: 'must be "lead"' },
      ],
    });
    expect(validateWith(person, 'text')).toEqual({ ok: false, issues: [{ path: '', message: 'must be object' }] });
  });

  it('unescapes JSON pointers in paths', () => {
    const schema = { properties: { 'a/b~c': { type: 'string' } } };
    expect(validateWith(schema, { 'a/b~c': 1 })).toMatchObject({ issues: [{ path: 'a/b~c' }] });
  });

  it('reads format as a remark', () => {
    expect(validateWith(person, { domain: 'acme.com', email: 'not one' })).toMatchObject({ ok: true });
  });

  it('knows tuples of draft 7 where $schema says so, and of 2020-12 otherwise', () => {
    const seven = { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'string' }] };
    expect(validateWith(seven, [1])).toMatchObject({ ok: false, issues: [{ path: '[0]' }] });
    expect(validateWith({ prefixItems: [{ type: 'string' }] }, [1])).toMatchObject({ ok: false });
  });

  it('takes two schemas of one $id, and recursive ones', () => {
    const one = { $id: 'https://example.com/x', type: 'string' };
    const two = { $id: 'https://example.com/x', type: 'number' };
    const tree = {
      $defs: { node: { properties: { next: { $ref: '#/$defs/node' }, n: { type: 'number' } } } },
      $ref: '#/$defs/node',
    };
    expect(validateWith(one, 'a')).toMatchObject({ ok: true });
    expect(validateWith(two, 1)).toMatchObject({ ok: true });
    expect(validateWith(tree, { next: { next: { n: 'x' } } })).toMatchObject({ issues: [{ path: 'next.next.n' }] });
  });

  it('refuses a schema that is none', async () => {
    expect(() => validateWith({ type: 'strnig' }, 1)).toThrow(SchemaUnusableError);
    await expect(prepareSchema({ type: 'strnig' })).rejects.toThrow(/not a JSON Schema/);
    await expect(prepareSchema({ $ref: '#/$defs/gone' })).rejects.toThrow(/gone/);
    expect(() => validateWith(null as never, 1)).toThrow(/not null/);
    expect(() => validateWith('string' as never, 1)).toThrow(/not a string/);
    expect(() => validateWith((() => 1) as never, 1)).toThrow(/not a function/);
  });

  it('still refuses a broken schema the second time', () => {
    const broken = { type: 'strnig' };
    expect(() => validateWith(broken, 1)).toThrow(SchemaUnusableError);
    expect(() => validateWith(broken, 1)).toThrow(SchemaUnusableError);
  });
});

describe('Standard Schema', () => {
  it('gives what the schema made of the value', () => {
    const schema = z.object({ n: z.coerce.number().default(3) });
    expect(validateWith(schema, {})).toEqual({ ok: true, value: { n: 3 } });
  });

  it('names the field of an issue', () => {
    const schema = z.object({ people: z.array(z.object({ email: z.string() })) });
    expect(validateWith(schema, { people: [{ email: 1 }] })).toMatchObject({
      ok: false,
      issues: [{ path: 'people[0].email' }],
    });
  });

  it('waits where the schema does', async () => {
    const schema = z.string().refine(async (text) => text === 'yes', 'must be yes');
    const verdict = validateWith(schema, 'no');
    expect(verdict).toBeInstanceOf(Promise);
    expect(await verdict).toEqual({ ok: false, issues: [{ path: '', message: 'must be yes' }] });
  });

  it('reads path segments that are objects', () => {
    const schema = {
      '~standard': {
        version: 1,
        vendor: 'x',
        validate: () => ({ issues: [{ message: 'no', path: [{ key: 'a' }, { key: 0 }] }] }),
      },
    } as const;
    expect(validateWith(schema, 1)).toMatchObject({ issues: [{ path: 'a[0]' }] });
  });

  it('counts a check that throws as not fitting', async () => {
    const make = (validate: () => never | Promise<never>) =>
      ({ '~standard': { version: 1, vendor: 'x', validate } }) as const;
    const issues = [{ path: '', message: 'the schema threw: boom' }];
    expect(
      validateWith(make(() => { throw new Error('boom'); }), 1), // biome-ignore format: short
    ).toEqual({ ok: false, issues });
    expect(
      await validateWith(
        make(() => Promise.reject(new Error('boom'))),
        1,
      ),
    ).toEqual({ ok: false, issues });
  });

  it('refuses one without validate', () => {
    expect(() => validateWith({ '~standard': { version: 1 } } as never, 1)).toThrow(/without a validate/);
  });
});

describe('schemaAsJson', () => {
  it('shows a zod schema as JSON Schema', () => {
    expect(schemaAsJson(z.object({ csv: z.string() }))).toMatchObject({
      type: 'object',
      properties: { csv: { type: 'string' } },
      required: ['csv'],
    });
  });

  it('shows a JSON Schema as it is, and nothing where a schema cannot be told', () => {
    expect(schemaAsJson(person)).toBe(person);
    expect(schemaAsJson(z.date())).toBeUndefined();
    expect(schemaAsJson({ '~standard': { version: 1, vendor: 'x', validate: () => ({ value: 1 }) } })).toBeUndefined();
  });
});
