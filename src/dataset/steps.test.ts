import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { Gate, Scope } from '../scope/index.ts';
import {
  isStepsProgram,
  ProviderExhaustedError,
  ProviderTransientError,
  type RowCtx,
  steps,
  ToolExecutionError,
} from '../sdk/index.ts';
import { dataset, facts, type Row, readRows } from './chain.test-support.ts';
import { runSteps } from './program.ts';
import { testRun } from './test-host.test-support.ts';

const transient = (): Error => new ProviderTransientError('PROVIDER_UPSTREAM', 'hunter is down', facts);

describe('steps programs in a column', () => {
  const program = steps<Row>()
    .step(
      'hunter',
      async (row) => {
        if (row.n === 2) throw transient();
        return row.n === 1 ? 'a@hunter.test' : null;
      },
      { continueOnProviderUnavailable: true },
    )
    .step('prospeo', (_row, ctx) => (ctx as unknown as { path: string }).path, { runIf: (row) => row.hunter === null })
    .return((row) => row.hunter ?? row.prospeo);

  verifies(
    ['STEPS-ORDER-1', 'STEPS-SKIP-1', 'STEPS-UNAVAILABLE-1'],
    'each leg sees the earlier ones; its end is traced',
    async () => {
      const test = testRun();
      const rows = await dataset(test, [{ n: 1 }, { n: 2 }, { n: 3 }])
        .withColumn('email', program)
        .run();
      expect((await rows.materialize()).map((row) => row.email)).toEqual([
        'a@hunter.test',
        'email.prospeo',
        'email.prospeo',
      ]);
      const all = steps<Row>()
        .step('left', () => 'done', { runIf: () => false })
        .return((row) => row.left === null);
      expect(
        (
          await (
            await dataset(testRun(), [{ n: 1 }])
              .withColumn('is', all)
              .run()
          ).materialize()
        )[0]?.is,
      ).toBe(true);
      const outcomes = (await readRows(test)).map((row) =>
        (row.trace as Row[]).map((leg) => `${leg.path} ${leg.outcome}`),
      );
      expect(outcomes).toEqual([
        ['email.hunter hit', 'email.prospeo skipped'],
        ['email.hunter unavailable', 'email.prospeo hit'],
        ['email.hunter miss', 'email.prospeo hit'],
      ]);
      expect(test.progress.at(-1)?.legs).toEqual([
        { path: 'email.hunter', hits: 1, misses: 1, unavailable: 1, skipped: 0, failed: 0, rejected: 0 },
        { path: 'email.prospeo', hits: 2, misses: 0, unavailable: 0, skipped: 1, failed: 0, rejected: 0 },
      ]);
    },
  );

  verifies('STEPS-UNAVAILABLE-1', 'passes over exhausted providers, and over nothing else', async () => {
    const exhausted = new ProviderExhaustedError('used up', facts, '2026-01-01T00:00:00Z');
    const refused = new ToolExecutionError('PROVIDER_AUTHENTICATION', 'bad key', facts);
    for (const [error, state] of [
      [exhausted, 'completed'],
      [refused, 'failed'],
      [new Error('bug'), 'failed'],
    ] as const) {
      const test = testRun();
      const one = steps<Row>()
        .step(
          'a',
          () => {
            throw error;
          },
          { continueOnProviderUnavailable: true },
        )
        .return(() => 'after');
      await dataset(test, [{ n: 1 }])
        .withColumn('email', one)
        .run();
      expect((await readRows(test))[0]).toMatchObject({ state, trace: [{ path: 'email.a' }] });
    }
    const test = testRun();
    const strict = steps<Row>()
      .step('a', () => {
        throw exhausted;
      })
      .return(() => 'after');
    await dataset(test, [{ n: 1 }])
      .withColumn('email', strict)
      .run();
    expect((await readRows(test))[0]).toMatchObject({
      state: 'failed',
      error: { code: 'PROVIDER_EXHAUSTED', column: 'email' },
      trace: [{ path: 'email.a', outcome: 'failed', error: { code: 'PROVIDER_EXHAUSTED', message: 'used up' } }],
    });
  });

  verifies('STEPS-NEST-1', 'a nested program is a step; its legs have paths of their own', async () => {
    const inner = steps<Row>()
      .step('x', () => {
        throw transient();
      })
      .step('y', () => 'never reached')
      .return((row) => row.y);
    const outer = steps<Row>()
      .step('group', inner, { continueOnProviderUnavailable: true })
      .step('left', inner, { runIf: () => false })
      .step('last', (row) => (row.group === null && row.left === null ? 'last' : 'wrong'))
      .return((row) => row.last);
    const test = testRun();
    const rows = await dataset(test, [{ n: 1 }])
      .withColumn('email', outer)
      .run();
    expect((await rows.materialize())[0]?.email).toBe('last');
    const [row] = await readRows(test);
    expect((row?.trace as Row[] | undefined)?.map((leg) => [leg.path, leg.outcome])).toEqual([
      ['email.group.x', 'unavailable'],
      ['email.left.x', 'skipped'],
      ['email.left.y', 'skipped'],
      ['email.last', 'hit'],
    ]);
  });

  it('takes a tool result without an answer for a miss', async () => {
    const test = testRun();
    const one = steps<Row>()
      .step('a', () => ({ status: 'no_result', execution: {} }))
      .return(() => null);
    await dataset(test, [{ n: 1 }])
      .withColumn('email', one)
      .run();
    expect((await readRows(test))[0]?.trace).toEqual([{ path: 'email.a', outcome: 'miss' }]);
  });

  it('does not let a program change the row that later columns see', async () => {
    const one = steps<Row>()
      .step('n', () => 'changed')
      .return((row) => row.n);
    const rows = await dataset(testRun(), [{ n: 1 }])
      .withColumn('c', one)
      .withColumn('d', (row: Row) => row.n)
      .run();
    expect(await rows.materialize()).toEqual([{ n: 1, c: 'changed', d: 1 }]);
  });
});

describe('ctx.runSteps', () => {
  const scope = Scope.ofRun({ runId: 'run', seed: 's', fence: { runNo: 1, attempt: 1 }, gate: new Gate() });
  const rowCtx = (at: Scope): RowCtx => ({ path: at.path }) as unknown as RowCtx;

  verifies('STEPS-ORDER-1', 'runs a program over one value, each step at a place of its own', async () => {
    const program = steps<{ n: number }>()
      .step('a', (row, ctx) => `${row.n} ${(ctx as unknown as { path: string }).path}`)
      .step('b', async (row) => `${row.a}!`)
      .return(async (row) => row.b);
    expect(isStepsProgram(program)).toBe(true);
    expect(await runSteps({ program: program as never, input: { n: 1 }, scope, rowCtx })).toBe('1 a!');
    expect(await runSteps({ program: program as never, input: { n: 1 }, scope: scope.at('col'), rowCtx })).toBe(
      '1 col.a!',
    );
  });

  it.each([null, 'text', [1]])('refuses %j as its input, and what is no program', async (input) => {
    const program = steps().return(() => 1) as never;
    const invalid = { code: 'DATASET_DEFINITION_INVALID' };
    await expect(runSteps({ program, input, scope, rowCtx })).rejects.toMatchObject(invalid);
    await expect(runSteps({ program: {} as never, input: {}, scope, rowCtx })).rejects.toMatchObject(invalid);
  });
});
