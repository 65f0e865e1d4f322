import { afterAll, beforeAll, describe, expect } from 'vitest';
import { Timings } from '../../src/observe/index.ts';
import { TIMINGS_EVENT } from '../../src/report/index.ts';
import { existingRun } from '../../src/workspace/index.ts';
import { openTest } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';
import { documentOf, newFolder, removeFolder, typed } from './command-line.ts';
import { FILES } from './plays.ts';

let dir = '';
beforeAll(async () => {
  dir = newFolder(FILES);
  await typed(dir, ['run', 'two.play.ts#two']);
}, 30_000);
afterAll(() => removeFolder(dir));

/** What an attempt writes down that made so many calls, each of which was at the provider for so long. */
async function recorded(calls: number, ms: number): Promise<void> {
  const workspace = await openTest(dir);
  const run = await existingRun(workspace, 'last');
  const timings = new Timings();
  for (let call = 0; call < calls; call++) {
    timings.add('acme.find', 'queue', 0);
    timings.add('acme.find', 'provider', ms);
  }
  const event = {
    at: 1,
    type: TIMINGS_EVENT,
    level: 'debug',
    message: 'timings',
    datasetNo: null,
    ordinal: null,
  } as const;
  const data = JSON.stringify(timings.data());
  await workspace.committer.commit([{ kind: 'event', runNo: run.no, event: { ...event, data } }]);
  await workspace.close();
}

interface Shown {
  readonly timings?: Readonly<Record<string, Readonly<Record<string, object>>>>;
}

describe('runs show --timings', () => {
  verifies(
    'TIMINGS-1',
    'adds up what all attempts recorded, and is in the JSON only where it is asked for',
    async () => {
      const none = await typed(dir, ['runs', 'show', 'last', '--timings']);
      expect(none.stdout).toContain('No time of calls is recorded');
      expect(documentOf<Shown>(await typed(dir, ['runs', 'show', 'last', '--json', '--timings'])).timings).toEqual({});
      await recorded(60, 10);
      await recorded(40, 400);
      const json = documentOf<Shown>(await typed(dir, ['runs', 'show', 'last', '--json', '--timings']));
      const within = (from: number, to: number) => ({
        asymmetricMatch: (value: number) => value >= from && value <= to,
      });
      expect(json.timings).toEqual({
        'acme.find': {
          queue: { count: 100, p50: 0, p95: 0, max: 0, total: 0 },
          provider: { count: 100, p50: within(10, 12), p95: within(400, 480), max: 400, total: 16_600 },
        },
      });
      expect(documentOf<Shown>(await typed(dir, ['runs', 'show', 'last', '--json'])).timings).toBeUndefined();
      const { stdout } = await typed(dir, ['runs', 'show', 'last', '--timings']);
      expect(stdout).toMatch(/ {2}tool +phase +calls +p50 ms +p95 ms +max ms +in all\n/);
      expect(stdout).toMatch(/ {2}acme\.find +provider +100 +1\d(\.\d)? +4\d\d(\.\d)? +400 +17 s\n/);
    },
  );
});
