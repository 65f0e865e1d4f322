import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { Gate, Scope } from './index.ts';

const newRun = (runId = 'run_1'): Scope =>
  Scope.ofRun({ runId, seed: 'seed', fence: { runNo: 1, attempt: 1 }, gate: new Gate() });

const row = (run: Scope, identity: string, ordinal = 0): Scope =>
  run.row({ datasetKey: 'leads', datasetNo: 1, ordinal, identity, gate: new Gate() });

describe('places', () => {
  it('of the same kind and content are the same place, wherever the scope was made', () => {
    const a = row(newRun(), 'ada').at('email').at('hunter');
    const b = row(newRun(), 'ada', 7).at('email').at('hunter');
    expect(a.identity('call', '{}')).toBe(b.identity('call', '{}'));
  });

  it('differ by run or row, dataset, path, child play, kind and content', () => {
    const run = newRun();
    const places = [
      run,
      run.at('email'),
      run.at('email').at('hunter'),
      run.child('k', 'other'),
      run.child('k2', 'other'),
      run.child('k', 'other').child('k', 'other'),
      row(run, 'ada'),
      row(run, 'bob'),
      row(run, 'ada').at('email'),
      row(run.child('k', 'other'), 'ada'),
      run.row({ datasetKey: 'people', datasetNo: 1, ordinal: 0, identity: 'ada', gate: new Gate() }),
    ];
    const identities = places.flatMap((place) => [
      place.identity('call', '{}'),
      place.identity('step', '{}'),
      place.identity('call', '{"a":1}'),
    ]);
    expect(new Set(identities).size).toBe(identities.length);
  });

  it('cannot be confused by names that contain quotes, commas or brackets', () => {
    const odd = fc.stringMatching(/^["\],[\\a]{0,4}$/);
    const place = fc.record({ child: fc.option(odd), dataset: odd, row: fc.option(odd), column: odd });
    const identityOf = (of: { child: string | null; dataset: string; row: string | null; column: string }): string => {
      const run = of.child === null ? newRun() : newRun().child('k', of.child);
      const scope =
        of.row === null
          ? run
          : run.row({ datasetKey: of.dataset, datasetNo: 1, ordinal: 0, identity: of.row, gate: new Gate() });
      return scope.at(`c${of.column}`).identity('call', '{}');
    };
    fc.assert(
      fc.property(place, place, (a, b) => {
        const same =
          a.child === b.child &&
          a.row === b.row &&
          a.column === b.column &&
          (a.row === null || a.dataset === b.dataset);
        expect(identityOf(a) === identityOf(b)).toBe(same);
      }),
      { numRuns: 1000 },
    );
  });

  it('know whether they are in a row, and where their state is kept', () => {
    const run = newRun();
    expect([run.inRow, run.place]).toEqual([false, { datasetNo: 0, ordinal: 0 }]);
    const inRow = row(run, 'ada', 4).at('email');
    expect([inRow.inRow, inRow.place, inRow.path]).toEqual([true, { datasetNo: 1, ordinal: 4 }, 'email']);
    expect(run.child('k', 'other').playPath).toEqual(['k:other']);
  });

  it('of a row have the gate of the row, and all have the fence of the run', () => {
    const run = newRun();
    const gate = new Gate();
    const inRow = run.row({ datasetKey: 'leads', datasetNo: 1, ordinal: 0, identity: 'ada', gate }).at('email');
    expect(inRow.gate).toBe(gate);
    expect(run.at('email').gate).toBe(run.gate);
    expect([inRow.fence, inRow.runId, inRow.seed]).toEqual([run.fence, run.runId, run.seed]);
  });
});

describe('occurrence numbers', () => {
  verifies('KEY-CALL-1', 'two equal things at one place are the first and the second', () => {
    const scope = newRun().at('email');
    expect([scope.occurrence('a'), scope.occurrence('a'), scope.occurrence('b')]).toEqual([0, 1, 0]);
    expect(newRun().at('email').occurrence('a')).toBe(0);
  });

  it('go on over scopes of one place that were made apart', () => {
    const run = newRun();
    expect([run.at('email').occurrence('a'), run.at('email').occurrence('a'), run.at('size').occurrence('a')]).toEqual([
      0, 1, 0,
    ]);
  });

  it('start anew in every row', () => {
    const run = newRun();
    expect([row(run, 'ada').occurrence('a'), row(run, 'bob').occurrence('a')]).toEqual([0, 0]);
  });

  verifies('KEY-CALL-2', 'do not show in which order different things happened', () => {
    const things = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 12 });
    const numbered = (order: readonly string[]): string[] => {
      const scope = newRun().at('email');
      return order.map((thing) => `${thing}#${scope.occurrence(thing)}`).sort();
    };
    fc.assert(
      fc.property(
        things.chain((list) => fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length }))),
        ([order, shuffled]) => {
          expect(numbered(shuffled)).toEqual(numbered(order));
        },
      ),
    );
  });
});
