import { describe, expect, it } from 'vitest';
import { defineTool, type EventOptions, type EventTimeoutMode, type Tool } from '../../src/sdk/index.ts';
import type { NewSignal } from '../../src/store/index.ts';
import { planRun, type Workspace } from '../../src/workspace/index.ts';
import { crash, laterClock, zeroChance } from '../harness/crash.ts';
import { endsAs } from '../harness/tools.ts';
import { attempt, openTest, playFile, queued, runPlay, testFolder, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests ask with whatever input they need
type Any = any;

async function signal(workspace: Workspace, more: Partial<NewSignal>): Promise<void> {
  const plain = { runId: null, event: 'acme.ask', rowKey: null, waitNo: null, all: false, data: '{"yes":true}' };
  await workspace.committer.commit([{ kind: 'signal', signal: { ...plain, at: workspace.clock.now(), ...more } }]);
}

interface Ledger {
  readonly asked: Any[];
  readonly closed: Any[];
}

/** An event tool whose messages are kept in a ledger; its card's id is its number. */
function askTool(more: Partial<EventOptions<Any>> = {}, top: object = {}): Ledger & { readonly tool: Tool } {
  const asked: Any[] = [];
  const closed: Any[] = [];
  const tool = defineTool<Any>({
    id: 'acme.ask',
    effect: 'write',
    input: { type: 'object' },
    cost: { credits: 2 },
    extract: { yes: 'data.yes' },
    ...top,
    event: {
      timeout: '1h',
      arm: { run: ({ input, wait }) => ({ card: asked.push({ input, wait }) }) },
      onEvent: ({ payload, input, armed }) => ({ ...payload, of: input.n, card: armed?.card ?? null }),
      onTimeout: { run: ({ armed, wait }) => void closed.push({ armed, wait: wait.id }) },
      ...more,
    },
  });
  return { tool, asked, closed };
}

const ASK = `async (ctx) => {
  try {
    const { status, data, values, execution } = await ctx.tools.execute({ id: 'ask', tool: 'acme.ask', input: { n: 1 } });
    return { status, data, values, credits: execution.credits, source: execution.source };
  } catch (error) { return { caught: error.code }; }
}`;

const rowsPlay = (count: number): string => `async (ctx) => {
  const rows = await ctx.dataset('rows', Array.from({ length: ${count} }, (_, n) => ({ n })))
    .withColumn('v', async (row, ctx) => (await ctx.tools.execute({ id: 'ask', tool: 'acme.ask', input: { n: row.n } })).data)
    .run({ key: 'n' });
  return (await rows.materialize()).map((row) => row.v);
}`;

describe('an event tool', () => {
  verifies('EVENT-TOOL-1', 'asks once, waits over attempts, and gives the answer as any call does', async () => {
    const { tool, asked } = askTool();
    const workspace = await testWorkspace({ tools: [tool] });
    const first = await runPlay(workspace, ASK);
    expect([first.outcome.kind, first.run.status]).toEqual(['suspended', 'waiting']);
    expect(asked).toEqual([
      {
        input: { n: 1 },
        wait: { id: 1, runId: first.run.id, event: 'acme.ask', row: null, deadline: first.run.wakeAt },
      },
    ]);
    const again = await attempt(workspace, first.run.id);
    expect([again.outcome.kind, asked.length]).toEqual(['suspended', 1]);
    await signal(workspace, { runId: first.run.id });
    const { result } = await attempt(workspace, first.run.id);
    expect(result).toEqual({
      status: 'completed',
      data: { yes: true, of: 1, card: 1 },
      values: { yes: true },
      credits: 2,
      source: 'live',
    });
    expect(asked.length).toBe(1);
  });

  verifies('EVENT-TOOL-1', 'is not answered by a signal that is older than its question', async () => {
    const { tool, asked } = askTool();
    const workspace = await testWorkspace({ tools: [tool] });
    const run = await queued(workspace, ASK);
    await signal(workspace, { runId: run.id });
    expect([(await attempt(workspace, run.id)).outcome.kind, asked.length]).toEqual(['suspended', 1]);
    await signal(workspace, { runId: run.id, data: '{"yes":false}' });
    expect((await attempt(workspace, run.id)).result.data).toEqual({ yes: false, of: 1, card: 1 });
  });

  verifies('EVENT-TOOL-ONCE-1', 'never asks twice, wherever its process dies', async () => {
    const moments = { arm: 1, operation: 1, receipt: 1, call: 1 };
    for (const kind of Object.keys(moments)) {
      const { tool, asked } = askTool();
      const dir = testFolder();
      const workspace = await openTest(dir, { tools: [tool] });
      const run = await queued(workspace, ASK);
      const sentBefore = { arm: 0, operation: 0, receipt: 1, call: 1 }[kind];
      await crash(workspace, run.id, (write) => write.kind === kind);
      expect([kind, asked.length]).toEqual([kind, sentBefore]);
      const later = await openTest(dir, { tools: [tool], clock: laterClock(60_000) });
      const second = await attempt(later, run.id);
      expect([kind, second.outcome.kind, asked.length]).toEqual([kind, 'suspended', 1]);
      await signal(later, { runId: run.id });
      // What nobody knows of has brought nothing back; the answer proves that it was sent.
      const card = kind === 'receipt' ? null : 1;
      expect([kind, (await attempt(later, run.id)).result.data]).toEqual([kind, { yes: true, of: 1, card }]);
      expect([kind, asked.length]).toEqual([kind, 1]);
      expect([kind, await later.store.calls.settledCredits(run.no)]).toEqual([kind, 2]);
    }
  });

  verifies(
    'EVENT-TOOL-PROVED-1',
    'that was asked by a process which died is paid once its answer shows it',
    async () => {
      const { tool, asked } = askTool();
      const dir = testFolder();
      const workspace = await openTest(dir, { tools: [tool] });
      const run = await queued(workspace, rowsPlay(2));
      let sent = 0;
      await crash(workspace, run.id, (write) => write.kind === 'receipt' && ++sent === 2);
      expect(asked).toHaveLength(2);
      const later = await openTest(dir, { tools: [tool], clock: laterClock(60_000) });
      await signal(later, { runId: run.id, all: true });
      expect((await attempt(later, run.id)).outcome.kind).toBe('completed');
      expect([asked.length, await later.store.calls.settledCredits(run.no)]).toEqual([2, 4]);
      expect(await later.store.report.operationsOfRun(run.no, 10)).toEqual([]);
    },
  );

  verifies('EVENT-TOOL-ROWS-1', 'each of 20 rows gets its own answer, whatever the order', async () => {
    const { tool, asked } = askTool();
    const dir = testFolder();
    const workspace = await openTest(dir, { tools: [tool] });
    const first = await runPlay(workspace, rowsPlay(20));
    expect([first.outcome.kind, asked.length]).toEqual(['suspended', 20]);
    const order = Array.from({ length: 20 }, (_, index) => (index * 7 + 3) % 20);
    for (const [index, n] of order.entries()) {
      const { wait } = asked.find((one) => one.input.n === n);
      expect(wait.row).toBe(String(n));
      await signal(workspace, { runId: first.run.id, waitNo: wait.id, data: JSON.stringify({ said: n * 10 }) });
      if (index === 10) {
        // The second process dies while it goes on with the first half.
        const other = await openTest(dir, { tools: [tool], clock: laterClock(60_000) });
        await crash(other, first.run.id, (write) => write.kind === 'row');
      }
    }
    const last = await openTest(dir, { tools: [tool], clock: laterClock(120_000) });
    const { result } = await attempt(last, first.run.id);
    expect(result.map(({ of, said }: Any) => [of, said])).toEqual(Array.from({ length: 20 }, (_, n) => [n, n * 10]));
    expect(asked.length).toBe(20);
  });

  verifies('EVENT-TOOL-ROWS-1', 'keeps equal calls of one row apart', async () => {
    const { tool, asked } = askTool();
    const workspace = await testWorkspace({ tools: [tool] });
    const source = `async (ctx) => {
      const ask = async () => (await ctx.tools.execute({ id: 'ask', tool: 'acme.ask', input: { n: 1 } })).data;
      return Promise.all([ask(), ask()]);
    }`;
    const first = await runPlay(workspace, source);
    expect([first.outcome.kind, asked.length]).toEqual(['suspended', 2]);
    for (const { wait } of [...asked].reverse())
      await signal(workspace, { runId: first.run.id, waitNo: wait.id, data: JSON.stringify({ wait: wait.id }) });
    const { result } = await attempt(workspace, first.run.id);
    const numbers = asked.map(({ wait }) => wait.id);
    expect(result.map(({ wait, card }: Any) => [wait, card])).toEqual([
      [numbers[0], 1],
      [numbers[1], 2],
    ]);
  });
});

describe('the time of an event tool', () => {
  const outcomes: Record<EventTimeoutMode, Any> = {
    null: ['completed', { timedOut: true, late: 1 }, undefined],
    fail: ['failed', undefined, 'EVENT_TIMED_OUT'],
    park: ['suspended', undefined, undefined],
  };

  verifies(
    ['EVENT-TOOL-TIMEOUT-1', 'EVENT-TOOL-POLICY-1'],
    'closes what was sent, then does what was decided when it was armed, whatever the tool says by then',
    async () => {
      for (const [mode, expected] of Object.entries(outcomes)) {
        const { tool, closed } = askTool({
          mode: mode as EventTimeoutMode,
          timedOut: ({ armed }) => ({ late: armed.card }),
        });
        const dir = testFolder();
        const workspace = await openTest(dir, { tools: [tool] });
        const { run } = await runPlay(workspace, ASK);
        await workspace.close();
        const changed = askTool({
          mode: mode === 'fail' ? 'park' : 'fail',
          timeout: '9d',
          timedOut: ({ armed }) => ({ late: armed.card }),
        });
        const later = await openTest(dir, { tools: [changed.tool], clock: laterClock(2 * 3_600_000) });
        const { outcome, result, code } = await attempt(later, run.id);
        expect([mode, outcome.kind, result?.data, code]).toEqual([mode, ...expected]);
        expect([mode, closed, changed.closed]).toEqual([mode, [], [{ armed: { card: 1 }, wait: 1 }]]);
        if (mode !== 'park') continue;
        // Closed once; somebody may still answer by hand.
        await signal(later, { runId: run.id });
        expect((await attempt(later, run.id)).result.data).toMatchObject({ yes: true, card: 1 });
        expect(changed.closed.length).toBe(1);
      }
    },
  );

  verifies(
    'EVENT-TOOL-TIMEOUT-1',
    'the finaliser is tried again until it is done; only then is the time over',
    async () => {
      let failures = 2;
      const states: string[] = [];
      let look = async (): Promise<void> => {};
      const { tool, asked } = askTool({
        onTimeout: {
          run: async () => {
            await look();
            if (failures-- > 0) throw endsAs('rejected');
          },
        },
      });
      const dir = testFolder();
      const workspace = await openTest(dir, { tools: [tool] });
      const { run } = await runPlay(workspace, ASK);
      const later = await openTest(dir, { tools: [tool], clock: laterClock(2 * 3_600_000), chance: zeroChance() });
      look = async () => {
        const waits = (await later.store.runs.waits(run.no, 0, [0])).get(0) ?? [];
        states.push(...waits.map((wait) => wait.state));
      };
      const { result, events } = await attempt(later, run.id);
      expect([result.data, asked.length, states]).toEqual([{ timedOut: true }, 1, ['open', 'open', 'open']]);
      expect(events.filter(({ type }) => type === 'event.not_closed').length).toBe(2);
      // A later attempt closes nothing again.
      expect(result.credits).toBe(2);
    },
  );

  verifies(
    'EVENT-TOOL-TIMEOUT-1',
    'a finaliser that keeps failing ends the run with the wait open; a resume goes on',
    async () => {
      let isDown = true;
      let tries = 0;
      const { tool } = askTool({
        onTimeout: {
          run: () => {
            tries++;
            if (isDown) throw endsAs('rejected');
          },
        },
      });
      const dir = testFolder();
      const workspace = await openTest(dir, { tools: [tool] });
      const { run } = await runPlay(workspace, ASK);
      const options = { tools: [tool], clock: laterClock(2 * 3_600_000), chance: zeroChance() };
      const later = await openTest(dir, options);
      const failed = await attempt(later, run.id);
      expect([failed.outcome.kind, failed.code, tries]).toEqual(['failed', 'TOOL_THREW', 3]);
      expect((await later.store.runs.waits(run.no, 0, [0])).get(0)?.[0]?.state).toBe('open');
      isDown = false;
      const mended = await attempt(later, run.id);
      expect([mended.result.data, tries]).toEqual([{ timedOut: true }, 4]);
    },
  );

  verifies('EVENT-TOOL-TIMEOUT-1', 'an answer that came before is kept, and nothing is closed', async () => {
    const { tool, closed } = askTool();
    const dir = testFolder();
    const workspace = await openTest(dir, { tools: [tool] });
    const { run } = await runPlay(workspace, ASK);
    await signal(workspace, { runId: run.id });
    const later = await openTest(dir, { tools: [tool], clock: laterClock(2 * 3_600_000) });
    expect([(await attempt(later, run.id)).result.data.yes, closed]).toEqual([true, []]);
  });

  verifies('EVENT-TOOL-TIMEOUT-1', 'an answer that comes while it is closed in vain ends that', async () => {
    let tries = 0;
    let answer = async (): Promise<void> => {};
    const { tool } = askTool({
      onTimeout: {
        run: async () => {
          tries++;
          await answer();
          throw endsAs('rejected');
        },
      },
    });
    const dir = testFolder();
    const { run } = await runPlay(await openTest(dir, { tools: [tool] }), ASK);
    const later = await openTest(dir, { tools: [tool], clock: laterClock(2 * 3_600_000), chance: zeroChance() });
    answer = () => signal(later, { runId: run.id });
    expect([(await attempt(later, run.id)).result?.data?.yes, tries]).toEqual([true, 1]);
  });
});

describe('an event tool that fails', () => {
  verifies(
    'EVENT-TOOL-FAILS-1',
    'tells the play when it cannot ask, again after a resume, and waits for nothing',
    async () => {
      let asked = 0;
      const { tool } = askTool({
        arm: {
          run: () => {
            asked++;
            throw endsAs('rejected');
          },
        },
      });
      const workspace = await testWorkspace({ tools: [tool] });
      const source = `async (ctx) => {
      let code = 'none';
      try { await ctx.tools.execute({ id: 'ask', tool: 'acme.ask', input: { n: 1 } }); } catch (error) { code = error.code; }
      await ctx.waitForEvent('go', { event: 'go' });
      return code;
    }`;
      const first = await runPlay(workspace, source);
      expect([first.outcome.kind, first.run.wakeAt]).toEqual(['suspended', null]);
      await signal(workspace, { runId: first.run.id, event: 'go' });
      expect([(await attempt(workspace, first.run.id)).result, asked]).toEqual(['TOOL_THREW', 1]);
    },
  );

  verifies(
    'EVENT-TOOL-FAILS-1',
    'its own code failing on an answer ends the run; mended, it reads the answer kept',
    async () => {
      const broken = askTool({
        onEvent: () => {
          throw new Error('oops');
        },
      });
      const dir = testFolder();
      const workspace = await openTest(dir, { tools: [broken.tool] });
      const { run } = await runPlay(workspace, ASK);
      await signal(workspace, { runId: run.id });
      expect((await attempt(workspace, run.id)).code).toBe('TOOL_CONTRACT');
      await workspace.close();
      const mended = askTool();
      const later = await openTest(dir, { tools: [mended.tool] });
      expect([(await attempt(later, run.id)).result.data, mended.asked.length]).toEqual([
        { yes: true, of: 1, card: 1 },
        0,
      ]);
    },
  );

  verifies('EVENT-TOOL-FAILS-1', 'leaves no wait behind that it could not ask for, also under park', async () => {
    const { tool } = askTool({
      mode: 'park',
      arm: {
        run: () => {
          throw endsAs('rejected');
        },
      },
    });
    const workspace = await testWorkspace({ tools: [tool] });
    const { run, result } = await runPlay(workspace, ASK);
    expect(result).toEqual({ caught: 'TOOL_THREW' });
    expect(await workspace.store.report.waitsOfRuns({ runNo: run.no, limit: 5 })).toEqual([]);
  });

  verifies('EVENT-TOOL-FAILS-1', 'refuses a timeout or a policy that is none before it asks', async () => {
    for (const wrong of [{ timeout: () => 'soon' }, { mode: () => 'maybe' as never }, { name: () => ' ' }]) {
      const { tool, asked } = askTool(wrong);
      const workspace = await testWorkspace({ tools: [tool] });
      expect([(await runPlay(workspace, ASK)).result, asked.length]).toEqual([{ caught: 'TOOL_INPUT_INVALID' }, 0]);
    }
  });

  it('is counted by a plan, and asks nobody', async () => {
    const { tool, asked } = askTool();
    const workspace = await testWorkspace({ tools: [tool] });
    const play = playFile(workspace, rowsPlay(3));
    const plan = await planRun(workspace, { play, cwd: workspace.paths.dir, input: {} });
    expect([JSON.stringify(plan).includes('acme.ask'), asked.length]).toEqual([true, 0]);
  });
});
