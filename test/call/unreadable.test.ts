import { describe, expect } from 'vitest';
import type { FunctionBatch } from '../../src/sdk/index.ts';
import { existingRun, resolveOperation, type Workspace } from '../../src/workspace/index.ts';
import { type BatchedTool, batchedTool, countedTool } from '../harness/tools.ts';
import { creditsShown, openTest, retryFailed, runPlay, settled, testFolder } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const GOES_ON = {
  'callsheet.config.ts': `import { defineConfig } from 'callsheet'; export default defineConfig({ continueOnContractError: true });`,
};
const ROWS = `async (ctx) => {
  const rows = await ctx.dataset('rows', [0, 1, 2].map((n) => ({ n }))).withColumn('v', async (row, ctx) =>
    (await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: row.n } })).data).run({ key: 'n' });
  return (await rows.materialize()).map((row) => row.v ?? null);
}`;
const BODY = `async (ctx) => {
  const ends = await Promise.allSettled([0, 1, 2].map((n) =>
    ctx.tools.execute({ id: 'q' + n, tool: 'acme.find', input: { n } })));
  const failed = ends.find(({ status }) => status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return ends.map(({ value }) => value.data);
}`;

type Split = NonNullable<FunctionBatch<unknown>['split']>;
const JUNK: Split = () => {
  throw new Error('junk');
};
const every =
  (said: object): Split =>
  (answer) =>
    (answer as number[]).map((n) => ({ data: n, message: 'not this one', ...said }) as never);

/** A workspace whose tool is mended, in this one place, by opening it again. */
async function mendable(parts: object = {}) {
  const dir = testFolder(GOES_ON);
  const sent: BatchedTool['sent'][number][] = [];
  const mended = (split: Split): Promise<Workspace> => {
    const answer = (inputs: readonly { readonly n: number }[]) => inputs.map(({ n }) => n);
    const { tool } = batchedTool({ maxSize: 3, split, ...parts }, (inputs, { operationKey }) => {
      sent.push({ inputs, operationKey });
      return answer(inputs as never);
    });
    return openTest(dir, { tools: [tool] });
  };
  return { mended, sent, broken: await mended(JUNK) };
}

describe('an answer that the tool cannot read, where the run goes on', () => {
  for (const [where, play] of [
    ['a row', ROWS],
    ['the play itself', BODY],
  ] as const)
    verifies('CALL-CONTRACT-3', `is unknown until it can, and is bought once, in ${where}`, async () => {
      const { mended, sent, broken } = await mendable();
      const { run } = await runPlay(broken, play);
      expect(await creditsShown(broken, run.id)).toEqual({ settled: 0, unknown: 3 });
      await retryFailed(broken, run.id);
      expect(await creditsShown(broken, run.id)).toEqual({ settled: 0, unknown: 3 });
      const later = await mended(every({ status: 'completed' }));
      expect((await retryFailed(later, run.id)).result).toEqual([0, 1, 2]);
      expect([sent.length, await creditsShown(later, run.id)]).toEqual([1, { settled: 3, unknown: 0 }]);
    });

  verifies('CALL-CONTRACT-3', 'and that turns out to have refused its members was charged nothing', async () => {
    const { mended, sent, broken } = await mendable();
    const { run } = await runPlay(broken, ROWS, { maxCredits: 3 });
    const later = await mended(every({ status: 'failed' }));
    await retryFailed(later, run.id);
    expect([sent.length, await creditsShown(later, run.id)]).toEqual([2, { settled: 0, unknown: 0 }]);
    const last = await mended(every({ status: 'completed' }));
    expect((await retryFailed(last, run.id)).result).toEqual([0, 1, 2]);
    expect(await creditsShown(last, run.id)).toEqual({ settled: 3, unknown: 0 });
  });

  for (const [keyed, most] of [
    [{}, 6],
    [{ idempotency: { header: 'Idempotency-Key' } }, 3],
  ] as const)
    verifies(
      ['CALL-CONTRACT-3', 'BATCH-REFUSED-2'],
      `and that turns out to say nothing certain uses its limit up ${'idempotency' in keyed ? 'with' : 'without'} a key`,
      async () => {
        const { mended, sent, broken } = await mendable({ maxTries: 1, ...keyed });
        const { run } = await runPlay(broken, ROWS, { maxCredits: 6 });
        const later = await mended(every({ status: 'failed', ending: 'ambiguous' }));
        for (let again = 0; again < 3; again++) await retryFailed(later, run.id);
        const batches = new Map(sent.map((one, no) => ['idempotency' in keyed ? one.operationKey : no, one.inputs]));
        const charged = [...batches.values()].reduce((sum, inputs) => sum + inputs.length, 0);
        // Under one key it is charged once.
        expect([charged, await creditsShown(later, run.id)]).toEqual([most, { settled: 0, unknown: most }]);
      },
    );

  verifies('CALL-CONTRACT-3', 'costs what its tool says where as much of it can be read', async () => {
    const odd = () => {
      throw new Error('odd');
    };
    for (const [parts, expected] of [
      [
        { extract: { email: odd }, cost: { credits: () => 1, max: 2 } },
        { settled: 3, unknown: 0 },
      ],
      [
        { output: { type: 'string' }, strict: true, cost: { credits: () => 1, max: 2 } },
        { settled: 3, unknown: 0 },
      ],
      [{ cost: { credits: odd, max: 2 } }, { settled: 0, unknown: 6 }],
    ] as const) {
      const { tool } = countedTool(parts);
      const workspace = await openTest(testFolder(GOES_ON), { tools: [tool] });
      const { run } = await runPlay(workspace, ROWS);
      expect(await creditsShown(workspace, run.id)).toEqual(expected);
      expect(await settled(workspace, run)).toBe(expected.settled);
      await workspace.close();
    }
  });
});

describe('members of a batch of writes that nobody knows of', () => {
  for (const keyed of [{}, { idempotency: { header: 'Idempotency-Key' } }])
    verifies(
      'BATCH-REFUSED-3',
      `cost what they cost once somebody says that they were done ${'idempotency' in keyed ? 'with' : 'without'} a key`,
      async () => {
        const { mended, sent } = await mendable({ effect: 'write', ...keyed });
        const workspace = await mended(every({ status: 'failed', ending: 'ambiguous' }));
        const { run } = await runPlay(workspace, ROWS, { maxCredits: 3 });
        expect(await creditsShown(workspace, run.id)).toEqual({ settled: 0, unknown: 3 });
        const known = await existingRun(workspace, run.id);
        for (const { callId } of await workspace.store.report.operationsOfRun(run.no, 9))
          await resolveOperation(workspace, known, { call: callId, as: 'done', data: 7 });
        expect((await retryFailed(workspace, run.id)).result).toEqual([7, 7, 7]);
        expect([sent.length, await creditsShown(workspace, run.id)]).toEqual([1, { settled: 3, unknown: 0 }]);
      },
    );
});
