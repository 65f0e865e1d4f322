import type { SignalFlags } from '../actions/signal.ts';
import type { SlackFlags } from '../actions/slack.ts';
import type { WorkerFlags } from '../actions/worker.ts';
import { type Declaring, declare } from '../invocation.ts';
import { count, text, waitNumber, wholeNumber } from '../option-values.ts';

/** What answers runs that wait, and what keeps them going. */
export function declareWaiting(parts: Declaring): void {
  declare<SignalFlags>(
    parts,
    {
      parent: parts.program,
      usage: 'signal [run]',
      summary: 'deliver an event to a run that waits for it, or will',
      examples: [
        `callsheet signal last --event approved --data '{"by":"Ada"}'`,
        `callsheet signal last --event approved --row 'Ada,example.com' --data true`,
        'callsheet signal last --event approved --all --data @answer.json',
      ],
    },
    async () => (await import('../actions/signal.ts')).signal,
  )
    .requiredOption('--event <name>', 'the name of the event', text)
    .requiredOption('--data <json>', 'what it brings: JSON, @file, or - for stdin')
    .option('--row <key>', "only for the row with this key, as 'runs show' lists it", text)
    .option('--wait <id>', "only for this wait, as 'runs show' lists it", waitNumber)
    .option('--all', 'answer every wait that matches: of all rows, and of all runs where none is named')
    .option('--keep', 'keep it for a wait to come, although one of that name was answered before');
  declare<WorkerFlags>(
    parts,
    {
      parent: parts.program,
      usage: 'worker',
      summary: 'keep detached and waiting runs of the workspace going, until Ctrl-C; several may work side by side',
      examples: ['callsheet worker', 'callsheet worker --once', 'callsheet worker --concurrency 8 --json'],
    },
    async () => (await import('../actions/worker.ts')).worker,
  )
    .option('--once', 'do what is due now, and end')
    .option('--concurrency <n>', 'runs at once; 4 by default', count);
  declare<SlackFlags>(
    parts,
    {
      parent: parts.program,
      usage: 'slack',
      summary: 'take what people press on cards in Slack, on loopback, until Ctrl-C; a tunnel leads Slack there',
      examples: ['callsheet slack --port 4300', 'callsheet slack --port 4300 --host cards.example.com'],
    },
    async () => (await import('../actions/slack.ts')).slack,
  )
    .option('--port <n>', 'the port; a free one by default', wholeNumber)
    .option('--host <name>', 'a name that requests may be for, beside those of loopback', text);
}
