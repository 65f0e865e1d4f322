import { afterEach, beforeEach, describe, expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { documentOf, newFolder, removeFolder, typed } from './command-line.ts';

/** A provider that says nothing until it is mended; in this very process. */
const mail = globalThis as { mailWorks?: boolean };

const EXECUTE = "await ctx.tools.execute({ id: 'send', tool: 'mail.send', input: {} })";
const FILES = {
  'callsheet.config.ts': 'export default {};\n',
  'tools/mail.ts': `import { defineTool } from 'callsheet';
export const send = defineTool({
  id: 'mail.send', effect: 'write', input: { type: 'object' }, timeoutMs: 30, cost: { credits: 3 },
  run: () => (globalThis as { mailWorks?: boolean }).mailWorks ? 'sent' : new Promise(() => {}),
});
`,
  'fails.play.ts': `import { definePlay } from 'callsheet';
export default definePlay('fails', async (ctx) => (${EXECUTE}).data);
`,
  'catches.play.ts': `import { definePlay } from 'callsheet';
export default definePlay('catches', async (ctx) => { try { return (${EXECUTE}).data; } catch (error) { return error.code; } });
`,
  'rows.play.ts': `import { definePlay } from 'callsheet';
export default definePlay('rows', async (ctx) => {
  const rows = await ctx.dataset('rows', [{ n: 1 }]).withColumn('sent', async (row, ctx) => (${EXECUTE}).data).run({ key: 'n' });
  return (await rows.materialize())[0]?.sent ?? null;
});
`,
  'waits.play.ts': `import { definePlay } from 'callsheet';
export default definePlay('waits', async (ctx) => {
  let sent = null;
  try { sent = (${EXECUTE}).data; } catch {}
  await Promise.race([ctx.waitForEvent('ok', { event: 'ok', timeout: '3d' }), ctx.waitForEvent('no', { event: 'no' }), ctx.sleep('1h')]);
  return sent;
});
`,
};

interface Report {
  readonly run: { readonly id: string; readonly status: string };
  readonly result: unknown;
  readonly credits: { readonly unknown: number };
  readonly waiting: { readonly wakeAt: string; readonly events: readonly { event: string; until: string | null }[] };
}
interface Errors {
  readonly inDoubt: readonly { readonly call: string }[];
}

let dir = '';
beforeEach(() => {
  dir = newFolder(FILES);
  mail.mailWorks = false;
});
afterEach(() => removeFolder(dir));

async function json<Document>(args: readonly string[]): Promise<Document> {
  return documentOf<Document>(await typed(dir, [...args, '--json']));
}

/** A run of the play whose write is in doubt. */
async function inDoubt(play: string): Promise<{ readonly id: string; readonly call: string; readonly report: Report }> {
  const report = await json<Report>(['run', `${play}.play.ts`, '--yes']);
  const { id } = report.run;
  const [doubt] = (await json<Errors>(['runs', 'errors', id])).inDoubt;
  return { id, call: doubt?.call ?? 'none', report };
}

describe('what runs resolve names as the next command', () => {
  const cases = {
    fails: { status: 'failed', next: 'callsheet runs resume <run> --retry-failed' },
    rows: { status: 'completed', next: 'callsheet runs resume <run> --retry-failed' },
    catches: { status: 'completed', next: 'callsheet runs rerun <run>' },
  };
  for (const [play, { status, next }] of Object.entries(cases))
    for (const as of ['not-done', 'done'])
      verifies('DOUBT-NEXT-1', `works where ${play}.play is ${status}, and the write was ${as}`, async () => {
        const { id, call, report } = await inDoubt(play);
        expect(report).toMatchObject({ run: { status }, credits: { unknown: 3 } });
        const data = as === 'done' ? ['--data', '"said"'] : [];
        const resolved = await json<{ next: string[] }>(['runs', 'resolve', id, call, '--as', as, ...data]);
        expect(resolved.next).toEqual([next.replace('<run>', id)]);
        mail.mailWorks = true;
        const again = await json<Report>([...(resolved.next[0] ?? '').split(' ').slice(1), '--yes']);
        expect(again).toMatchObject({ run: { status: 'completed' }, result: as === 'done' ? 'said' : 'sent' });
      });

  verifies('DOUBT-ANSWER-1', 'is the same command with its answer, where none was given', async () => {
    const { id, call } = await inDoubt('fails');
    const done = ['runs', 'resolve', id, call, '--as', 'done'];
    const refused = await typed(dir, [...done, '--json']);
    const { error } = documentOf<{ error: { code: string; message: string; next: string[] } }>(refused);
    expect([refused.exit, error.code]).toEqual([2, 'USAGE']);
    expect(error.message).toContain("Call 'send' of mail.send was done, and --data does not say what it answered");
    expect(error.next).toEqual([
      `callsheet ${done.join(' ')} --data '<its answer as JSON>'`,
      `callsheet ${done.join(' ')} --data null   (the play does without its answer)`,
      'callsheet tools describe mail.send',
    ]);
    // Nothing was said: it is in doubt as before.
    expect((await json<Errors>(['runs', 'errors', id])).inDoubt).toMatchObject([{ call }]);
    expect((await typed(dir, [...done, '--data', 'null'])).exit).toBe(0);
    const resumed = await json<Report>(['runs', 'resume', id, '--retry-failed']);
    expect(resumed).toMatchObject({ run: { status: 'completed' }, result: null });
  });

  verifies('DOUBT-NEXT-1', 'works for a run that waits, and once it is cancelled', async () => {
    const { id, call } = await inDoubt('waits');
    const args = ['runs', 'resolve', id, call, '--as', 'not-done'];
    await json(['runs', 'cancel', id]);
    const { next } = await json<{ next: string[] }>(args);
    expect(next).toEqual([`callsheet runs rerun ${id} --failed`]);
    expect((await typed(dir, [...(next[0] ?? '').split(' ').slice(1), '--yes'])).exit).toBe(5);
    const other = await inDoubt('waits');
    const told = await typed(dir, ['runs', 'resolve', other.id, other.call, '--as', 'not-done']);
    expect(told.stderr).toContain('is sent again when the run goes on.');
    expect(told.stderr).toContain(`→ callsheet runs resume ${other.id} --retry-failed`);
    expect((await typed(dir, ['runs', 'resume', other.id, '--retry-failed'])).exit).toBe(5);
  });
});

describe('a run that waits for events and a time', () => {
  verifies(
    'WAITING-TIMES-1',
    'says of each event until when, and apart from that when it goes on by itself',
    async () => {
      const { report } = await inDoubt('waits');
      const { wakeAt, events } = report.waiting;
      const [no, ok] = [...events].sort((a, b) => a.event.localeCompare(b.event));
      expect([no?.event, no?.until, ok?.event]).toEqual(['no', null, 'ok']);
      expect(Date.parse(ok?.until ?? '') - Date.parse(wakeAt)).toBeGreaterThan(2 * 86_400_000);
      const { stdout } = await typed(dir, ['runs', 'show', report.run.id]);
      expect(stdout).toMatch(new RegExp(`waits +for .*'ok', until ${ok?.until}.*; goes on by itself at ${wakeAt}\n`));
      expect(stdout).not.toContain(`'no', until`);
    },
  );
});
