import { describe, expect } from 'vitest';
import { existingRun, resolveOperation } from '../../src/workspace/index.ts';
import { crash, laterClock } from '../harness/crash.ts';
import { rerun } from '../harness/rerun.ts';
import { countedTool, endsAs } from '../harness/tools.ts';
import { attempt, openTest, queued, retryFailed, runPlay, testFolder, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const SEND = `async (ctx) => (await ctx.tools.execute({ id: 'send', tool: 'acme.send', input: { to: 'ada' } })).data`;

/** A run whose process died once its only message had gone out, in the workspace that goes on with it. */
async function killedAfterSending(play: string) {
  const { tool, sent } = countedTool({ id: 'acme.send', effect: 'write' });
  const dir = testFolder();
  const workspace = await openTest(dir, { tools: [tool] });
  const run = await queued(workspace, play);
  await crash(workspace, run.id, (write) => write.kind === 'receipt');
  return { run, sent, next: await openTest(dir, { tools: [tool], clock: laterClock() }) };
}

describe('a write in doubt whose play tries again by itself', () => {
  const LOOP = (id: string, end = '') => `async (ctx) => {
    const told = [];
    for (let n = 0; n < 3; n++)
      try { told.push((await ctx.tools.execute({ id: ${id}, tool: 'acme.send', input: { to: 'ada' } })).data); break; }
      catch (error) { told.push(error.code); }
    ${end}
    return told;
  }`;
  const IN_ROW = (id: string, end = '') => `async (ctx) => {
    const rows = await ctx.dataset('rows', [{ n: 1 }]).withColumn('v', (row, ctx) => (${LOOP(id, end)})(ctx)).run({ key: 'n' });
    return (await rows.materialize())[0].v ?? null;
  }`;
  const labels = [`'m'`, `'m' + n`, `'m' + Math.random()`];

  verifies('DOUBT-LOOP-1', 'is not sent again under the same or another label, in a row or outside', async () => {
    for (const play of [LOOP, IN_ROW])
      for (const id of labels) {
        const { tool, sent } = countedTool({ id: 'acme.send', effect: 'write' }, () => {
          throw endsAs('ambiguous');
        });
        const { result } = await runPlay(await testWorkspace({ tools: [tool] }), play(id));
        expect([id, result, sent.length]).toEqual([id, ['IN_DOUBT', 'IN_DOUBT', 'IN_DOUBT'], 1]);
      }
  });

  verifies('DOUBT-LOOP-1', 'is not sent again after its process died, and goes on once somebody has said', async () => {
    for (const play of [LOOP, IN_ROW])
      for (const [id, as] of [
        [`'m'`, 'done'],
        [`'m' + n`, 'done'],
        [`'m'`, 'notDone'],
      ] as const) {
        const unsent = `if (told.at(-1) === 'IN_DOUBT') throw new Error('not sent');`;
        const { run, sent, next } = await killedAfterSending(play(id, unsent));
        const second = await attempt(next, run.id);
        expect([second.code ?? second.result, sent.length]).toEqual([play === LOOP ? 'PLAY_THREW' : null, 1]);
        const [operation, ...more] = await next.store.report.operationsOfRun(run.no, 9);
        expect(more).toEqual([]);
        await resolveOperation(next, await existingRun(next, run.id), {
          call: operation?.callId ?? '',
          as,
          data: 'sent',
        });
        const { result } = await retryFailed(next, run.id);
        expect([id, as, result, sent.length]).toEqual([
          ...[id, as],
          [as === 'done' ? 'sent' : { got: { to: 'ada' } }],
          as === 'done' ? 1 : 2,
        ]);
      }
  });

  verifies(
    'DOUBT-LOOP-1',
    'lets an equal one that is meant go out once somebody has said what became of it',
    async () => {
      const { run, sent, next } = await killedAfterSending(`async (ctx) => {
        const told = [];
        for (const id of ['first', 'second'])
          try { told.push((await ctx.tools.execute({ id, tool: 'acme.send', input: { to: 'ada' } })).data); }
          catch (error) { told.push(error.code); }
        if (told.includes('IN_DOUBT')) throw new Error(told.join());
        return told;
      }`);
      const second = await attempt(next, run.id);
      expect(second.outcome).toMatchObject({ error: { message: expect.stringContaining('IN_DOUBT,IN_DOUBT') } });
      const [operation] = await next.store.report.operationsOfRun(run.no, 9);
      const settled = { call: operation?.callId ?? '', as: 'done', data: 'sent' } as const;
      await resolveOperation(next, await existingRun(next, run.id), settled);
      expect([(await retryFailed(next, run.id)).result, sent.length]).toEqual([['sent', { got: { to: 'ada' } }], 2]);
    },
  );

  verifies('DOUBT-LABEL-1', 'whose label and input both vary is refused, not sent a second time', async () => {
    const { run, sent, next } = await killedAfterSending(`async (ctx) => {
        const now = Math.random();
        return (await ctx.tools.execute({ id: 'm' + now, tool: 'acme.send', input: { now } })).data;
      }`);
    expect([(await attempt(next, run.id)).code, sent.length]).toEqual(['NON_DETERMINISTIC', 1]);
  });
});

verifies('DOUBT-RERUN-1', 'a doubt that a rerun has settled by sending cannot be said to be not done', async () => {
  const { run, sent, next } = await killedAfterSending(SEND);
  expect((await attempt(next, run.id)).code).toBe('IN_DOUBT');
  const [operation] = await next.store.report.operationsOfRun(run.no, 9);
  const call = operation?.callId ?? '';
  const again = await rerun(next, await existingRun(next, run.id), { failed: true });
  expect([again.code, sent.length]).toEqual(['IN_DOUBT', 1]);
  await resolveOperation(next, again.run, { call, as: 'notDone', data: null });
  expect([(await retryFailed(next, again.run.id)).outcome.kind, sent.length]).toEqual(['completed', 2]);
  const first = await existingRun(next, run.id);
  await expect(resolveOperation(next, first, { call, as: 'notDone', data: null })).rejects.toMatchObject({
    code: 'WRITE_ALREADY_DONE',
    details: { rerun: again.run.id },
  });
  await resolveOperation(next, first, { call, as: 'done', data: { id: 1 } });
  expect([(await retryFailed(next, run.id)).result, sent.length]).toEqual([{ id: 1 }, 2]);
});
