import { mkdirSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { defineTool, type ProviderLimits, type Tool } from '../src/sdk/index.ts';

/** What is measured: a play with one column that asks one tool once a row. */
export interface Subject {
  readonly source: 'iterable' | 'csv';
  readonly rows: number;
  /** About how many bytes a row has. */
  readonly rowBytes: number;
  /** Of every hundred rows, so many repeat the key of an earlier one. */
  readonly repeatedPercent: number;
  readonly tool: 'function' | 'http';
}

export const SMALL_ROWS = { rowBytes: 80, repeatedPercent: 0, tool: 'function' } as const;

interface Question {
  readonly first_name: string;
  readonly last_name: string;
  readonly domain: string;
}

const INPUT = {
  type: 'object',
  properties: {
    first_name: { type: 'string', minLength: 1 },
    last_name: { type: 'string', minLength: 1 },
    domain: { type: 'string', minLength: 3 },
  },
  required: ['first_name', 'last_name', 'domain'],
  additionalProperties: false,
};

/** A function of a few microseconds that stands for a provider; `called` is told of every call that is really made. */
export function functionTool(called: () => void): Tool {
  return defineTool<Question>({
    id: 'bench.function',
    effect: 'read',
    input: INPUT,
    extract: { email: 'data.email' },
    cost: { credits: 1, per: 'result' },
    run: async ({ first_name, last_name, domain }) => {
      called();
      return { email: `${first_name}.${last_name}@${domain}`, score: 93, sources: ['web', 'crm'] };
    },
  });
}

/** The sandbox's e-mail finder. */
export function httpTool(limits: ProviderLimits): Tool {
  return defineTool<Question>({
    id: 'bench.http',
    provider: 'hunter',
    effect: 'read',
    input: INPUT,
    secrets: ['HUNTER_API_KEY'],
    noResult: [404],
    request: ({ input, secret }) => ({
      url: 'https://api.hunter.io/v2/email-finder',
      query: { ...input },
      headers: { authorization: `Bearer ${secret('HUNTER_API_KEY')}` },
    }),
    response: ({ json }) => (json?.data?.email ? { status: 'completed', data: json.data } : { status: 'no_result' }),
    extract: { email: 'data.email' },
    cost: { credits: 1, per: 'result' },
    limits,
  });
}

/** Writes config, play and, for 'csv', the input into a folder that becomes the workspace. */
export async function writeSubject(dir: string, subject: Subject): Promise<void> {
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'callsheet.config.mjs'), "export default { providers: { hunter: { mode: 'sandbox' } } };\n");
  writeFileSync(join(dir, 'bench.play.mjs'), playText(subject));
  if (subject.source === 'csv') await writeCsv(join(dir, 'leads.csv'), subject);
}

function playText(subject: Subject): string {
  const leads = subject.source === 'csv' ? 'await ctx.csv(input.csv)' : `leads(${subject.rows})`;
  return `import { definePlay } from 'callsheet';

const NOTE = ${JSON.stringify(noteOf(subject))};
function* leads(rows) {
  for (let at = 0; at < rows; at++) {
    const no = at % 100 < ${subject.repeatedPercent} && at >= 100 ? at - 50 : at;
    yield { id: 'id' + no, first_name: 'person' + no, last_name: 'Ashvale', domain: 'company' + (no % 5000) + '.example', note: NOTE };
  }
}

export default definePlay('bench', async (ctx, input) => {
  const rows = await ctx
    .dataset('leads', ${leads})
    .withColumn('email', async ({ first_name, last_name, domain }, ctx) => {
      const found = await ctx.tools.execute({ id: 'find', tool: 'bench.${subject.tool}', input: { first_name, last_name, domain } });
      return found.values.email;
    })
    .run({ key: 'id' });
  return { rows };
});
`;
}

function noteOf({ rowBytes }: Subject): string {
  return 'n'.repeat(Math.max(0, rowBytes - 60));
}

async function writeCsv(path: string, subject: Subject): Promise<void> {
  const note = noteOf(subject);
  const file = await open(path, 'w');
  let text = 'id,first_name,last_name,domain,note\n';
  for (let at = 0; at < subject.rows; at++) {
    const no = at % 100 < subject.repeatedPercent && at >= 100 ? at - 50 : at;
    text += `id${no},person${no},Ashvale,company${no % 5000}.example,${note}\n`;
    if (text.length < 1_000_000) continue;
    await file.appendFile(text);
    text = '';
  }
  await file.appendFile(text);
  await file.close();
}
