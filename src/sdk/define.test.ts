import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import {
  CallsheetError,
  definePlay,
  defineTool,
  type ErrorCode,
  isPlay,
  isStepsProgram,
  isTool,
  steps,
} from './index.ts';

/** Calls what the types refuse, as JavaScript would. */
const untyped = (fn: unknown) => fn as (...args: unknown[]) => unknown;

function errorOf(fn: () => unknown): CallsheetError {
  try {
    fn();
  } catch (error) {
    if (error instanceof CallsheetError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

function expectRefusal(fn: () => unknown, code: ErrorCode, message: RegExp): void {
  const error = errorOf(fn);
  expect(error.code).toBe(code);
  expect(error.message).toMatch(message);
  expect(error.next.length).toBeGreaterThan(0);
}

describe('definePlay', () => {
  const run = async () => ({ ok: true });
  const options = { description: 'finds things', billing: { maxCreditsPerRun: 5 }, secrets: ['KEY'] };

  verifies('PLAY-FORMS-1', 'both forms make the same handle', async () => {
    const positional = definePlay('find', run, options);
    const object = definePlay({ id: 'find', run, ...options });
    for (const play of [positional, object]) {
      expect(isPlay(play)).toBe(true);
      expect([play.name, play.description, play.options]).toEqual(['find', 'finds things', options]);
      expect(await play({} as never, {})).toEqual({ ok: true });
    }
  });

  verifies('PLAY-NAME-1', 'a name is trimmed, not empty, at most 200 characters, of any script', () => {
    expect(definePlay('  名前を探す  ', run).name).toBe('名前を探す');
    expect(definePlay('x'.repeat(200), run).name).toHaveLength(200);
    expectRefusal(() => definePlay(' ', run), 'PLAY_DEFINITION_INVALID', /not empty/);
    expectRefusal(() => definePlay('x'.repeat(201), run), 'PLAY_DEFINITION_INVALID', /201 characters.*200/);
    expectRefusal(() => untyped(definePlay)(5, run), 'PLAY_DEFINITION_INVALID', /name/);
    expectRefusal(() => untyped(definePlay)({ run }), 'PLAY_DEFINITION_INVALID', /name/);
    expectRefusal(() => untyped(definePlay)(null, run), 'PLAY_DEFINITION_INVALID', /name/);
  });

  verifies('PLAY-OPTIONS-1', 'unknown options are kept by name, known ones are not among them', () => {
    const unknown = { ...options, retires: 3, cron: '* * * * *' };
    const play = definePlay('find', run, unknown);
    expect([play.unknownOptions, play.options]).toEqual([['retires'], unknown]);
    const misspelt = { id: 'find', run, timout: '5m' };
    expect(definePlay(misspelt).unknownOptions).toEqual(['timout']);
    expect(definePlay('find', run, options).unknownOptions).toEqual([]);
  });

  it('refuses a play without a function, and a limit that is no amount', () => {
    expectRefusal(() => untyped(definePlay)('find'), 'PLAY_DEFINITION_INVALID', /'find' needs a function/);
    expectRefusal(() => untyped(definePlay)({ id: 'find' }), 'PLAY_DEFINITION_INVALID', /'find' needs a function/);
    for (const maxCreditsPerRun of [-1, '50', Number.NaN])
      expectRefusal(
        () => untyped(definePlay)('find', run, { billing: { maxCreditsPerRun } }),
        'PLAY_DEFINITION_INVALID',
        /maxCreditsPerRun/,
      );
  });

  it('makes options that nobody can change afterwards', () => {
    const given = { description: 'one' };
    const play = definePlay('find', run, given);
    given.description = 'two';
    expect(play.options.description).toBe('one');
    expect(Object.isFrozen(play.options)).toBe(true);
  });

  it('is told apart from any other function', () => {
    for (const other of [run, {}, null, undefined, 'find', { name: 'find' }]) expect(isPlay(other)).toBe(false);
  });
});

describe('steps', () => {
  verifies('STEPS-DEFINE-1', 'a bad name, a duplicate name, no body and no return are refused', () => {
    const body = () => 'x';
    const refused = (fn: () => unknown, message: RegExp) => expectRefusal(fn, 'DATASET_DEFINITION_INVALID', message);
    refused(() => steps().step('  ', body), /needs a name/);
    refused(() => untyped(steps().step)(undefined, body), /needs a name/);
    refused(() => steps().step('x'.repeat(201), body), /200/);
    refused(() => steps().step('a', body).step(' a ', body), /two steps are named 'a'/);
    refused(() => untyped(steps().step)('a', 5), /'a' needs a function/);
    refused(() => untyped(steps().step)('a', steps().step('b', body)), /did you forget \.return/);
    refused(() => untyped(steps().return)(), /return takes a function/);
  });

  it('make a program of data, in order, that nobody can change', () => {
    const inner = steps<{ a: number }>()
      .step('deep', () => 1)
      .return((row) => row.deep);
    const program = steps<{ a: number }>()
      .step(' first ', () => 1)
      .step('second', inner, { continueOnProviderUnavailable: true })
      .return((row) => row.second);
    expect(isStepsProgram(program)).toBe(true);
    expect(program.steps.map(({ name }) => name)).toEqual(['first', 'second']);
    expect(program.steps[1]?.body).toBe(inner);
    expect(program.steps[1]?.options).toEqual({ continueOnProviderUnavailable: true });
    expect([Object.isFrozen(program), Object.isFrozen(program.steps)]).toEqual([true, true]);
  });

  it('branch: a builder that goes on in two ways makes two programs', () => {
    const base = steps().step('a', () => 1);
    const b = base.step('b', () => 2).return(() => null);
    const c = base.step('c', () => 3).return(() => null);
    expect([b, c].map((program) => program.steps.map(({ name }) => name))).toEqual([
      ['a', 'b'],
      ['a', 'c'],
    ]);
  });

  it('are told apart from builders and other objects', () => {
    for (const other of [steps(), {}, null, () => 1, { steps: [] }]) expect(isStepsProgram(other)).toBe(false);
  });
});

describe('defineTool', () => {
  const fine = { id: 'hunter.find', effect: 'read', input: { type: 'object' }, run: () => null } as const;
  const without = (key: string) => Object.fromEntries(Object.entries(fine).filter(([name]) => name !== key));

  const refused = (tool: unknown, message: RegExp) =>
    expectRefusal(() => untyped(defineTool)(tool), 'TOOL_DEFINITION_INVALID', message);

  verifies('TOOL-DEFINE-1', 'what is missing or contradicts itself is refused by name', () => {
    refused(without('id'), /\(no id\).*`id`/);
    refused({ ...fine, id: 'find' }, /provider\.action/);
    refused({ ...fine, id: 'hunter. find' }, /provider\.action/);
    refused(without('effect'), /hunter\.find.*`effect`/);
    refused({ ...fine, effect: 'readonly' }, /`effect`/);
    refused(without('input'), /`input`/);
    refused(without('run'), /exactly one of `request` and `run`/);
    refused({ ...fine, request: () => ({ url: '/' }) }, /exactly one of `request` and `run`/);
    refused({ ...fine, cost: { credits: () => 1 } }, /`max`/);
    // A mistyped cost or limit would be a tool that is free and unlimited.
    refused({ ...fine, costs: { credits: 10 } }, /no option 'costs'/);
    refused({ ...fine, limit: {} }, /no option 'limit'/);
    refused({ ...fine, reconcile: 'later' }, /`reconcile` must be a function/);
    refused(undefined, /takes an object/);
    refused('hunter.find', /takes an object/);
  });

  verifies('TOOL-PARTS-1', 'a batch or a job that cannot work is refused with what is wrong', () => {
    const { run: _run, ...bare } = fine as { run?: unknown };
    const batch = { maxSize: 10, run: () => [] };
    expect(isTool(untyped(defineTool)({ ...fine, batch }))).toBe(true);
    expect(isTool(untyped(defineTool)({ ...bare, batch }))).toBe(true);
    refused({ ...bare, batch: {} }, /`batch.maxSize`/);
    refused({ ...bare, batch: { maxSize: 1, run: () => [] } }, /`batch.maxSize`/);
    refused({ ...bare, batch: { ...batch, size: 3 } }, /`batch` has no option 'size'/);
    refused({ ...bare, batch: { ...batch, maxWaitMs: -1 } }, /`batch.maxWaitMs`/);
    refused({ ...bare, batch: { maxSize: 10 } }, /exactly one of `batch.request` and `batch.run`/);
    refused({ ...bare, batch: { maxSize: 10, request: () => ({ url: '/' }) } }, /`batch.split`/);
    refused({ ...fine, batch: { maxSize: 10, request: () => ({ url: '/' }), split: () => [] } }, /both use `request`/);
    const job = { start: () => ({}), handle: () => 'h', poll: () => ({}), intervalMs: 1_000, timeoutMs: 60_000 };
    const response = () => ({ status: 'pending' });
    expect(isTool(untyped(defineTool)({ ...bare, async: job, response }))).toBe(true);
    refused({ ...bare, async: job }, /`async` needs `response`/);
    refused({ ...bare, async: { ...job, poll: undefined }, response }, /`async.poll` must be a function/);
    refused({ ...bare, async: { ...job, intervalMs: 0 }, response }, /`async.intervalMs`/);
    refused({ ...bare, async: { ...job, every: 1 }, response }, /`async` has no option 'every'/);
    refused({ ...fine, async: job, response }, /exactly one of|do not go together/);
  });

  it('accepts an effect that depends on the input, and a cost function with its highest', () => {
    const tool = defineTool({ ...fine, effect: () => 'write', cost: { credits: () => 1, max: 3 } });
    expect(isTool(tool)).toBe(true);
    expect(Object.isFrozen(tool)).toBe(true);
  });

  it('is told apart from a bare definition', () => {
    for (const other of [fine, null, undefined, () => 1]) expect(isTool(other)).toBe(false);
  });
});
