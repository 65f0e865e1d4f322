import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { defineTool } from '../../src/sdk/index.ts';
import {
  existingRun,
  newRun,
  newWorker,
  type RunRecord,
  sendSignal,
  type Worker,
  type WorkerEvent,
  type Workspace,
} from '../../src/workspace/index.ts';
import { openTest, playFile, queued, runPlay, testFolder, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const ASK = `async (ctx) => ({ answer: await ctx.waitForEvent('ask', { event: 'approved' }) })`;
const CALL = `async (ctx, input) => (await ctx.tools.execute({ id: 'c', tool: 't.hold', input: { n: input.n ?? 1 } })).data`;

/** A tool whose calls end when the test says so. */
function holdingTool() {
  const asked: number[] = [];
  const waiting: (() => void)[] = [];
  const arrivals: (() => void)[] = [];
  const tool = defineTool<{ n: number }>({
    id: 't.hold',
    effect: 'read',
    input: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
    run: async ({ n }) => {
      asked.push(n);
      for (const tell of arrivals.splice(0)) tell();
      await new Promise<void>((resolve) => waiting.push(resolve));
      return { n };
    },
  });
  const arrived = async (count: number): Promise<void> => {
    while (asked.length < count) await new Promise<void>((resolve) => arrivals.push(resolve));
  };
  const release = (): void => {
    for (const end of waiting.splice(0)) end();
  };
  return { tool, asked, arrived, release };
}

function worker(workspace: Workspace, options: { once?: boolean; concurrency?: number } = {}) {
  const events: WorkerEvent[] = [];
  const { once = true, concurrency = 4 } = options;
  const it: Worker = newWorker(workspace, { once, concurrency, tell: (event) => events.push(event) });
  return { it, events, kinds: () => events.map(({ kind }) => kind) };
}

async function detached(workspace: Workspace, source: string, input: object = {}): Promise<RunRecord> {
  const play = playFile(workspace, source);
  return (await newRun(workspace, { play, cwd: workspace.paths.dir, input, detached: true })).run;
}

function answer(workspace: Workspace, runId: string, data: boolean): Promise<unknown> {
  return sendSignal(workspace, { runId, event: 'approved', row: null, wait: null, all: false, data });
}

const statusOf = async (workspace: Workspace, { id }: RunRecord) => (await existingRun(workspace, id)).status;

describe('a worker', () => {
  verifies('WORKER-TAKES-1', 'takes queued and woken runs, and leaves waiting and attached ones', async () => {
    const workspace = await testWorkspace();
    const fresh = await detached(workspace, 'async () => 1');
    const attached = await queued(workspace, 'async () => 2');
    const woken = (await runPlay(workspace, ASK)).run;
    const asleep = (await runPlay(workspace, ASK)).run;
    expect(woken.status).toBe('waiting');
    await answer(workspace, woken.id, true);
    const { it, kinds } = worker(workspace);
    expect(await it.work()).toMatchObject({ taken: 2, completed: 2 });
    expect(kinds().filter((kind) => kind === 'took')).toHaveLength(2);
    expect(await existingRun(workspace, fresh.id)).toMatchObject({ status: 'completed', result: '1' });
    expect(await existingRun(workspace, woken.id)).toMatchObject({ status: 'completed', result: '{"answer":true}' });
    expect(await existingRun(workspace, asleep.id)).toMatchObject({ status: 'waiting', attempt: 1 });
    expect(await existingRun(workspace, attached.id)).toMatchObject({ status: 'queued', attempt: 0 });
  });

  verifies('WORKER-TAKES-1', 'leaves a run alone that a person has interrupted', async () => {
    const { tool, arrived, release } = holdingTool();
    const workspace = await testWorkspace({ tools: [tool] });
    const run = await queued(workspace, CALL);
    const working = await workspace.engine.start(run.id);
    await arrived(1);
    working.interrupt();
    release();
    expect((await working.outcome).kind).toBe('interrupted');
    expect(await worker(workspace).it.work()).toMatchObject({ taken: 0, passed: 0 });
    expect(await existingRun(workspace, run.id)).toMatchObject({ status: 'running', owner: null, attempt: 1 });
  });

  verifies('WORKER-TAKES-1', 'works on several at once, but never on more than it was told', async () => {
    const { tool, asked, arrived, release } = holdingTool();
    const workspace = await testWorkspace({ tools: [tool] });
    for (const n of [1, 2, 3]) await detached(workspace, CALL, { n });
    const { it, kinds } = worker(workspace, { concurrency: 2 });
    const work = it.work();
    await arrived(2);
    expect(kinds()).toEqual(['took', 'took']);
    release();
    await arrived(3);
    release();
    expect(await work).toMatchObject({ taken: 3, completed: 3 });
    expect([...asked].sort()).toEqual([1, 2, 3]);
  });

  verifies('WORKER-SIDE-1', 'beside another one takes what that one does not, without a word', async () => {
    const { tool, asked, arrived, release } = holdingTool();
    const dir = testFolder();
    const [one, two] = [await openTest(dir, { tools: [tool] }), await openTest(dir, { tools: [tool] })];
    for (const n of [1, 2, 3, 4, 5, 6]) await detached(one, CALL, { n });
    const workers = [worker(one, { concurrency: 6 }), worker(two, { concurrency: 6 })];
    const work = Promise.all(workers.map(({ it }) => it.work()));
    await arrived(6);
    release();
    const done = await work;
    expect(done.reduce((sum, { completed }) => sum + completed, 0)).toBe(6);
    expect(done.map(({ failed, passed }) => failed + passed)).toEqual([0, 0]);
    expect([...asked].sort()).toEqual([1, 2, 3, 4, 5, 6]);
    expect((await one.store.report.listRuns({ limit: 10 })).map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1, 1, 1]);
  });

  verifies('WORKER-SIDE-1', 'that is late with what it saw as due starts nothing', async () => {
    const workspace = await testWorkspace();
    const run = await detached(workspace, 'async () => 1');
    await worker(workspace).it.work();
    // It saw the run before the other one had finished it.
    const late = await workspace.engine.start(run.id, { after: run.attempt });
    await expect(late.outcome).rejects.toMatchObject({ code: 'RUN_HELD' });
    expect(await existingRun(workspace, run.id)).toMatchObject({ status: 'completed', attempt: 1 });
  });

  verifies(
    'WORKER-STOP-1',
    'that is stopped lets calls end and hands its runs back, and the next goes on',
    async () => {
      const { tool, asked, arrived, release } = holdingTool();
      const workspace = await testWorkspace({ tools: [tool] });
      const twice = `async (ctx) => {
      const call = (n) => ctx.tools.execute({ id: 'c', tool: 't.hold', input: { n } });
      return [(await call(1)).data, (await call(2)).data];
    }`;
      const run = await detached(workspace, twice);
      const first = worker(workspace, { once: false });
      const work = first.it.work();
      await arrived(1);
      first.it.stop();
      release();
      expect(await work).toMatchObject({ taken: 1, handedBack: 1 });
      const back = await existingRun(workspace, run.id);
      expect(back).toMatchObject({ status: 'queued', owner: null, attempt: 1 });
      expect(back.wakeAt).toBeLessThanOrEqual(workspace.clock.now());
      const second = worker(workspace).it.work();
      await arrived(2);
      release();
      expect(await second).toMatchObject({ completed: 1 });
      expect(asked).toEqual([1, 2]);
    },
  );

  verifies('WORKER-STOP-1', 'takes nothing once it is stopped', async () => {
    const workspace = await testWorkspace();
    const run = await detached(workspace, 'async () => 1');
    const { it } = worker(workspace, { once: false });
    it.stop();
    expect(await it.work()).toMatchObject({ taken: 0 });
    expect(await statusOf(workspace, run)).toBe('queued');
  });

  verifies('WORKER-ISOLATION-1', 'goes on when a run has lost its code, or a tool, or throws', async () => {
    const workspace = await testWorkspace();
    const lost = await detached(workspace, 'async () => 1');
    for (const ending of ['mjs', 'json']) rmSync(join(workspace.paths.artifacts, `${lost.artifact}.${ending}`));
    const toolless = await detached(workspace, CALL);
    const thrown = await detached(workspace, `async () => { throw new Error('broken') }`);
    const well = await detached(workspace, 'async () => 2');
    expect(await worker(workspace).it.work()).toMatchObject({ taken: 4, failed: 3, completed: 1, passed: 0 });
    const codes = await Promise.all(
      [lost, toolless, thrown].map(async ({ id }) => JSON.parse((await existingRun(workspace, id)).error ?? '{}').code),
    );
    expect(codes).toEqual(['ARTIFACT_MISSING', 'TOOL_NOT_FOUND', 'PLAY_THREW']);
    expect(await statusOf(workspace, well)).toBe('completed');
  });

  verifies('WORKER-ISOLATION-1', 'leaves a run alone that is answered by recorded files', async () => {
    const dir = testFolder();
    const fixtures = await openTest(dir, { fixtures: dir });
    const run = await detached(fixtures, 'async () => 1');
    const { it, events } = worker(await openTest(dir));
    expect(await it.work()).toMatchObject({ taken: 0, passed: 1 });
    expect(events).toMatchObject([{ kind: 'passed', runId: run.id, error: { code: 'RUN_NOT_RESUMABLE' } }]);
    expect(await statusOf(fixtures, run)).toBe('queued');
  });

  it('ends a run that was asked to be cancelled while it waited, without running its play', async () => {
    const workspace = await testWorkspace();
    const { run } = await runPlay(workspace, ASK);
    await workspace.committer.commit([{ kind: 'cancel', runId: run.id }]);
    expect(await worker(workspace).it.work()).toMatchObject({ cancelled: 1 });
    expect(await statusOf(workspace, run)).toBe('cancelled');
  });

  it('does what becomes due while it works', async () => {
    const { tool, arrived, release } = holdingTool();
    const workspace = await testWorkspace({ tools: [tool] });
    await detached(workspace, CALL);
    const work = worker(workspace, { concurrency: 1 }).it.work();
    await arrived(1);
    const later = await detached(workspace, 'async () => 1');
    release();
    expect(await work).toMatchObject({ taken: 2, completed: 2 });
    expect(await statusOf(workspace, later)).toBe('completed');
  });

  it('tells once that the store cannot say what is due, and goes on when it can', async () => {
    const workspace = await testWorkspace();
    let asked = 0;
    const told: WorkerEvent[] = [];
    const { Worker: Made } = await import('../../src/engine/index.ts');
    const blind = new Made(
      {
        engine: workspace.engine,
        runs: {
          runsDue: () => {
            if (++asked === 3) blind.stop();
            return Promise.reject(new Error('no disk'));
          },
        },
        report: workspace.store.report,
        clock: {
          ...workspace.clock,
          now: () => workspace.clock.now(),
          after: (_ms, fn) => workspace.clock.after(0, fn),
        },
      },
      { once: false, concurrency: 1, refuses: () => undefined, tell: (event) => told.push(event) },
    );
    await blind.work();
    expect(told).toMatchObject([{ kind: 'blind', error: { message: 'no disk' } }]);
  });
});

describe('an attached run', () => {
  verifies('DETACH-1', 'is not due; a detached one is at once', async () => {
    const workspace = await testWorkspace();
    expect((await queued(workspace, 'async () => 1')).wakeAt).toBeNull();
    const run = await detached(workspace, 'async () => 1');
    expect(run.wakeAt).toBeLessThanOrEqual(workspace.clock.now());
    expect((await workspace.store.runs.runsDue(workspace.clock.now(), 9)).map(({ id }) => id)).toEqual([run.id]);
  });
});

describe('cancelling', () => {
  verifies('WAITING-CANCEL-1', 'a run that nobody works on ends it at once, waiting or queued', async () => {
    const workspace = await testWorkspace();
    const { run } = await runPlay(workspace, ASK);
    expect(await workspace.engine.cancel(run.id)).toBe('cancelled');
    expect(await statusOf(workspace, run)).toBe('cancelled');
    await expect(workspace.engine.cancel(run.id)).rejects.toMatchObject({ code: 'RUN_NOT_RESUMABLE' });
    const fresh = await detached(workspace, 'async () => 1');
    expect(await workspace.engine.cancel(fresh.id)).toBe('cancelled');
    expect(await worker(workspace).it.work()).toMatchObject({ taken: 0 });
  });

  it('a run that is worked on only asks', async () => {
    const { tool, arrived, release } = holdingTool();
    const workspace = await testWorkspace({ tools: [tool] });
    const run = await queued(workspace, CALL);
    const working = await workspace.engine.start(run.id);
    await arrived(1);
    expect(await workspace.engine.cancel(run.id)).toBe('asked');
    expect((await existingRun(workspace, run.id)).cancelRequested).toBe(true);
    release();
    expect((await working.outcome).kind).toBe('completed');
  });
});
