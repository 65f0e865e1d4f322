import { mkdirSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { defineTool, type Tool } from '../src/sdk/index.ts';

/** What is measured: a play with one column, and a tool of a few microseconds that stands for a provider. */

export type Source = 'iterable' | 'csv';

export interface Subject {
  readonly source: Source;
  readonly rows: number;
  /** Of every hundred rows, so many repeat the key of an earlier one. */
  readonly repeatedPercent: number;
  /** About how many bytes a row has. */
  readonly rowBytes: number;
}

interface Question {
  readonly name: string;
  readonly domain: string;
}

/** `called` is told of every call that is really made. */
export function benchTool(called: (input: Question) => void): Tool {
  return defineTool<Question>({
    id: 'bench.find_email',
    effect: 'read',
    input: {
      type: 'object',
      properties: { name: { type: 'string', minLength: 1 }, domain: { type: 'string', minLength: 3 } },
      required: ['name', 'domain'],
      additionalProperties: false,
    },
    extract: { email: 'data.email' },
    cost: { credits: 1, per: 'result' },
    run: async (input) => {
      called(input);
      return { email: `${input.name}@${input.domain}`.toLowerCase(), confidence: 0.93, sources: ['web', 'crm'] };
    },
  });
}

const COLUMN = `async (row, ctx) => {
    const found = await ctx.tools.execute({
      id: 'find',
      tool: 'bench.find_email',
      input: { name: row.name, domain: row.domain },
    });
    return found.values.email;
  }`;

const ROW = `function row(no) {
  return { id: String(no), name: 'person' + no, domain: 'company' + (no % 5000) + '.example', note: NOTE };
}`;

function noteOf(subject: Subject): string {
  return 'n'.repeat(Math.max(0, subject.rowBytes - 80));
}

/** Writes the play, and for 'csv' its input, into a folder that becomes the workspace. */
export async function writeSubject(dir: string, subject: Subject): Promise<void> {
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'callsheet.config.mjs'), 'export default {};\n');
  writeFileSync(join(dir, 'bench.play.mjs'), subject.source === 'csv' ? CSV_PLAY : iterablePlay(subject));
  if (subject.source === 'csv') await writeCsv(join(dir, 'leads.csv'), subject);
}

const CSV_PLAY = `import { definePlay } from 'callsheet';

export default definePlay('bench', async (ctx, input) => {
  const leads = await ctx.csv(input.csv);
  const rows = await ctx.dataset('leads', leads).withColumn('email', ${COLUMN}).run({ key: 'id' });
  return { rows };
});
`;

function iterablePlay(subject: Subject): string {
  return `import { definePlay } from 'callsheet';

const NOTE = ${JSON.stringify(noteOf(subject))};
${ROW}
function* leads(count) {
  for (let no = 0; no < count; no++) yield row(no % 10 < ${subject.repeatedPercent / 10} && no > 100 ? no - 100 : no);
}

export default definePlay('bench', async (ctx) => {
  const rows = await ctx.dataset('leads', leads(${subject.rows})).withColumn('email', ${COLUMN}).run({ key: 'id' });
  return { rows };
});
`;
}

async function writeCsv(path: string, subject: Subject): Promise<void> {
  const note = noteOf(subject);
  const file = await open(path, 'w');
  let text = 'id,name,domain,note\n';
  for (let at = 0; at < subject.rows; at++) {
    const no = at % 10 < subject.repeatedPercent / 10 && at > 100 ? at - 100 : at;
    text += `${no},person${no},company${no % 5000}.example,${note}\n`;
    if (text.length < 1_000_000) continue;
    await file.appendFile(text);
    text = '';
  }
  await file.appendFile(text);
  await file.close();
}
