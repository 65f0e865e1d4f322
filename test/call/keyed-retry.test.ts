import { describe, expect } from 'vitest';
import { crash, laterClock } from '../harness/crash.ts';
import { countedTool, endsAs } from '../harness/tools.ts';
import { attempt, openTest, queued, runPlay, testFolder, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const KEYED = { id: 'acme.send', effect: 'write', maxTries: 1, idempotency: { header: 'Idempotency-Key' } } as const;

/** Sends until it is answered, then the same on purpose once more. */
const TWICE = `async (ctx) => {
  const told = [];
  for (let n = 0; n < 9 && told.length < 2; n++)
    try { told.push((await ctx.tools.execute({ id: 'm' + n, tool: 'acme.send', input: { to: 'ada' } })).data); } catch {}
  return told;
}`;
const IN_ROW = `async (ctx) => {
  const rows = await ctx.dataset('rows', [{ n: 1 }]).withColumn('v', (row, ctx) => (${TWICE})(ctx)).run({ key: 'n' });
  return (await rows.materialize())[0].v ?? null;
}`;

/** A provider that does what it is asked once a key, and whose first so many answers are lost. */
function mailer(lost: number) {
  const done = new Set<string>();
  let asked = 0;
  const { tool, sent } = countedTool(KEYED, (_, { operationKey }) => {
    done.add(operationKey);
    if (++asked <= lost) throw endsAs('ambiguous');
    return `sent ${[...done].indexOf(operationKey) + 1}`;
  });
  return { tool, sent, done };
}

describe('a keyed write that may have been done and that its play asks for again', () => {
  verifies('WRITE-LOOP-1', 'goes out under the same key, and the next one that is meant under another', async () => {
    for (const play of [TWICE, IN_ROW]) {
      const { tool, sent, done } = mailer(3);
      const { result } = await runPlay(await testWorkspace({ tools: [tool] }), play);
      expect(result).toEqual(['sent 1', 'sent 2']);
      expect([sent.length, done.size]).toEqual([5, 2]);
    }
  });

  verifies('WRITE-LOOP-1', 'keeps its key over the death of the process', async () => {
    for (const play of [TWICE, IN_ROW])
      for (const diesAfter of [1, 2, 3, 4, 5]) {
        const { tool, sent, done } = mailer(3);
        const dir = testFolder();
        const now = await openTest(dir, { tools: [tool] });
        const run = await queued(now, play);
        // The record of an ending is lost: a failure's entry, or an answer's receipt.
        await crash(
          now,
          run.id,
          (write) => sent.length === diesAfter && (write.kind === 'call' || write.kind === 'receipt'),
        );
        const later = await openTest(dir, { tools: [tool], clock: laterClock() });
        const { result } = await attempt(later, run.id);
        expect([diesAfter, result, done.size]).toEqual([diesAfter, [expect.any(String), 'sent 2'], 2]);
      }
  });

  verifies('WRITE-LOOP-1', 'has a key of its own again once the provider has refused it', async () => {
    const keys: string[] = [];
    const { tool } = countedTool({ ...KEYED, maxTries: 2 }, (_, { operationKey }) => {
      keys.push(operationKey);
      if (keys.length <= 2) throw endsAs('ambiguous');
      if (keys.length === 3) throw endsAs('deferred');
      return 'sent';
    });
    const once = TWICE.replace('told.length < 2', 'told.length < 1');
    expect((await runPlay(await testWorkspace({ tools: [tool] }), once)).result).toEqual(['sent']);
    const [first, second, third, fourth] = keys;
    expect([second, third]).toEqual([first, first]);
    expect(fourth).not.toBe(first);
  });

  verifies('WRITE-LOOP-1', 'is one operation for one call at a time', async () => {
    const { tool, done } = mailer(1);
    const { result } = await runPlay(
      await testWorkspace({ tools: [tool] }),
      `async (ctx) => {
        const send = (id) => ctx.tools.execute({ id, tool: 'acme.send', input: { to: 'ada' } });
        await send('lost').catch(() => {});
        return (await Promise.all([send('a'), send('b')])).length;
      }`,
    );
    expect([result, done.size]).toEqual([2, 2]);
  });
});
