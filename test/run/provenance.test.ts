import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { errorsReport, exportDataset, runReport, whyRow } from '../../src/report/index.ts';
import { defineTool } from '../../src/sdk/index.ts';
import { planRun, reportSource } from '../../src/workspace/index.ts';
import { zeroChance } from '../harness/crash.ts';
import { json, testProvider } from '../harness/provider.ts';
import { countedTool, endsAs, latch, ROWS, until } from '../harness/tools.ts';
import { attempt, playFile, queued, runPlay, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const WATERFALL = `async (ctx) => {
  const rows = await ctx.dataset('people', ['hit', 'miss', 'down', 'bad', 'hit'].map((name, n) => ({ name, n })))
    .withColumn('email', steps()
      .step('first', async (row, ctx) => (await ctx.tools.execute({ id: 'a', tool: 'one.find', input: { name: row.name } })).data, { continueOnProviderUnavailable: true })
      .step('second', async (row, ctx) => (await ctx.tools.execute({ id: 'b', tool: 'two.find', input: { name: row.name } })).data, { runIf: (row) => row.first === null })
      .return((row) => row.first ?? row.second))
    .run({ key: 'n', concurrency: 1 });
  return { people: rows };
}`;

function legs() {
  const one = countedTool({ id: 'one.find', maxTries: 1 }, ({ name }) => {
    if (name === 'miss') return null;
    if (name === 'down') throw endsAs('deferred', { retryAfterMs: 0 });
    if (name === 'bad') throw endsAs('rejected');
    return `${name}@one.io`;
  });
  const two = countedTool({ id: 'two.find', cost: { credits: 5 } }, ({ name }) => `${name}@two.io`);
  return { tools: [one.tool, two.tool], one, two };
}

describe('rows without a result', () => {
  verifies('WHY-UNFINISHED-1', 'are explained by why while they are parked, and after the run has ended', async () => {
    const { tool } = countedTool();
    const workspace = await testWorkspace({ tools: [tool] });
    const source = reportSource(workspace);
    const play = `async (ctx) => ({ rows: await ctx.dataset('rows', [{ n: 0 }, { n: 1 }, { n: 2 }])
      .withColumn('v', async (row, ctx) => {
        if (row.n === 0) await ctx.waitForEvent('ok', { event: 'go' });
        return (await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: row.n } })).data;
      }).run({ key: 'n', concurrency: 1 }) })`;
    const { run } = await runPlay(workspace, play);
    expect(await whyRow(source, run, { row: '0' })).toMatchObject({
      state: 'parked',
      reason: "It is parked: it waits for the event 'go'.",
      next: [expect.stringMatching(/^callsheet signal run_\S+ --wait wait_\d+ /), `callsheet runs resume ${run.id}`],
    });
    const poor = await runPlay(workspace, play.replace('row.n === 0', 'false').replace('input: {', 'input: { m: 1,'), {
      maxCredits: 1,
    });
    expect(poor.code).toBe('OUT_OF_CREDITS');
    const why = await whyRow(source, poor.run, { row: '2' });
    expect(why.reason).toBe('The run ended with OUT_OF_CREDITS before its end.');
    expect(why.next).toEqual([expect.stringMatching(/^callsheet runs resume \S+ --max-credits \d+$/)]);
    expect((await runReport(source, poor.run)).next).not.toContain(`callsheet runs resume ${poor.run.id}`);
  });

  verifies('ERRORS-SAID-1', 'show what their provider said of them, redacted', async () => {
    const provider = await testProvider((response) => json(response, 422, { error: 'poison', key: 's3cret-key' }));
    const tool = defineTool({
      id: 'acme.find',
      effect: 'read',
      input: { type: 'object' },
      secrets: ['KEY'],
      request: ({ secret }) => ({ url: provider.url, headers: { key: secret('KEY') } }),
    });
    const workspace = await testWorkspace({ tools: [tool], env: { KEY: 's3cret-key' } });
    const { run } = await runPlay(workspace, ROWS);
    const source = reportSource(workspace);
    const [group] = (await errorsReport(source, run)).groups;
    expect(group).toMatchObject({ code: 'PROVIDER_VALIDATION', count: 6 });
    expect(group?.samples[0]?.said).toMatch(/^\{"error":"poison","key":"(?!s3cret).*"\}$/);
    expect(group?.next[0]).toMatch(/^Mend what the provider names/);
    const [attempt] = (await whyRow(source, run, { row: '#1' })).columns[0]?.attempts ?? [];
    expect(attempt?.error?.said).toContain('"error":"poison"');
  });
});

describe('where a cell comes from', () => {
  verifies(
    'DATA-PROVENANCE-1',
    'why tells for each row the leg that answered, those that did not and why, source, price, receipt and code',
    async () => {
      const { tools } = legs();
      const workspace = await testWorkspace({ tools, chance: zeroChance() });
      const { run, result } = await runPlay(workspace, WATERFALL);
      expect(result).toEqual({ people: { dataset: 'people' } });
      const source = reportSource(workspace);
      const why = async (row: string) => {
        const { state, error, columns } = await whyRow(source, run, { row });
        const [email] = columns;
        expect(email?.codeVersion).toBe(run.artifact);
        const attempts = email?.attempts.map(
          ({ leg, tool, outcome, source: from, credits, receiptId, at, error: failed }) => {
            expect([receiptId !== null, outcome]).toEqual([
              outcome === 'completed' || outcome === 'no_result',
              outcome,
            ]);
            if (tool !== null) expect(Date.parse(at ?? '')).toBeGreaterThan(0);
            return [leg, tool, outcome, from, credits, failed?.code ?? null];
          },
        );
        return { state, code: error?.code ?? null, value: email?.value, credits: email?.credits, attempts };
      };
      expect(await why('0')).toEqual({
        state: 'completed',
        code: null,
        value: 'hit@one.io',
        credits: 1,
        attempts: [
          ['email.first', 'one.find', 'completed', 'live', 1, null],
          ['email.second', null, 'skipped', null, 0, null],
        ],
      });
      expect(await why('1')).toMatchObject({
        value: 'miss@two.io',
        credits: 6,
        attempts: [
          ['email.first', 'one.find', 'no_result', 'live', 1, null],
          ['email.second', 'two.find', 'completed', 'live', 5, null],
        ],
      });
      expect(await why('2')).toMatchObject({
        value: 'down@two.io',
        credits: 5,
        attempts: [
          ['email.first', 'one.find', 'unavailable', 'live', 0, 'TOOL_THREW'],
          ['email.second', 'two.find', 'completed', 'live', 5, null],
        ],
      });
      expect(await why('3')).toMatchObject({
        state: 'failed',
        code: 'TOOL_THREW',
        value: null,
        attempts: [['email.first', 'one.find', 'rejected', 'live', 0, 'TOOL_THREW']],
      });
      expect(await why('4')).toMatchObject({
        value: 'hit@one.io',
        credits: 0,
        attempts: [
          ['email.first', 'one.find', 'completed', 'receipt', 0, null],
          ['email.second', null, 'skipped', null, 0, null],
        ],
      });
      await expect(why('9')).rejects.toMatchObject({ code: 'ROW_NOT_FOUND' });

      const path = join(workspace.paths.dir, 'out.csv');
      await exportDataset(source, run, { path, provenance: true });
      const [header, ...lines] = readFileSync(path, 'utf8').trimEnd().split('\n');
      expect(header).toBe(
        'name,n,email,_row_state,_row_error,_row_credits,email.leg,email.source,email.credits,email.receiptId,email.at,email.tried,email.codeVersion',
      );
      const shown = lines.map((line) =>
        line
          .replace(/rcp_\d+/, 'rcp')
          .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/, 'at')
          .replace(run.artifact, 'code'),
      );
      expect(shown[0]).toBe(
        'hit,0,hit@one.io,completed,,1,email.first,live,1,rcp,at,email.first completed; email.second skipped,code',
      );
      expect(shown[2]).toBe(
        'down,2,down@two.io,completed,,5,email.second,live,5,rcp,at,email.first unavailable; email.second completed,code',
      );
      expect(shown[3]).toMatch(/^bad,3,,failed,"?TOOL_THREW: .*"?,0,,live,0,,at,email\.first rejected,code$/);
      expect(shown[4]).toBe(
        'hit,4,hit@one.io,completed,,0,email.first,receipt,0,rcp,at,email.first completed; email.second skipped,code',
      );

      const report = await runReport(source, run);
      expect(report.credits.settled).toBe(12);
      expect(report.datasets).toMatchObject([
        { key: 'people', total: 5, completed: 4, failed: 1, unfinished: 0, credits: 12 },
      ]);
      expect(report.calls).toMatchObject({ live: 6, receipt: 1, coalesced: 0, failed: 2 });
      expect(report.calls.byTool['one.find']).toMatchObject({ hits: 2, noResult: 1, failed: 2, credits: 2 });
      const errors = await errorsReport(source, run);
      expect(errors).toMatchObject({
        failedRows: 1,
        groups: [{ dataset: 'people', code: 'TOOL_THREW', count: 1, columns: ['email'] }],
      });
      expect(errors.groups[0]?.next.join()).toContain(`callsheet runs resume ${run.id} --retry-failed`);
    },
  );

  verifies(
    ['DATA-POOL-2', 'DATA-POOL-1'],
    'a row goes on without waiting for the calls of its neighbours',
    async () => {
      const slow = latch();
      const { tool, sent } = countedTool({}, async ({ n, leg }) => {
        if (n === 0 && leg === 1) await slow.opened;
        return n;
      });
      const workspace = await testWorkspace({ tools: [tool] });
      const run = await queued(
        workspace,
        `async (ctx) => {
        const call = (leg) => async (row, ctx) => (await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: row.n, leg } })).data;
        const rows = await ctx.dataset('rows', Array.from({ length: 20 }, (_, n) => ({ n })))
          .withColumn('a', call(1)).withColumn('b', call(2)).withColumn('c', call(3)).run({ concurrency: 4 });
        return (await rows.materialize()).map((row) => row.c);
      }`,
      );
      const running = attempt(workspace, run.id);
      await until(() => sent.length === 19 * 3 + 1);
      slow.open();
      expect((await running).result).toEqual(Array.from({ length: 20 }, (_, n) => n));
      expect(sent).toHaveLength(60);
    },
  );

  verifies(
    'CALL-GROUPED-1',
    'rows that share one large answer get it two at a time, so that it is not in memory for each',
    async () => {
      const big = 'x'.repeat(100_000);
      const gate = latch();
      const { tool, sent } = countedTool({}, async ({ size }) => {
        await gate.opened;
        return size === 'large' ? big : 'small';
      });
      const workspace = await testWorkspace({ tools: [tool] });
      const source = `async (ctx, input) => {
      const rows = await ctx.dataset('rows', Array.from({ length: 40 }, (_, n) => ({ n })))
        .withColumn('turn', async (row, ctx) => {
          await ctx.tools.execute({ id: 'x', tool: 'acme.find', input });
          return globalThis.turnOfTest;
        }).run({ concurrency: 40 });
      return (await rows.materialize()).map((row) => row.turn);
    }`;
      const turns = async (size: string): Promise<number> => {
        Object.assign(globalThis, { turnOfTest: 0 });
        const run = await queued(workspace, source, { input: { size } });
        const running = attempt(workspace, run.id);
        let over = false;
        const count = (): void => {
          Object.assign(globalThis, { turnOfTest: Number(Reflect.get(globalThis, 'turnOfTest')) + 1 });
          if (!over) setImmediate(count);
        };
        await until(() => sent.length > 0);
        count();
        gate.open();
        const { result } = await running;
        over = true;
        const most = new Map<number, number>();
        for (const turn of result) most.set(turn, (most.get(turn) ?? 0) + 1);
        return Math.max(...most.values());
      };
      expect(await turns('large')).toBeLessThanOrEqual(4);
      expect(sent).toHaveLength(1);
      expect(await turns('small')).toBeGreaterThan(20);
      Reflect.deleteProperty(globalThis, 'turnOfTest');
    },
  );
});

describe('a plan', () => {
  verifies(
    ['CLI-PLAN-1', 'PLAN-EXPECTED-1'],
    'buys nothing, and knows what is new, shared, kept, skipped and blocked',
    async () => {
      const { tools, one, two } = legs();
      const workspace = await testWorkspace({ tools, chance: zeroChance() });
      const file = playFile(workspace, WATERFALL.replace("'bad'", "'other'"));
      const order = { play: file, cwd: workspace.paths.dir, input: {} };
      const before = await planRun(workspace, order);
      expect([one.sent.length, two.sent.length]).toEqual([0, 0]);
      const [first, second] = before.datasets[0]?.columns[0]?.legs ?? [];
      // Four different questions in five rows: the fifth is answered by what the first buys.
      expect(first).toMatchObject({ leg: 'email.first', tool: 'one.find', calls: { new: 4, receipt: 1, blocked: 0 } });
      expect(second).toMatchObject({ leg: 'email.second', tool: 'two.find' });
      expect(before.credits.most).toBeGreaterThanOrEqual(24);
      expect(await workspace.store.report.listRuns({ limit: 10 })).toEqual([]);

      await runPlay(workspace, WATERFALL.replace("'bad'", "'other'"));
      const asked = [one.sent.length, two.sent.length];
      const after = await planRun(workspace, order);
      expect([one.sent.length, two.sent.length]).toEqual(asked);
      const [again, other] = after.datasets[0]?.columns[0]?.legs ?? [];
      // The provider that was down is asked again; everything else is kept.
      expect(again).toMatchObject({ calls: { new: 1, receipt: 4 } });
      // Three rows skip it, and the fourth may.
      expect(other).toMatchObject({ calls: { receipt: 1, skipped: 4 } });
      const limited = await planRun(workspace, { ...order, maxCredits: 0 });
      expect(limited.datasets[0]?.columns[0]?.legs[0]?.calls.blocked).toBe(1);
    },
  );
});
