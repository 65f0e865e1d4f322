import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PHASES, quantile, Timings } from './timings.ts';

describe('the time of calls', () => {
  it('is counted by tool and phase, with quantiles within a fifth and the exact maximum', () => {
    const durations = fc.array(fc.double({ min: 0.01, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(durations, fc.double({ min: 0.01, max: 1, noNaN: true }), (all, share) => {
        const timings = new Timings();
        for (const ms of all) timings.add('acme.find', 'provider', ms);
        const histogram = timings.data()['acme.find']?.provider;
        const exact = all.toSorted((a, b) => a - b)[Math.ceil(all.length * share) - 1] ?? 0;
        const told = histogram === undefined ? 0 : quantile(histogram, share);
        expect(histogram?.count).toBe(all.length);
        expect(histogram?.max).toBeCloseTo(Math.max(...all), 2);
        expect(told).toBeGreaterThanOrEqual(exact * 0.999 - 0.001);
        expect(told).toBeLessThanOrEqual(exact * 1.2);
      }),
    );
  });

  it('adds up over attempts as if it had been one', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('a', 'b'), fc.constantFrom(...PHASES), fc.nat(5_000), fc.boolean())),
        (added) => {
          const [whole, first, second] = [new Timings(), new Timings(), new Timings()];
          for (const [tool, phase, ms, isFirst] of added) {
            whole.add(tool, phase, ms);
            (isFirst ? first : second).add(tool, phase, ms);
          }
          const sum = new Timings();
          sum.merge(first.data());
          sum.merge(JSON.parse(JSON.stringify(second.data())));
          const sorted = (timings: Timings): [string, object][] => Object.entries(timings.data()).sort();
          expect(sorted(sum)).toEqual(sorted(whole));
          expect(sum.isEmpty).toBe(added.length === 0);
        },
      ),
    );
  });

  it('is none where a clock went back, and of an empty histogram', () => {
    const timings = new Timings();
    timings.add('a', 'pace', -3);
    expect(timings.data()).toEqual({ a: { pace: { count: 1, total: 0, max: 0, buckets: [[0, 1]] } } });
    expect(quantile({ count: 1, total: 0, max: 0, buckets: [[0, 1]] }, 0.5)).toBe(0);
    expect(quantile({ count: 0, total: 0, max: 0, buckets: [] }, 0.5)).toBe(0);
  });
});
