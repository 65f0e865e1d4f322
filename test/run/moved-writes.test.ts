import { join } from 'node:path';
import { describe, expect } from 'vitest';
import {
  existingRun,
  newRun,
  type RunRecord,
  resolveOperation,
  resumeOptions,
  type Workspace,
} from '../../src/workspace/index.ts';
import { crash, laterClock } from '../harness/crash.ts';
import { rerun } from '../harness/rerun.ts';
import { countedTool } from '../harness/tools.ts';
import { attempt, openTest, putFile, retryFailed, testFolder, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const FILE = 'moved.play.ts';
const SEND = (input: string): string =>
  `(await ctx.tools.execute({ id: 's', tool: 'acme.send', input: ${input} })).data`;
const ROWS = (name: string, value: string, columns = ''): string => `
  const rows = await ctx.dataset('${name}', [{ n: 0 }, { n: 1 }, { n: 2 }])${columns}
    .withColumn('sent', async (row, ctx) => ${value}).run({ key: 'n', concurrency: 1 });`;

const IN_ROWS = ROWS('rows', SEND('{ n: row.n }'));
const AT_TOP = `${ROWS('rows', '1')} for (const n of [0, 1, 2]) ${SEND('{ n }')};`;
const IN_ASYNC_CHILD = ROWS('rows', `(await ctx.runPlayAsync('kid', kid, { n: row.n }), 1)`);

/** The play with this body; `kid` beside it sends as well. */
function write(workspace: Workspace, body: string): string {
  return putFile(
    workspace.paths.dir,
    FILE,
    `import { definePlay } from 'callsheet';
    export const kid = definePlay('kid', async (ctx, input) => ${SEND('{ n: input.n }')});
    export const twin = definePlay('twin', async (ctx, input) => ${SEND('input.same ? { same: 1 } : { n: input.n }')});
    export default definePlay('mover', async (ctx) => { ${body} return await rows.materialize(); });`,
  );
}

async function started(workspace: Workspace, body: string): Promise<RunRecord> {
  const play = `${write(workspace, body)}#default`;
  return (await newRun(workspace, { play, cwd: workspace.paths.dir, input: {} })).run;
}

async function goOn(workspace: Workspace, run: RunRecord, body: string, resend = false) {
  write(workspace, body);
  const code = { play: `${join(workspace.paths.dir, FILE)}#default`, cwd: workspace.paths.dir };
  await resumeOptions(workspace, await existingRun(workspace, run.id), { code, retryFailed: true, resend });
  return attempt(workspace, run.id);
}

async function failures(workspace: Workspace, runNo: number): Promise<readonly string[]> {
  const calls = await workspace.store.report.failedCalls(runNo, 9);
  return calls.map(({ error }) => (JSON.parse(error ?? '{}') as { code: string }).code);
}

const REFUSED = ['WRITE_ALREADY_DONE'];

/** The failures of each run that a rerun under the code of now starts. */
async function childrenOfRerun(workspace: Workspace, run: RunRecord): Promise<readonly (readonly string[])[]> {
  const made = await rerun(workspace, run, { code: `${FILE}#default` });
  const failed: (readonly string[])[] = [];
  for (const child of await workspace.store.runs.childrenOf(made.run.id)) {
    await attempt(workspace, child.id);
    failed.push(await failures(workspace, child.no));
  }
  return failed;
}

describe('a write that has moved in changed code', () => {
  const moves = [
    ['a dataset of another name', IN_ROWS, ROWS('others', SEND('{ n: row.n }'))],
    ['a child in the same run', IN_ROWS, ROWS('rows', `ctx.runPlay('kid', kid, { n: row.n })`)],
    ['another label', IN_ROWS, IN_ROWS.replace("id: 's'", "id: 't'")],
    ['out of the rows', IN_ROWS, AT_TOP],
    ['into the rows', AT_TOP, IN_ROWS],
  ] as const;

  verifies('CODE-WRITE-2', 'is not sent again by a rerun, unless it is told to', async () => {
    for (const parts of [{}, { idempotency: { header: 'Idempotency-Key' } }])
      for (const [name, before, after] of moves) {
        const { tool, sent } = countedTool({ id: 'acme.send', effect: 'write', ...parts });
        const workspace = await testWorkspace({ tools: [tool] });
        const { run, outcome } = await attempt(workspace, (await started(workspace, before)).id);
        expect([name, outcome.kind, sent.length]).toEqual([name, 'completed', 3]);
        write(workspace, after);
        const made = await rerun(workspace, run, { code: `${FILE}#default` });
        expect([name, sent.length]).toEqual([name, 3]);
        expect(new Set(await failures(workspace, made.run.no))).toEqual(new Set(['WRITE_ALREADY_DONE']));
        await rerun(workspace, run, { code: `${FILE}#default`, resend: true });
        expect([name, sent.length]).toEqual([name, 6]);
      }
  });

  verifies(
    'CODE-WRITE-2',
    'is not sent again as itself by its run, which was told that it had not been done',
    async () => {
      for (const [name, before, after] of moves) {
        const { tool, sent } = countedTool({ id: 'acme.send', effect: 'write' });
        const dir = testFolder();
        const now = await openTest(dir, { tools: [tool] });
        const run = await started(now, before);
        await crash(now, run.id, (write) => write.kind === 'receipt');
        const later = await openTest(dir, { tools: [tool], clock: laterClock() });
        const [doubt] = await later.store.report.operationsOfRun(run.no, 9);
        const call = doubt?.callId ?? '';
        await attempt(later, run.id);
        await resolveOperation(later, await existingRun(later, run.id), { call, as: 'notDone', data: null });
        const told = sent.length;
        write(later, after);
        await rerun(later, await existingRun(later, run.id), { code: `${FILE}#default` });
        const made = sent.length - told;
        await retryFailed(later, run.id);
        const letters = sent.filter(({ input }) => input.n === sent[0]?.input.n);
        // Once in doubt, and once more, by whichever run came first.
        expect([name, made > 0, letters.length]).toEqual([name, true, 2]);
      }
    },
  );

  verifies('CODE-WRITE-2', 'is not sent again by a resume while nobody knows what became of it', async () => {
    for (const [name, before, after] of moves) {
      const { tool, sent } = countedTool({ id: 'acme.send', effect: 'write' });
      const dir = testFolder();
      const now = await openTest(dir, { tools: [tool] });
      const run = await started(now, before);
      await crash(now, run.id, (one) => one.kind === 'receipt');
      const later = await openTest(dir, { tools: [tool], clock: laterClock() });
      await goOn(later, run, after);
      const first = sent.filter(({ input }) => input.n === 0);
      expect([name, first.length]).toEqual([name, 1]);
    }
  });

  /** A run whose children have sent, all of them or but the last one. */
  async function sentByChildren({ leave = 0, body = IN_ASYNC_CHILD } = {}) {
    const { tool, sent } = countedTool({ id: 'acme.send', effect: 'write' });
    const workspace = await testWorkspace({ tools: [tool] });
    const { run } = await attempt(workspace, (await started(workspace, body)).id);
    const children = await workspace.store.runs.childrenOf(run.id);
    expect(children).toHaveLength(3);
    for (const child of children.slice(0, 3 - leave)) await attempt(workspace, child.id);
    expect(sent).toHaveLength(3 - leave);
    return { workspace, run, children, sent };
  }

  verifies('CODE-WRITE-3', 'out of a run that was started is not sent again by the one that started it', async () => {
    for (const after of [IN_ROWS, AT_TOP]) {
      const { workspace, run, sent } = await sentByChildren();
      write(workspace, after);
      const made = await rerun(workspace, run, { code: `${FILE}#default` });
      expect([sent.length, new Set(await failures(workspace, made.run.no))]).toEqual([
        3,
        new Set(['WRITE_ALREADY_DONE']),
      ]);
      await rerun(workspace, run, { code: `${FILE}#default`, resend: true });
      expect(sent).toHaveLength(6);
    }
  });

  verifies('CODE-WRITE-3', 'is not sent again by a child of another key or play', async () => {
    const another = [
      IN_ASYNC_CHILD.replace(`'kid'`, `'other'`),
      IN_ASYNC_CHILD.replace('kid, { n', 'twin, { n').replace(`'kid'`, `'twin'`),
    ];
    for (const after of another) {
      const { workspace, run, sent } = await sentByChildren();
      write(workspace, after);
      expect(await childrenOfRerun(workspace, run)).toEqual([REFUSED, REFUSED, REFUSED]);
      expect(sent).toHaveLength(3);
    }
  });

  verifies(
    'CODE-WRITE-3',
    'is not sent by a child that was left when its parent went on under other code',
    async () => {
      const { workspace, run, children, sent } = await sentByChildren({ leave: 1 });
      const body = `${ROWS('rows', '1')} for (const n of [0, 1, 2]) try { ${SEND('{ n }')} } catch {}`;
      const { run: resumed } = await goOn(workspace, run, body);
      expect(sent.map(({ input }) => input.n)).toEqual([0, 1, 2]);
      expect(await failures(workspace, resumed.no)).toEqual(['WRITE_ALREADY_DONE', 'WRITE_ALREADY_DONE']);
      await attempt(workspace, children[2]?.id ?? '');
      expect(sent).toHaveLength(3);
      expect(await failures(workspace, children[2]?.no ?? 0)).toEqual(['WRITE_ALREADY_DONE']);
    },
  );

  verifies('CODE-WRITE-3', 'is not what equal writes of other children are', async () => {
    const same = IN_ASYNC_CHILD.replaceAll('kid', 'twin');
    const { workspace, run, sent } = await sentByChildren({
      leave: 1,
      body: same.replace('twin, { n', 'twin, { same: 1, n'),
    });
    write(workspace, `${same.replace('twin, { n', 'twin, { same: 1, n')} ctx.log.info('mended');`);
    expect([await childrenOfRerun(workspace, run), sent.length]).toEqual([[[], [], []], 3]);
  });

  verifies('CODE-WRITE-2', 'is not sent again by a run that the rerun starts', async () => {
    const { tool, sent } = countedTool({ id: 'acme.send', effect: 'write' });
    const workspace = await testWorkspace({ tools: [tool] });
    const { run } = await attempt(workspace, (await started(workspace, IN_ROWS)).id);
    write(workspace, IN_ASYNC_CHILD);
    expect(await childrenOfRerun(workspace, run)).toEqual([REFUSED, REFUSED, REFUSED]);
    expect(sent).toHaveLength(3);
  });

  verifies('CODE-WRITE-2', 'is not sent again by a run that the resumed one starts', async () => {
    const { tool, sent } = countedTool({ id: 'acme.send', effect: 'write' });
    const dir = testFolder();
    const now = await openTest(dir, { tools: [tool] });
    const run = await started(now, IN_ROWS);
    await crash(now, run.id, (one) => one.kind === 'receipt');
    const later = await openTest(dir, { tools: [tool], clock: laterClock() });
    await goOn(later, run, IN_ASYNC_CHILD);
    for (const child of await later.store.runs.childrenOf(run.id)) await attempt(later, child.id);
    expect(sent.map(({ input }) => input.n)).toEqual([0, 1, 2]);
  });

  verifies(
    'CODE-WRITE-2',
    'is not what equal writes of other rows are, made before or for the first time',
    async () => {
      const { tool, sent } = countedTool({ id: 'acme.send', effect: 'write' });
      const dir = testFolder();
      const now = await openTest(dir, { tools: [tool] });
      const run = await started(now, ROWS('rows', SEND('{ same: true }')));
      let rows = 0;
      await crash(now, run.id, (one) => one.kind === 'row' && ++rows === 3);
      expect(sent).toHaveLength(3);
      const later = await openTest(dir, { tools: [tool], clock: laterClock() });
      const more = ROWS('rows', SEND('{ same: true }'), `.withColumn('more', (row) => row.n)`);
      const resumed = await goOn(later, run, more);
      expect([resumed.result.length, sent.length, await failures(later, run.no)]).toEqual([3, 3, []]);
      const longer = more.replace('{ n: 2 }', '{ n: 2 }, { n: 3 }');
      const other = await started(later, longer);
      let receipts = 0;
      await crash(later, other.id, (one) => one.kind === 'receipt' && ++receipts === 3);
      const last = await openTest(dir, { tools: [tool], clock: laterClock(7_200_000) });
      const went = await goOn(last, other, longer.replace('=> row.n)', '=> row.n + 0)'));
      expect([went.outcome.kind, sent.length, await failures(last, other.no)]).toEqual(['completed', 7, ['IN_DOUBT']]);
    },
  );
});
