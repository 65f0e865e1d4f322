import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { defineTool, type JsonValue, type ToolDefinition } from '../sdk/index.ts';
import { buildCatalogue, type CatalogueTool, type RawAnswer } from '../tool/index.ts';
import { type ContractBroken, readAnswer } from './contract.ts';

// biome-ignore lint/suspicious/noExplicitAny: each test writes the part of a definition that it is about
function tool(parts: any): CatalogueTool {
  const definition = {
    id: 'acme.find',
    effect: 'read',
    input: { type: 'object' },
    request: () => ({ url: '/x' }),
    ...parts,
  };
  return buildCatalogue({ tools: [defineTool(definition as ToolDefinition)], mode: 'live' }).get('acme.find');
}

const http = (status: number, body: string): RawAnswer => ({
  kind: 'http',
  status,
  headers: { x: '1' },
  body,
  encoding: 'utf8',
});
const read = (parts: object, raw: RawAnswer) => readAnswer(tool(parts), { q: 1 }, raw);
const broken = (parts: object, raw: RawAnswer): ContractBroken => {
  try {
    read(parts, raw);
  } catch (error) {
    return error as ContractBroken;
  }
  throw new Error('it was read');
};

describe('a raw answer without a response function', () => {
  verifies(
    'TOOL-READING-1',
    'is the parsed JSON, or text where it is none; 204 and noResult statuses are no_result',
    () => {
      expect(read({}, http(200, '{"a":1}'))).toMatchObject({ status: 'completed', data: { a: 1 } });
      expect(read({}, http(201, 'not json'))).toMatchObject({ status: 'completed', data: 'not json' });
      expect(read({}, http(200, ''))).toMatchObject({ status: 'completed', data: '' });
      expect(read({}, http(204, ''))).toMatchObject({ status: 'no_result', data: null });
      expect(read({ noResult: [404] }, http(404, '{"a":1}'))).toMatchObject({ status: 'no_result', data: null });
      expect(read({}, http(200, 'null'))).toMatchObject({ status: 'completed', data: null });
    },
  );

  it('of a function tool is its value, and null is no_result', () => {
    const parts = { request: undefined, run: () => 1 };
    expect(read(parts, { kind: 'value', value: 0 })).toMatchObject({ status: 'completed', data: 0 });
    expect(read(parts, { kind: 'value', value: null })).toMatchObject({ status: 'no_result', data: null });
  });
});

describe('what an answer costs', () => {
  const ok = http(200, '{}');

  verifies('BUDGET-MICRO-1', 'is compared with its max, and kept, in whole millionths', () => {
    const noise = { credits: () => 7 * 0.1, max: 0.7 };
    expect(noise.credits()).toBeGreaterThan(0.7);
    expect(read({ cost: noise }, ok).credits).toBe(0.7);
    expect(read({ cost: { credits: 7 * 0.1 } }, ok).credits).toBe(0.7);
    expect(tool({ cost: { credits: 7 * 0.1 } }).maxCredits).toBe(0.7);
    expect(tool({ cost: { credits: 7 * 0.1, max: 0.7 } }).maxCredits).toBe(0.7);
    expect(readAnswer(tool({ cost: { credits: 7 * 0.1 } }), {}, { kind: 'value', value: 1, given: true }).credits).toBe(
      0.7,
    );
    expect(broken({ cost: { credits: () => 0.700001, max: 0.7 } }, ok).message).toContain('returned 0.700001 credits');
  });
});

describe('what was done by what somebody says', () => {
  const given = (cost: object, value: JsonValue) =>
    readAnswer(tool({ cost: cost as never }), {}, { kind: 'value', value, given: true }).credits;

  verifies('INTENT-RESOLVE-3', 'costs what its tool reads from that, and the most that it may where it cannot', () => {
    const priced = { credits: ({ data }: { data: { price: number } }) => data.price, max: 3 };
    expect(given(priced, { price: 2 })).toBe(2);
    expect(given(priced, { price: 0 })).toBe(0);
    expect(given(priced, { price: 4 })).toBe(4);
    expect([given(priced, {}), given(priced, 'sent'), given(priced, null)]).toEqual([3, 3, 3]);
    const perResult = { credits: 1, per: 'result' };
    expect([given(perResult, { id: 1 }), given(perResult, null)]).toEqual([1, 1]);
    expect([given({ credits: 2 }, null), given({ credits: 0 }, null)]).toEqual([2, 0]);
  });
});

describe('the tool author’s code', () => {
  it('sees status, headers, JSON, text and input', () => {
    const seen: unknown[] = [];
    const response = (view: unknown) => {
      seen.push(view);
      return { status: 'completed', data: 7, meta: { page: 1 }, jobId: 'j1' };
    };
    expect(read({ response }, http(200, '{"a":1}'))).toMatchObject({ data: 7, meta: { page: 1 }, jobId: 'j1' });
    expect(seen).toEqual([{ status: 200, headers: { x: '1' }, json: { a: 1 }, text: '{"a":1}', input: { q: 1 } }]);
    read({ response }, http(200, 'oops'));
    expect(seen[1]).toMatchObject({ json: undefined, text: 'oops' });
  });

  verifies('CALL-CONTRACT-1', 'is named with what it did where it throws or returns a wrong shape', () => {
    const thrower = () => {
      throw new TypeError('no email of undefined');
    };
    const ok = http(200, '{}');
    expect(broken({ response: thrower }, ok)).toMatchObject({
      part: 'response',
      message: 'TypeError: no email of undefined',
    });
    expect(broken({ response: () => undefined }, ok)).toMatchObject({ part: 'response' });
    expect(broken({ response: () => ({ data: 1 }) }, ok).message).toContain('an object with data');
    expect(broken({ response: () => ({ status: 'done' }) }, ok).part).toBe('response');
    expect(broken({ extract: { email: thrower } }, ok)).toMatchObject({ part: 'extract' });
    expect(broken({ extract: { email: thrower } }, ok).message).toContain("'email'");
    for (const credits of [thrower, () => -1, () => Number.NaN, () => '3', () => Number.POSITIVE_INFINITY])
      expect(broken({ cost: { credits, max: 5 } }, ok).part).toBe('cost');
  });

  verifies('TOOL-EXTRACT-1', 'extract takes paths and functions, and null stands where nothing is found', () => {
    const extract = {
      email: 'people[0].email',
      first: (data: { people: unknown[] }) => data.people[0],
      none: 'x.y',
      undef: () => undefined,
    };
    expect(read({ extract }, http(200, '{"people":[{"email":"a@x.io"}]}')).values).toEqual({
      email: 'a@x.io',
      first: { email: 'a@x.io' },
      none: null,
      undef: null,
    });
  });
});

describe('what an answer cost', () => {
  it('is nothing, a number a call, a number a result, or what the function says', () => {
    const none = http(204, '');
    const some = http(200, '{"n":3}');
    expect(read({}, some).credits).toBe(0);
    expect(read({ cost: { credits: 2 } }, none).credits).toBe(2);
    expect(read({ cost: { credits: 2, per: 'result' } }, none).credits).toBe(0);
    expect(read({ cost: { credits: 2, per: 'result' } }, some).credits).toBe(2);
    const credits = (view: { data: { n: number }; httpStatus: number; input: { q: number } }) =>
      view.data.n + view.input.q + (view.httpStatus === 200 ? 0.5 : 0);
    expect(read({ cost: { credits, max: 9 } }, some).credits).toBe(4.5);
  });

  it('is a broken contract above the declared max: credits were reserved by that', () => {
    const cost = { credits: () => 50, max: 1 };
    expect(broken({ cost }, http(200, '{}'))).toMatchObject({
      part: 'cost',
      message: expect.stringContaining('max of 1'),
    });
  });
});
