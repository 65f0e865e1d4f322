import type { CheckFlags } from '../actions/check.ts';
import type { PlanFlags } from '../actions/plan.ts';
import type { SandboxFlags } from '../actions/sandbox.ts';
import { type Declaring, declare } from '../invocation.ts';
import { collected, count, wholeNumber } from '../option-values.ts';

export function declareWorkspace(parts: Declaring): void {
  const parent = parts.program;
  declare(
    parts,
    {
      parent,
      usage: 'init [dir]',
      summary: 'write a workspace that runs: config, tool, play, CSV; never overwrites a file',
      examples: ['callsheet init', 'callsheet init leads'],
    },
    async () => (await import('../actions/init.ts')).init,
  );
  declare<CheckFlags>(
    parts,
    {
      parent,
      usage: 'check <play>',
      summary: 'check a play without running it, and show what it will do',
      examples: ['callsheet check find-email.play.ts', 'callsheet check plays.ts#findEmail --json'],
    },
    async () => (await import('../actions/check.ts')).check,
  ).option('--no-types', 'leave TypeScript out');
  declare<PlanFlags>(
    parts,
    {
      parent,
      usage: 'plan <play>',
      summary: 'what a run with this input would call and cost at least, probably and at most; buys nothing',
      examples: ['callsheet plan find-email.play.ts --csv leads.csv'],
    },
    async () => (await import('../actions/plan.ts')).plan,
  )
    .option('--input <json>', 'the input: JSON, @file, or - for stdin')
    .option('--csv <file>', "a file for the input field 'csv'")
    .option('--set <name=value>', 'one field of the input; may be repeated', collected)
    .option('--limit <n>', 'take the first n rows of every file', count)
    .option('--encoding <name>', 'the text encoding of CSV files; found out by default');
  declare<SandboxFlags>(
    parts,
    {
      parent,
      usage: 'sandbox',
      summary: 'a local provider with limits, faults and a ledger; runs until Ctrl-C',
      examples: ['callsheet sandbox', 'callsheet sandbox --port 4100 --seed 7 --latency 200'],
    },
    async () => (await import('../actions/sandbox.ts')).sandbox,
  )
    .option('--port <n>', 'the port; a free one by default', wholeNumber)
    .option('--seed <n>', 'same seed and same input, same answer; 1 by default', wholeNumber)
    .option('--no-limits', 'take any pace')
    .option('--latency <ms>', 'milliseconds that every request takes', wholeNumber)
    .option('--ledger <file>', 'keep the ledger in this JSONL file across restarts');
}
