import { expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { digest } from '../scope/index.ts';
import type { ReceiptQuery, StoredReceipt } from '../store/index.ts';
import { BatchAnswer } from './batch-answer.ts';
import { BatchAnswers } from './batch-answers.ts';

const key = (name: string): string => digest(name);

/** A store with these texts, by name; what it is asked is written down. */
function reads(texts: Readonly<Record<string, string>>) {
  const asked: number[] = [];
  const names = Object.keys(texts);
  const receiptsByKeys = async (queries: readonly ReceiptQuery[]): Promise<(StoredReceipt | undefined)[]> => {
    asked.push(queries.length);
    return queries.map((query) => {
      expect(query.every).toBe(true);
      const id = names.findIndex((name) => key(name) === query.key);
      return id === -1 ? undefined : ({ id, raw: undefined } as StoredReceipt);
    });
  };
  const answers = new BatchAnswers({ receiptsByKeys }, async (id) => texts[names[id] ?? '']);
  return { answers, asked };
}

verifies('BATCH-MEMORY-1', 'members that ask at once have their answers read once, and together', async () => {
  const { answers, asked } = reads({ a: '{}', b: '{}' });
  const found = await Promise.all(['a', 'b', 'a', 'none', 'a'].map((name) => answers.of(key(name))));
  expect(asked).toEqual([3]);
  expect([found[0] === found[2], found[0] === found[4], found[3]]).toEqual([true, true, undefined]);
  expect(await answers.of(key('b'))).toBe(found[1]);
  expect(asked).toEqual([3]);
});

verifies(
  'BATCH-MEMORY-1',
  'what is kept is bounded in size and number; the newest is kept whatever its size',
  async () => {
    const large = 'x'.repeat(3 * 1024 * 1024);
    const { answers, asked } = reads({ a: large, b: large, c: large, huge: large.repeat(4) });
    for (const name of ['a', 'b', 'a', 'c']) await answers.of(key(name));
    expect(asked).toHaveLength(3);
    // The one that was used last stays.
    await answers.of(key('a'));
    expect(asked).toHaveLength(3);
    await answers.of(key('b'));
    expect(asked).toHaveLength(4);
    const huge = await answers.of(key('huge'));
    expect(await answers.of(key('huge'))).toBe(huge);
    expect(asked).toHaveLength(5);
    for (let at = 0; at < 65; at++) answers.keep(key(`small ${at}`), new BatchAnswer('{}'));
    await answers.of(key('small 1'));
    expect(asked).toHaveLength(5);
    await answers.of(key('small 0'));
    expect(asked).toHaveLength(6);
  },
);

it('a read that fails fails those who asked, and is tried again', async () => {
  let fails = true;
  const answers = new BatchAnswers(
    {
      receiptsByKeys: async () => (fails ? Promise.reject(new Error('held')) : [{ id: 1, raw: '{}' } as StoredReceipt]),
    },
    async () => undefined,
  );
  await expect(answers.of(key('a'))).rejects.toThrow('held');
  fails = false;
  expect(await answers.of(key('a'))).toBeInstanceOf(BatchAnswer);
});
