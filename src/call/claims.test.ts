import { describe, expect, it } from 'vitest';
import type { Answer } from './answer.ts';
import { Claims, type Shared } from './claims.ts';

const KEY = 'question' as never;
const answer = { kind: 'answer', answer: { receiptId: 1 } as Answer } as Shared;

async function order(claims: Claims, names: readonly string[]): Promise<string[]> {
  const told: string[] = [];
  for (const name of names) {
    const turn = claims.take(KEY);
    void Promise.resolve(turn).then((how) => told.push(`${name}:${how === 'lead' ? 'lead' : how.kind}`));
  }
  await Promise.resolve();
  await Promise.resolve();
  return told;
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('claims', () => {
  it('lets one lead and gives its answer to all who follow', async () => {
    const claims = new Claims();
    const told = await order(claims, ['a', 'b', 'c']);
    expect(told).toEqual(['a:lead']);
    claims.share(KEY, answer);
    await turn();
    expect(told).toEqual(['a:lead', 'b:answer', 'c:answer']);
    expect(claims.take(KEY)).toBe('lead');
  });

  it('hands the lead to the oldest follower, and the others go on following', async () => {
    const claims = new Claims();
    const told = await order(claims, ['a', 'b', 'c']);
    claims.abandon(KEY);
    await turn();
    expect(told).toEqual(['a:lead', 'b:lead']);
    claims.share(KEY, { kind: 'rejected', failure: { ending: 'rejected', message: 'no' } });
    await turn();
    expect(told).toEqual(['a:lead', 'b:lead', 'c:rejected']);
  });

  it('is free again after the last has abandoned', () => {
    const claims = new Claims();
    expect(claims.take(KEY)).toBe('lead');
    claims.abandon(KEY);
    expect(claims.take(KEY)).toBe('lead');
  });
});
