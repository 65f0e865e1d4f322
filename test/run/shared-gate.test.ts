import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRateState, type GateState, type Governor, type Permit } from '../../src/governor/index.ts';
import {
  accountWith,
  answered,
  ask,
  deferredFor,
  dispatch,
  governorOn,
  requestTo,
} from '../../src/governor/simulation.test-support.ts';
import { type Clock, VirtualClock } from '../../src/scope/index.ts';
import type { ProviderLimits } from '../../src/sdk/index.ts';
import { cli } from '../e2e/harness/cli.ts';
import { folder } from '../e2e/harness/folders.ts';
import { ratesIn } from '../harness/rates.ts';
import { testFolder } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const HOUR = 3_600_000;

/** One more process that shares a folder. */
function processOn(dir: string, clock: Clock, session: string, gates: Partial<GateState> = {}): Governor {
  const rates = ratesIn(dir, clock, session);
  const gateState: GateState = {
    closed: (account, closing) => rates.gates.closed(account, closing),
    closing: (account) => rates.gates.closing(account),
    ...gates,
  };
  const [rateState, placeState] = [createRateState(rates.slots), rates.places];
  return governorOn(clock, { rateState, placeState, gateState, asker: session });
}

const ANY = requestTo(accountWith({}));

/** A call that is answered, or refused for so long. */
async function call(governor: Governor, limits: ProviderLimits = {}, waitMs?: number): Promise<void> {
  const permit = await dispatch(governor, requestTo(accountWith(limits)));
  permit.settle(waitMs === undefined ? answered : deferredFor(waitMs));
}

describe('a time that a provider has named', () => {
  for (const limits of [{}, { concurrency: 4 }, { rate: [{ calls: 50, per: '1s' }], concurrency: 4 }])
    verifies('PACE-GATE-2', `closes the account for every process: limits ${JSON.stringify(limits)}`, async () => {
      const [dir, clock] = [testFolder(), new VirtualClock()];
      const [one, two] = [processOn(dir, clock, 'one'), processOn(dir, clock, 'two')];
      const both = Promise.all([call(two, limits), call(one, limits)]);
      await clock.advance(500);
      await both;
      const refused = call(one, limits, 15_000);
      await clock.advance(20);
      await refused;
      const asked = Array.from({ length: 4 }, () => ask(two, requestTo(accountWith(limits))));
      const given = (): Permit[] => asked.flatMap(({ permit }) => (permit === undefined ? [] : [permit]));
      await clock.advance(14_970);
      expect(given()).toEqual([]);
      expect(two.snapshot()[0]).toMatchObject({ deferred: 0, waiting: 4 });
      expect(two.waits()).toMatchObject([{ reason: 'gate', until: clock.now() + 10 }]);
      // One call tries it first, in this process too.
      await clock.advance(500);
      expect(given().length).toBe(1);
      for (const permit of given()) permit.dispatched();
      for (const permit of given()) permit.settle(answered);
      await clock.advance(500);
      expect(given().length).toBe(3);
    });

  verifies('PACE-GATE-2', 'by a refusal of what went out before is put off for all of them', async () => {
    const [dir, clock] = [testFolder(), new VirtualClock()];
    const [one, two] = [processOn(dir, clock, 'one'), processOn(dir, clock, 'two')];
    const first = await one.permit(requestTo(accountWith({})));
    const late = await one.permit(requestTo(accountWith({})));
    first.dispatched();
    late.dispatched();
    first.settle(deferredFor(5_000));
    await clock.advance(20);
    const waits = ask(two, ANY);
    await clock.advance(980);
    late.settle(deferredFor(9_000));
    await clock.advance(8_990);
    expect(waits.permit).toBeUndefined();
    await clock.advance(20);
    expect(waits.permit).toBeDefined();
  });

  it('is of one account, and where none was named nothing is told', async () => {
    const [dir, clock] = [testFolder(), new VirtualClock()];
    const [one, two] = [processOn(dir, clock, 'one'), processOn(dir, clock, 'two')];
    await call(one, {}, 20_000);
    const other = accountWith({}, 'other/default');
    const permit = await one.permit(requestTo(other));
    permit.dispatched();
    permit.settle(deferredFor());
    await clock.advance(50);
    const asked = [ask(two, ANY), ask(two, requestTo(other))];
    await clock.advance(1);
    expect(asked.map((of) => of.permit !== undefined)).toEqual([false, true]);
  });

  verifies('PACE-GATE-2', 'costs those that refuse nothing a look in 20 ms, and a free function none', async () => {
    const [dir, clock] = [testFolder(), new VirtualClock()];
    let looks = 0;
    const closing = (): undefined => void looks++;
    const governor = processOn(dir, clock, 'one', { closing });
    const free = requestTo(accountWith({}), { unlimited: true, maxCredits: 0 });
    for (let turn = 0; turn < 1_000; turn++) {
      (await governor.permit(free)).release();
      await clock.advance(1);
    }
    expect(looks).toBe(0);
    expect(existsSync(join(dir, 'rates.db'))).toBe(false);
    for (let turn = 0; turn < 1_000; turn++) {
      (await governor.permit(requestTo(accountWith({})))).release();
      await clock.advance(1);
    }
    expect(looks).toBe(50);
  });

  it('that nobody can read holds nobody up', async () => {
    const [dir, clock] = [testFolder(), new VirtualClock()];
    const broken = new Error('no file');
    const throws = (): never => {
      throw broken;
    };
    const states = [{ closing: throws }, { closing: () => Promise.reject(broken) }];
    for (const [index, state] of states.entries()) {
      const governor = processOn(dir, clock, `${index}`, state);
      const asked = ask(governor, ANY);
      await clock.advance(1);
      expect(asked.permit).toBeDefined();
    }
  });

  verifies('PACE-GATE-3', 'is kept by processes that begin later', async () => {
    const [dir, clock] = [testFolder(), new VirtualClock()];
    await call(processOn(dir, clock, 'one'), {}, 20_000);
    await clock.advance(5_000);
    const asked = ask(processOn(dir, clock, 'two'), ANY);
    await clock.advance(14_990);
    expect(asked.permit).toBeUndefined();
    await clock.advance(20);
    expect(asked.permit).toBeDefined();
  });

  verifies(['PACE-GATE-3', 'PACE-EXHAUSTED-1'], 'beyond the maximum fails their calls at once', async () => {
    const [dir, clock] = [testFolder(), new VirtualClock()];
    const retryAt = new Date(clock.now() + HOUR).toISOString();
    await call(processOn(dir, clock, 'one'), {}, HOUR);
    await clock.advance(10_000);
    const asked = ask(processOn(dir, clock, 'two'), ANY);
    await clock.advance(1);
    expect(asked.error).toMatchObject({ code: 'PROVIDER_EXHAUSTED', retryAt });
  });

  verifies('PACE-GATE-3', 'is kept for an hour at most', async () => {
    const [dir, clock] = [testFolder(), new VirtualClock()];
    const retryAt = new Date(clock.now() + HOUR).toISOString();
    await call(processOn(dir, clock, 'one'), {}, 1e6 * HOUR);
    await clock.advance(20);
    const asked = ask(processOn(dir, clock, 'two'), ANY);
    await clock.advance(1);
    expect(asked.error).toMatchObject({ code: 'PROVIDER_EXHAUSTED', retryAt });
    await clock.advance(HOUR);
    const next = ask(processOn(dir, clock, 'three'), ANY);
    await clock.advance(1);
    expect(next.permit).toBeDefined();
  });

  it('is no further off than the provider has said where the wall clock was set back', async () => {
    const [dir, clock] = [testFolder(), new VirtualClock()];
    const at = clock.now() + HOUR;
    const governor = processOn(dir, clock, 'one', { closing: () => ({ at, until: at + 20_000 }) });
    const asked = ask(governor, ANY);
    await clock.advance(19_990);
    expect(asked.permit).toBeUndefined();
    await clock.advance(20);
    expect(asked.permit).toBeDefined();
  });
});

const PLAY = `import { definePlay } from 'callsheet';
export default definePlay('one', async (ctx) =>
  (await ctx.tools.execute({ id: 'x', tool: 'acme.tick', input: {} })).data);`;
const TOOL = `import { appendFileSync } from 'node:fs';
import { defineTool } from 'callsheet';
export const tick = defineTool({
  id: 'acme.tick', effect: 'read', input: { type: 'object' }, cost: { credits: 1 },
  run: () => {
    appendFileSync('ticks.txt', 'x');
    throw Object.assign(new Error('not now'), { endsAs: 'deferred', retryAfterMs: 3_600_000 });
  },
});`;

describe('two command lines on one workspace', () => {
  verifies(['PACE-GATE-2', 'PACE-GATE-3'], 'ask a provider once that has closed for an hour', async () => {
    const dir = folder({ 'callsheet.config.json': '{}', 'one.play.ts': PLAY, 'tools/tick.ts': TOOL });
    const ends: string[] = [];
    for (let life = 0; life < 2; life++) ends.push((await cli(dir, ['run', 'one.play.ts', '--yes', '--json'])).stdout);
    for (const end of ends) expect(end).toContain('PROVIDER_EXHAUSTED');
    expect(readFileSync(join(dir, 'ticks.txt'), 'utf8')).toBe('x');
  });
});
