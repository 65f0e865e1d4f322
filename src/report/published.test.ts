import { describe, expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { publishedAccounts } from './published.ts';
import type { ReportSource } from './reads.ts';

const account = {
  ...{
    account: 'hunter/a',
    allowedRate: 15,
    limits: [{ calls: 15, perMs: 1_000 }],
    usedRate: 14.5,
    waiting: 3,
    inFlight: 2,
    concurrency: 10,
  },
  ...{ gateClosedUntil: null, deferred: 0, credits: 7, failing: false },
};

/** Events of which those at these numbers are progress; counts how often it is asked. */
function source(seqs: readonly number[], data: (seq: number) => object) {
  let asked = 0;
  const report = {
    events: async (_run: number, { afterSeq, limit }: { afterSeq: number; limit: number }) => {
      asked++;
      const found = seqs.filter((seq) => seq > afterSeq).slice(0, limit);
      return found.map((seq) => ({ seq, data: JSON.stringify(data(seq)) }));
    },
  };
  return { source: { report } as unknown as ReportSource, asked: () => asked };
}

describe('the numbers of the governor that a run has published', () => {
  const told = (seq: number) => ({ accounts: [{ ...account, inFlight: seq, runs: [] }] });

  verifies('GOVERNOR-SHOWN-1', 'are the newest ones, found without reading all', async () => {
    for (const count of [1, 2, 3, 7, 64, 1_000]) {
      const seqs = Array.from({ length: count }, (_, n) => 3 + n * 5 + (n % 3));
      const { source: reads, asked } = source(seqs, told);
      expect((await publishedAccounts(reads, { no: 1 }))[0]?.inFlight).toBe(seqs.at(-1));
      expect(asked()).toBeLessThan(40);
    }
    expect(await publishedAccounts(source([], told).source, { no: 1 })).toEqual([]);
    expect(await publishedAccounts(source([4], () => ({ datasets: [] })).source, { no: 1 })).toEqual([]);
  });

  verifies('GOVERNOR-SHOWN-1', 'say what is waited for and until when', async () => {
    const runs = [{ runId: 'run_1', account: 'hunter/a', waiting: 3, reason: 'gate', until: 61_000, sinceMs: 5 }];
    const { source: reads } = source([1], () => ({ accounts: [{ ...account, gateClosedUntil: 61_000, runs }] }));
    const until = '1970-01-01T00:01:01.000Z';
    expect(await publishedAccounts(reads, { no: 1 })).toEqual([
      { ...account, gateClosedUntil: until, waits: [{ calls: 3, reason: 'gate', until }] },
    ]);
  });
});
