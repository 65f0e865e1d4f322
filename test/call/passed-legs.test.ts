import { describe, expect } from 'vitest';
import { resolveOperation } from '../../src/workspace/index.ts';
import { crash, laterClock } from '../harness/crash.ts';
import { rerun } from '../harness/rerun.ts';
import { countedTool, endsAs } from '../harness/tools.ts';
import { attempt, openTest, queued, retryFailed, runPlay, testFolder } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

/** Two legs, a write of what they found, and a check behind it. */
const LEGS = `async (ctx) => {
  const rows = await ctx.dataset('rows', [{ n: 1 }, { n: 2 }]).withColumn('sent', async (row, ctx) => {
    let found = null;
    try { found = (await ctx.tools.execute({ id: '1', tool: 'one.find', input: { n: row.n } })).data; } catch {}
    found ??= (await ctx.tools.execute({ id: '2', tool: 'two.find', input: { n: row.n } })).data;
    const sent = (await ctx.tools.execute({ id: 's', tool: 'mail.send', input: { to: row.n, found } })).data;
    await ctx.tools.execute({ id: 'x', tool: 'x.check', input: { n: row.n } });
    return sent;
  }).run({ key: 'n' });
  return (await rows.materialize()).map((row) => row.sent ?? null);
}`;

function legs() {
  const ill = { one: true, x: true };
  const tool = (id: string, effect: 'read' | 'write', answer: (input: { n: number }) => unknown) =>
    countedTool({ id, effect, maxTries: 1 }, answer);
  const unless = (name: keyof typeof ill, answer: string): string => {
    if (ill[name]) throw endsAs('rejected');
    return answer;
  };
  const one = tool('one.find', 'read', ({ n }) => unless('one', `one ${n}`));
  const two = tool('two.find', 'read', ({ n }) => `two ${n}`);
  const mail = tool('mail.send', 'write', (input) => ({ sent: input }));
  const x = tool('x.check', 'read', () => unless('x', 'fine'));
  return { ill, one, two, mail, x, tools: [one.tool, two.tool, mail.tool, x.tool] };
}

const SENT = [1, 2].map((n) => ({ sent: { to: n, found: `two ${n}` } }));

describe('what failed, tried again after a write was made', () => {
  verifies('DOUBT-LEGS-1', 'leaves alone the legs that the play had gone on past', async () => {
    for (const how of ['resume', 'rerun']) {
      const { ill, tools, one, mail } = legs();
      const workspace = await openTest(testFolder(), { tools });
      const first = await runPlay(workspace, LEGS);
      expect([first.run.status, mail.sent.length]).toEqual(['completed', 2]);
      expect(await workspace.store.datasets.rowCounts(first.run.no, 1)).toMatchObject({ failed: 2 });
      ill.one = false;
      ill.x = false;
      const again =
        how === 'resume'
          ? await retryFailed(workspace, first.run.id)
          : await rerun(workspace, first.run, { failed: true });
      expect([how, again.result, mail.sent.length, one.sent.length]).toEqual([how, SENT, 2, 2]);
    }
  });

  verifies('DOUBT-LEGS-1', 'fails its row alone where another write is asked for after all', async () => {
    const { ill, tools, mail } = legs();
    const workspace = await openTest(testFolder(), { tools });
    const source = LEGS.replace('found ??=', 'if (found === null && globalThis.__changed !== true) found =').replace(
      'input: { to: row.n, found }',
      'input: { to: row.n, found, changed: globalThis.__changed === true && row.n === 1 }',
    );
    const first = await runPlay(workspace, source);
    ill.x = false;
    (globalThis as Record<string, unknown>).__changed = true;
    try {
      const again = await retryFailed(workspace, first.run.id);
      expect([again.run.status, again.code, mail.sent.length]).toEqual(['completed', undefined, 2]);
      const rows = await workspace.store.report.failedRows(first.run.no, 1, { afterOrdinal: -1, limit: 9 });
      expect(rows.map((row) => JSON.parse(row.error ?? '{}').code)).toEqual([
        'WRITE_ALREADY_DONE',
        'WRITE_ALREADY_DONE',
      ]);
    } finally {
      delete (globalThis as Record<string, unknown>).__changed;
    }
  });
});

describe('a write with the time in its input, killed after it was sent', () => {
  const TIMED = `async (ctx) => {
    const rows = await ctx.dataset('rows', [{ n: 1 }, { n: 2 }])
      .withColumn('sent', async (row, ctx) =>
        (await ctx.tools.execute({ id: 's', tool: 'mail.send', input: { to: row.n, at: Math.random() } })).data ?? null)
      .run({ key: 'n' });
    return (await rows.materialize()).map((row) => row.sent);
  }`;

  verifies(
    'INTENT-RESOLVE-2',
    'goes on once somebody has said what became of it, whatever its input is now',
    async () => {
      const mail = countedTool({ id: 'mail.send', effect: 'write' }, ({ to }) => `sent ${to}`);
      const dir = testFolder();
      const now = await openTest(dir, { tools: [mail.tool] });
      const run = await queued(now, TIMED);
      await crash(now, run.id, (write) => write.kind === 'receipt');
      expect(mail.sent).toHaveLength(2);
      const later = await openTest(dir, { tools: [mail.tool], clock: laterClock() });
      expect((await attempt(later, run.id)).code).toBe('NON_DETERMINISTIC');
      expect(mail.sent).toHaveLength(2);
      const doubts = await later.store.report.operationsOfRun(run.no, 9);
      for (const { callId, place } of doubts)
        await resolveOperation(later, (await later.store.runs.run(run.id)) ?? run, {
          call: callId,
          ...(place.ordinal === 0 ? { as: 'done', data: 'as they say' } : { as: 'notDone', data: null }),
        });
      expect([(await attempt(later, run.id)).result, mail.sent.length]).toEqual([['as they say', 'sent 2'], 3]);
    },
  );
});

describe('an answer that comes when its write is in doubt already', () => {
  verifies('DOUBT-LATE-1', 'ends the doubt: the row gets it, and nothing is sent again', async () => {
    const mail = countedTool({ id: 'mail.send', effect: 'write' }, () => 'sent');
    const dir = testFolder();
    const now = await openTest(dir, { tools: [mail.tool] });
    const run = await queued(
      now,
      `async (ctx) => (await ctx.tools.execute({ id: 's', tool: 'mail.send', input: { to: 'ada' } })).data`,
    );
    const late: { write?: Parameters<typeof now.committer.commit>[0] } = {};
    await crash(now, run.id, (write) => {
      if (write.kind === 'receipt') late.write = [write];
      return write.kind === 'receipt';
    });
    const later = await openTest(dir, { tools: [mail.tool], clock: laterClock() });
    expect((await attempt(later, run.id)).code).toBe('IN_DOUBT');
    // The process had only been stopped: it brings what it was paid for.
    await now.committer.commit(late.write ?? []);
    expect([(await retryFailed(later, run.id)).result, mail.sent.length]).toEqual(['sent', 1]);
  });
});
