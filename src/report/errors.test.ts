import { describe, expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { RowRecord, RunRecord } from '../store/index.ts';
import { errorsReport } from './errors.ts';
import type { ReportSource } from './reads.ts';

/** Failed rows of one dataset; the store pages them as it is asked. */
function source(errors: readonly object[]): ReportSource {
  const rows = errors.map((error, ordinal) => ({ ordinal, error: JSON.stringify(error) }) as RowRecord);
  return {
    datasets: { frames: async () => [{ datasetNo: 1, key: 'people', playPath: '[]' }] },
    report: {
      operationsOfRun: async () => [],
      failedRows: async (_run: number, _no: number, { afterOrdinal, limit }: { afterOrdinal: number; limit: number }) =>
        rows.filter((row) => row.ordinal > afterOrdinal).slice(0, limit),
    },
    now: () => 0,
    isGone: () => false,
    maxCreditsOf: () => 0,
    calls: { unsettledReceipts: async () => [] },
  } as unknown as ReportSource;
}

const run = { id: 'run_1', no: 1, error: null, status: 'completed' } as unknown as RunRecord;

describe('failed rows', () => {
  const told = async (...errors: object[]) =>
    (await errorsReport(source(errors.map((error) => ({ column: 'email', row: 'x', ...error }))), run)).groups;

  verifies('CLI-ERRORS-3', 'are a few groups, however many messages there are', async () => {
    const names = Array.from({ length: 60 }, (_, n) => String.fromCharCode(97 + (n % 26)).repeat(1 + n / 26));
    const groups = await told(
      ...names.flatMap((name) => [{ code: 'PLAY_THREW', message: `no luck with ${name}` }]),
      { code: 'TOOL_THREW', message: 'another' },
      { code: 'PLAY_THREW', message: 'no luck with b' },
    );
    expect(groups).toHaveLength(22);
    expect(groups[0]).toMatchObject({ code: 'PLAY_THREW', message: '(other messages)', count: 40 });
    expect(groups[0]?.samples).toHaveLength(5);
    expect(groups.find(({ message }) => message === 'no luck with b')?.count).toBe(2);
  });

  verifies(
    'CLI-ERRORS-4',
    'whose messages differ in a handle, key, id, instant or duration are one group',
    async () => {
      const at = (n: number): string => `2026-12-0${n}T10:00:00.000Z`;
      const lettersOnly = ['abcdef', 'ghijkl', 'mnopqr'];
      const kinds: readonly ((n: number) => string)[] = [
        (n) => `Call 'x' of a.b: the job J4${n}_k${n}, which was started at ${at(n)}, was not done within 600000 ms.`,
        (n) =>
          `Call 'x' of a.b: the job ${lettersOnly[n - 1]}, which was started at ${at(n)}, was not done within 9 ms.`,
        (n) => `Call 'x' of a.b: the job ${n}, which was started at ${at(n)}, was not done within 9 ms.`,
        (n) => `Call 'find-key${n}' of a.b: GET https://x.io/jobs/J${n} was answered 404: no lead key${n}.`,
        (n) => `Nobody answered 'ok' of row '${lettersOnly[n - 1]}' by ${at(n)} (call 'ask' of a.b).`,
        (n) => `The write of a.b was made by run_0${n}x. See cus_9s${n}kLm, lead_${n} and ORD-2026-000${n}.`,
        (n) => `a/b has refused every call for ${n}m and ${n * 2}.5s, until Wed, ${n} Oct 2026 07:28:0${n} GMT.`,
      ];
      for (const kind of kinds) {
        const groups = await told(...[1, 2, 3].map((n) => ({ code: 'X', message: kind(n), row: `key${n}` })));
        expect(groups.map(({ message }) => message)).toHaveLength(1);
      }
      const others = ['apollo1.find', 'apollo2.find', '2captcha.solve'].map(
        (tool) => `Call 'x' of ${tool}: no (oauth2).`,
      );
      expect((await told(...others.map((message) => ({ code: 'X', message })))).map(({ message }) => message)).toEqual(
        others,
      );
    },
  );

  verifies('CLI-ERRORS-2', 'of limits and money come with the command that mends them', async () => {
    const exhausted = (retryAt: string) => ({
      code: 'PROVIDER_EXHAUSTED',
      message: `hunter/a takes no call before ${retryAt}: its declared limit is used up.`,
      details: { retryAt },
      next: [`callsheet runs resume run_1 --retry-failed   (after ${retryAt})`, 'Or add another provider.'],
    });
    const late = '2026-12-01T10:00:00.000Z';
    expect(
      await told(exhausted('2026-12-01T09:00:00.000Z'), exhausted(late), exhausted('2026-12-01T08:00:00.000Z')),
    ).toEqual([
      expect.objectContaining({
        count: 3,
        message: 'hunter/a takes no call before <time>: its declared limit is used up.',
        next: [`callsheet runs resume run_1 --retry-failed   (after ${late})`, 'Or add another provider.'],
      }),
    ]);

    const limited = { code: 'PROVIDER_RATE_LIMITED', message: '429', next: ['callsheet runs errors <run>'] };
    expect((await told(limited))[0]?.next).toEqual([
      "Declare the provider's limits, in its tool or under `providers` in callsheet.config.ts.",
      'callsheet runs resume run_1 --retry-failed',
    ]);

    const contract = (receipt: string) => ({
      code: 'TOOL_CONTRACT',
      message: `The answer is kept as ${receipt} and will not be bought again.`,
      next: ['Mend `extract` of a.find, then: callsheet runs resume <run>'],
    });
    expect(await told(contract('rcp_17'), contract('rcp_18'))).toEqual([
      expect.objectContaining({
        count: 2,
        next: ['Mend `extract` of a.find.', 'callsheet runs resume run_1 --retry-failed'],
      }),
    ]);

    const doubt = {
      code: 'IN_DOUBT',
      message: 'm',
      next: ['If it was: callsheet runs resolve run_1 call_1 --as done'],
    };
    expect((await told(doubt))[0]?.next).toEqual([...doubt.next, 'callsheet runs resume run_1 --retry-failed']);
    expect((await told(doubt, doubt))[0]?.next).toEqual([
      'Settle each of the writes in doubt, as said below.',
      'callsheet runs resume run_1 --retry-failed',
    ]);

    const failing = {
      code: 'PROVIDER_UNAVAILABLE',
      message: 'm',
      next: ['callsheet runs resume run_1 --retry-failed   (once the provider works again)'],
    };
    expect((await told(failing))[0]?.next).toEqual(failing.next);
    const said = (text: string) => ({ code: 'PROVIDER_VALIDATION', message: `no ${text}` });
    expect(await told(said('"Ada"'), said('"Bob"'))).toHaveLength(1);
  });

  verifies('ERRORS-SAID-1', 'of refused requests show what was said, and first what to mend', async () => {
    const refused = (code: string, body: unknown, message = 'was answered 422') => ({
      code,
      message,
      details: { body },
    });
    const [group] = await told(
      refused('PROVIDER_VALIDATION', '{ "error":\n "poison" }'),
      refused('PROVIDER_VALIDATION', 'x'.repeat(500)),
      refused('PROVIDER_VALIDATION', undefined),
    );
    expect(group?.samples.map(({ said }) => said)).toEqual(['{ "error": "poison" }', `${'x'.repeat(200)}…`, null]);
    expect(group?.next).toEqual([
      expect.stringMatching(/^Mend what the provider names first/),
      'callsheet runs resume run_1 --retry-failed',
    ]);
    // Said once is enough.
    expect((await told(refused('PROVIDER_REJECTED', 'no', 'was answered 200: no')))[0]?.samples[0]?.said).toBeNull();
    for (const code of ['TOOL_THREW', 'PROVIDER_REJECTED', 'PROVIDER_NOT_FOUND', 'PROVIDER_CONFLICT'])
      expect((await told({ code, message: 'm' }))[0]?.next[0], code).not.toContain('callsheet runs resume');
  });

  verifies(
    'CLI-ERRORS-1',
    'are grouped by code and by what their messages have in common, the largest group first',
    async () => {
      const invalid = Array.from({ length: 2500 }, (_, n) => ({
        code: 'PROVIDER_VALIDATION',
        message: `Call 'look' of acme.find: ada${n}@x.io at https://x.io/${n} is no address (request 0123456789ab-${String(n).padStart(4, '0')}).`,
        column: n % 2 === 0 ? 'email' : 'phone',
        row: `row ${n}`,
        next: ['callsheet runs errors <run>'],
      }));
      const key = {
        code: 'PROVIDER_AUTHENTICATION',
        message: '401',
        column: 'email',
        row: 'x',
        next: ['callsheet secrets set K', 'see <run>'],
      };
      const report = await errorsReport(source([key, ...invalid]), run);
      expect(report.failedRows).toBe(2501);
      expect(report.groups.map(({ code, count, columns }) => [code, count, columns.toSorted()])).toEqual([
        ['PROVIDER_VALIDATION', 2500, ['email', 'phone']],
        ['PROVIDER_AUTHENTICATION', 1, ['email']],
      ]);
      expect(report.groups[0]?.samples).toHaveLength(5);
      expect(report.groups[0]?.samples[0]?.message).toContain('ada0@x.io');
      expect(report.groups[0]?.message).not.toMatch(/ada|https|\d/);
      expect(report.groups[0]?.next.at(-1)).toBe('callsheet runs resume run_1 --retry-failed');
      expect(report.groups[1]?.next).toEqual([
        'callsheet secrets set K',
        'see run_1',
        'callsheet runs resume run_1 --retry-failed',
      ]);
      expect(report.runError).toBeNull();
      const fatal = {
        ...run,
        error: JSON.stringify({ code: 'OUT_OF_CREDITS', message: 'm', next: ['n'], details: {}, fatal: true }),
      };
      expect((await errorsReport(source([]), fatal)).runError).toMatchObject({ code: 'OUT_OF_CREDITS', next: ['n'] });
    },
  );
});
