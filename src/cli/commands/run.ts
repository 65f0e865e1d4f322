import { Option } from 'commander';
import type { RunFlags } from '../actions/run.ts';
import { type Declaring, declare } from '../invocation.ts';
import { collected, count, credits, refreshed, text } from '../option-values.ts';

export function declareRun(parts: Declaring): void {
  declare<RunFlags>(
    parts,
    {
      parent: parts.program,
      usage: 'run <play>',
      summary: 'run a play (file, or file#export) and watch it live',
      examples: [
        'callsheet run find-email.play.ts --csv leads.csv -o out.csv',
        `callsheet run enrich.play.ts --input '{"domain":"example.com"}'`,
        'callsheet run plays.ts#score --input @input.json --set limit=20 --max-credits 500',
        'callsheet run find-email.play.ts --csv leads.csv --max-credits 500 --detach',
        'callsheet run find-email.play.ts --csv leads.csv --limit 10 --refresh=hunter.email_finder --yes --json',
      ],
    },
    async () => (await import('../actions/run.ts')).run,
  )
    .option('--input <json>', 'the input: JSON, @file, or - for stdin')
    .option('--csv <file>', "a file for the input field 'csv'")
    .option('--set <name=value>', 'one field of the input (a.b=1); JSON where it is JSON; may be repeated', collected)
    .option('-o, --output <file>', 'write the dataset there: .csv, or .jsonl')
    .option('--dataset <name>', 'the dataset that -o writes, where there are several')
    .option('--excel', 'write the CSV for spreadsheets: with BOM, nothing that they would execute')
    .option('--limit <n>', 'take the first n rows of every file', count)
    .option('--encoding <name>', 'the text encoding of CSV files, such as windows-1252; found out by default')
    .option('--max-credits <n>', 'the most that the run may cost', credits)
    .option('--concurrency <n>', 'rows in flight at once', count)
    .option('--refresh [tools]', 'buy answers anew: of all read tools, or --refresh=tool,tool of those', refreshed)
    .addOption(new Option('--fixtures <dir>', 'answer calls from recorded files only').conflicts(['record', 'refresh']))
    .option('--record <dir>', 'also write every answer that is bought to this folder, for --fixtures')
    .option('--idempotency-key <key>', 'the same key starts one run, however often it is asked for', text)
    .option('--yes', 'spend without asking')
    .option('--no-progress', 'no live view')
    .addOption(
      new Option('--detach', "leave it to 'callsheet worker', and end at once").conflicts(['fixtures', 'record']),
    );
}
