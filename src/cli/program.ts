import { Command } from 'commander';
import { declareCatalogue } from './commands/catalogue.ts';
import { declareRun } from './commands/run.ts';
import { declareRuns } from './commands/runs.ts';
import { declareWaiting } from './commands/waiting.ts';
import { declareWorkspace } from './commands/workspace.ts';
import type { Terminal } from './terminal.ts';
import { release } from './version.ts';

const EXAMPLES = `
Examples:
  $ callsheet init leads && cd leads
  $ callsheet check find-email.play.ts
  $ callsheet run find-email.play.ts --csv leads.csv -o out.csv
  $ callsheet runs list
  $ callsheet why last --row '#1'

The workspace is the nearest folder upwards with callsheet.config.ts or .callsheet; else the current one.
Exit codes: 0 completed, 1 the run failed, 2 wrong usage, 3 play, input or config not valid, 4 not found,
5 the run waits, 6 completed but some rows failed, 130 interrupted and resumable.`;

/** All commands. What they do is loaded when one is called. */
export function buildProgram(terminal: Terminal, ended: (exit: number) => void): Command {
  const program = new Command('callsheet')
    .description('Durable plays: TypeScript functions that run paid provider calls over rows of data')
    .version(release(), '-V, --version', 'print the version')
    .option('--workspace <dir>', 'the workspace folder, instead of the nearest one upwards')
    .option('--json', 'print one JSON document on stdout (JSON lines for streams), and nothing else there')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeOut: (text) => void terminal.data(text), writeErr: () => {}, outputError: () => {} })
    .exitOverride()
    .addHelpText('after', EXAMPLES);
  const parts = { program, terminal, ended };
  declareWorkspace(parts);
  declareRun(parts);
  declareRuns(parts);
  declareWaiting(parts);
  declareCatalogue(parts);
  return program;
}
