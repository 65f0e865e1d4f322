import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { cli, cliJson } from './harness/cli.ts';
import { demoFiles, folder } from './harness/folders.ts';

verifies(
  ['BATCH-MEMBERS-1', 'JOB-POLL-1', 'CLI-SECOND-RUN-1'],
  'the tools and the play of docs/providers.md run as they stand, in batches and jobs, and a second run buys nothing',
  async () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/providers.md'), 'utf8');
    const [bulk = '', job = '', play = ''] = [...page.matchAll(/```ts\n(import [\s\S]*?)```/g)].map(([, text]) => text);
    const leads = demoFiles(60)['leads.csv'] ?? '';
    const dir = folder({
      'leads.csv': leads,
      'bulk-then-job.play.ts': play,
      'tools/bulk.ts': bulk,
      'tools/job.ts': job,
      'callsheet.config.json': JSON.stringify({
        providers: { findymail: { mode: 'sandbox' }, icypeas: { mode: 'sandbox' } },
      }),
    });
    expect((await cli(dir, ['check', 'bulk-then-job.play.ts'])).exit).toBe(0);
    expect((await cliJson(dir, ['tools', 'describe', 'icypeas.email'])).job).toEqual({
      intervalMs: 100,
      timeoutMs: 600_000,
    });
    const run = ['run', 'bulk-then-job.play.ts', '--csv', 'leads.csv', '--yes', '-o', 'out.csv'];
    const first = await cliJson(dir, run);
    expect(first.datasets).toMatchObject([{ key: 'leads', completed: 60, failed: 0 }]);
    const { live, hits } = first.calls.byTool['findymail.email'];
    expect([live, hits]).toEqual([60, expect.any(Number)]);
    expect(first.calls.byTool['icypeas.email'].live).toBe(60 - hits);
    const out = readFileSync(join(dir, 'out.csv'), 'utf8');
    const ledger = () =>
      readFileSync(join(dir, '.callsheet', 'sandbox-ledger.jsonl'), 'utf8')
        .trim()
        .split('\n');
    const paid = ledger().reduce((sum, line) => sum + JSON.parse(line).entry.credits, 0);
    expect(first.credits.settled).toBe(paid);
    const bulks = ledger().filter((line) => line.includes('/bulk/')).length;
    expect(bulks).toBeLessThan(5);
    const { timings } = await cliJson(dir, ['runs', 'show', first.run.id, '--timings']);
    expect(timings['findymail.email:batch'].provider).toMatchObject({ count: bulks, p50: expect.any(Number) });
    expect(timings['findymail.email'].deliver.count).toBe(60);
    expect(Object.keys(timings['icypeas.email:start'])).toEqual(['queue', 'pace', 'provider', 'record']);
    const second = await cliJson(dir, run);
    expect(second.calls).toMatchObject({ live: 0 });
    expect([second.credits.settled, readFileSync(join(dir, 'out.csv'), 'utf8')]).toEqual([0, out]);
  },
  120_000,
);
