import type { Command } from 'commander';
import type { CancelFlags } from '../actions/runs-cancel.ts';
import type { EventsFlags } from '../actions/runs-events.ts';
import type { ExportFlags } from '../actions/runs-export.ts';
import type { ListFlags } from '../actions/runs-list.ts';
import type { RerunFlags } from '../actions/runs-rerun.ts';
import type { ResolveFlags } from '../actions/runs-resolve.ts';
import type { ResumeFlags } from '../actions/runs-resume.ts';
import type { ShowFlags } from '../actions/runs-show.ts';
import type { WhyFlags } from '../actions/why.ts';
import { type Declaring, declare } from '../invocation.ts';
import { collected, count, credits, oneOf, refreshed, text } from '../option-values.ts';

/** `<id>`: an id, its beginning or its end where only one run has it, or `last`. */
export function declareRuns(parts: Declaring): void {
  const parent = parts.program
    .command('runs')
    .description(
      "what was run: <id> is a run's id, the beginning or end of one, or 'last' (the newest that you started)",
    );
  declareLooking(parts, parent);
  declareStreams(parts, parent);
  declareRerun(parts, parent);
  declareActing(parts, parent);
  declareResolve(parts, parent);
  declare<WhyFlags>(
    parts,
    {
      parent: parts.program,
      usage: 'why <run>',
      summary:
        'where the values of a row came from, or why there are none; without --row, the calls that are in no cell',
      examples: [
        "callsheet why last --row '#1'",
        "callsheet why last --row 'Ada,Lovelace,example.com' --column email",
        'callsheet why last',
      ],
    },
    async () => (await import('../actions/why.ts')).why,
  )
    .option('--row <key>', "the row's key, or its number such as #1", text)
    .option('--column <name>', 'one column of the row only')
    .option('--dataset <name>', "the row's dataset, where there are several")
    .option('--limit <n>', 'without --row: how many calls; 50 by default', count)
    .option('--cursor <cursor>', 'without --row: go on where an earlier page ended (its nextCursor)');
}

function declareLooking(parts: Declaring, parent: Command): void {
  declare<ListFlags>(
    parts,
    { parent, usage: 'list', summary: 'runs, newest first', examples: ['callsheet runs list --limit 5'] },
    async () => (await import('../actions/runs-list.ts')).runsList,
  )
    .option('--limit <n>', 'how many; 20 by default', count)
    .option('--cursor <cursor>', 'go on where an earlier page ended (its nextCursor)');
  declare<ShowFlags>(
    parts,
    {
      parent,
      usage: 'show <id>',
      summary: 'how a run stands: rows, calls, credits, result',
      examples: ['callsheet runs show last', 'callsheet runs show last --json', 'callsheet runs show last --timings'],
    },
    async () => (await import('../actions/runs-show.ts')).runsShow,
  ).option('--timings', "where its calls' time went: queue, pace, provider, record, deliver, by tool");
  declare(
    parts,
    {
      parent,
      usage: 'errors <id>',
      summary: 'failed rows grouped by cause, with what mends each group',
      examples: ['callsheet runs errors last'],
    },
    async () => (await import('../actions/runs-errors.ts')).runsErrors,
  );
}

function declareStreams(parts: Declaring, parent: Command): void {
  declare(
    parts,
    {
      parent,
      usage: 'watch <id>',
      summary: "follow a run until it ends, also another process's",
      examples: ['callsheet runs watch last'],
    },
    async () => (await import('../actions/runs-watch.ts')).runsWatch,
  );
  declare(
    parts,
    { parent, usage: 'logs <id>', summary: 'what the play logged', examples: ['callsheet runs logs last'] },
    async () => (await import('../actions/runs-events.ts')).runsLogs,
  );
  declare<EventsFlags>(
    parts,
    {
      parent,
      usage: 'events <id>',
      summary: 'everything that is recorded as having happened',
      examples: ['callsheet runs events last --json', 'callsheet runs events last --type csv.report'],
    },
    async () => (await import('../actions/runs-events.ts')).runsEvents,
  ).option('--type <type>', 'events of one type only');
}

function declareRerun(parts: Declaring, parent: Command): void {
  declare<RerunFlags>(
    parts,
    {
      parent,
      usage: 'rerun <id>',
      summary:
        'a new run over the same rows: all, or those chosen; what the source run was answered is not bought again',
      examples: [
        'callsheet runs rerun last --failed -o out.csv',
        'callsheet runs rerun last --empty email --refresh=hunter.email_finder',
        "callsheet runs rerun last --rows 'a@example.com,b@example.com'",
        'callsheet runs rerun last --column score --code score.play.ts',
      ],
    },
    async () => (await import('../actions/runs-rerun.ts')).runsRerun,
  )
    .option('--failed', 'rows that failed')
    .option('--empty <column>', 'rows whose cell of this column is empty', text)
    .option('--rows <keys>', "rows with these keys, or numbers such as '#17,#20'; may be repeated", collected)
    .option('--column <name>', 'only this column and those after it', text)
    .option('--refresh [tools]', 'buy answers anew: of all read tools, or --refresh=tool,tool of those', refreshed)
    .option('--code <file>', 'run the code of now (file, or file#export) instead of that of the source run', text)
    .option('--resend', 'send writes again that code or answers ask for in another place or form')
    .option('-o, --output <file>', 'write the dataset there: .csv, or .jsonl')
    .option('--dataset <name>', 'the dataset that -o writes, where there are several')
    .option('--excel', 'write the CSV for spreadsheets')
    .option('--max-credits <n>', 'the most that the rerun may cost', credits)
    .option('--concurrency <n>', 'rows in flight at once', count)
    .option('--fixtures <dir>', 'the recorded files, for a run that was started with them')
    .option('--yes', 'spend, and do writes again that --refresh names, without asking')
    .option('--no-progress', 'no live view');
}

function declareActing(parts: Declaring, parent: Command): void {
  declare<ExportFlags>(
    parts,
    {
      parent,
      usage: 'export <id>',
      summary: 'write a dataset of any run, finished or not; to stdout without -o',
      examples: [
        'callsheet runs export last -o out.csv',
        'callsheet runs export last --dataset leads --rows failed --provenance -o failed.jsonl',
      ],
    },
    async () => (await import('../actions/runs-export.ts')).runsExport,
  )
    .option('--dataset <name>', 'the dataset, where there are several')
    .option('-o, --output <file>', 'a .csv or .jsonl file')
    .option('--provenance', 'with where each value came from')
    .option('--rows <which>', 'all (default), completed or failed', oneOf(['all', 'completed', 'failed']))
    .option('--excel', 'for spreadsheets: with BOM, nothing that they would execute');
  declare<ResumeFlags>(
    parts,
    {
      parent,
      usage: 'resume <id>',
      summary: 'go on with an interrupted or failed run; nothing that is recorded is bought again',
      examples: [
        'callsheet runs resume last -o out.csv',
        'callsheet runs resume last --retry-failed --max-credits 200',
      ],
    },
    async () => (await import('../actions/runs-resume.ts')).runsResume,
  )
    .option('-o, --output <file>', 'write the dataset there: .csv, or .jsonl')
    .option('--dataset <name>', 'the dataset that -o writes, where there are several')
    .option('--excel', 'write the CSV for spreadsheets')
    .option('--max-credits <n>', 'the most that the run may cost in all', credits)
    .option('--concurrency <n>', 'rows in flight at once', count)
    .option('--retry-failed', 'try failed rows again, too')
    .option('--code <file>', 'go on under the code of now (file, or file#export) instead of that of the start', text)
    .option(
      '--resend',
      'send writes again that changed code asks for in another place, or that another run of these rows has made',
    )
    .option('--fixtures <dir>', 'the recorded files, for a run that was started with them')
    .option('--yes', 'never ask (a resumed run was confirmed when it started)')
    .option('--no-progress', 'no live view');
  declare<CancelFlags>(
    parts,
    {
      parent,
      usage: 'cancel <id>',
      summary: 'no new calls within about a second; what is in flight is recorded, and finished rows stay',
      examples: ['callsheet runs cancel last', 'callsheet runs cancel last --tree'],
    },
    async () => (await import('../actions/runs-cancel.ts')).runsCancel,
  ).option('--tree', 'also the runs that it started, and those that they did; none that they start later makes a call');
}

function declareResolve(parts: Declaring, parent: Command): void {
  declare<ResolveFlags>(
    parts,
    {
      parent,
      usage: 'resolve <id> <call>',
      summary: 'say whether a write that is in doubt was done; <call> is its id, or the beginning of it',
      examples: [
        'callsheet runs errors last   (lists what is in doubt)',
        'callsheet runs resolve last 7fQx --as not-done',
        `callsheet runs resolve last 7fQx --as done --data '{"id":"msg_1"}'`,
      ],
    },
    async () => (await import('../actions/runs-resolve.ts')).runsResolve,
  )
    .requiredOption('--as <what>', 'done, or not-done', oneOf(['done', 'not-done']))
    .option(
      '--data <json>',
      "with --as done: what the provider answered, as the call's result; null where the play does without",
    )
    // A call's id may begin with a dash.
    .allowUnknownOption();
}
