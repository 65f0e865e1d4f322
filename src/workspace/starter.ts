import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CallsheetError } from '../sdk/index.ts';

interface StarterFile {
  /** Relative to the workspace. */
  readonly path: string;
  readonly text: string;
}

/** What a new workspace starts with: it runs without a key, since its provider is answered by the sandbox. */
const STARTER_FILES: readonly StarterFile[] = [
  { path: 'callsheet.config.ts', text: configText() },
  { path: 'tools/email-finder.ts', text: toolText() },
  { path: 'find-email.play.ts', text: playText() },
  { path: 'leads.csv', text: leadsText() },
  { path: '.gitignore', text: '.callsheet/\n.env\nnode_modules/\nout.csv\n' },
];

/** Writes the starter files. Throws WORKSPACE_EXISTS, and writes nothing, where one of them is there already. */
export async function writeStarter(dir: string): Promise<readonly string[]> {
  const there = STARTER_FILES.map((file) => file.path).filter((path) => existsSync(join(dir, path)));
  if (there.length > 0) throw existing(dir, there);
  const made: string[] = [];
  for (const file of STARTER_FILES) {
    const path = join(dir, file.path);
    try {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, file.text, { flag: 'wx' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw existing(dir, [file.path]);
      throw notWritable(path, error);
    }
    made.push(file.path);
  }
  return made;
}

function existing(dir: string, files: readonly string[]): CallsheetError {
  return new CallsheetError(
    'WORKSPACE_EXISTS',
    `${dir} has ${files.length === 1 ? 'a file' : 'files'} that init would write: ${files.join(', ')}. Nothing was written.`,
    {
      details: { dir, files },
      next: ['callsheet init <another folder>', 'Or remove the files that are named.'],
    },
  );
}

function notWritable(path: string, error: unknown): CallsheetError {
  const cause = (error as NodeJS.ErrnoException).code ?? String(error);
  return new CallsheetError('OUTPUT_NOT_WRITABLE', `${path} cannot be written: ${cause}.`, {
    details: { path, cause },
    next: ['Check permissions, or choose another folder.'],
    cause: error,
  });
}

function configText(): string {
  return `import { defineConfig } from 'callsheet';

export default defineConfig({
  // A run that may cost more credits than this is asked about first.
  confirmAbove: 100,
  providers: {
    // Answered by the local sandbox: no key, no cost. Take this line out, and set HUNTER_API_KEY, to go live.
    hunter: { mode: 'sandbox' },
  },
});
`;
}

function toolText(): string {
  return `import { defineTool } from 'callsheet';

export const emailFinder = defineTool<{ first_name: string; last_name: string; domain: string }>({
  id: 'hunter.email_finder',
  description: 'The work e-mail of a person at a domain; 1 credit where there is one',
  effect: 'read',
  input: {
    type: 'object',
    properties: {
      first_name: { type: 'string', minLength: 1 },
      last_name: { type: 'string', minLength: 1 },
      domain: { type: 'string', minLength: 3 },
    },
    required: ['first_name', 'last_name', 'domain'],
    additionalProperties: false,
  },
  secrets: ['HUNTER_API_KEY'],
  noResult: [404],
  request: ({ input, secret }) => ({
    url: 'https://api.hunter.io/v2/email-finder',
    query: { ...input },
    headers: { authorization: \`Bearer \${secret('HUNTER_API_KEY')}\` },
  }),
  response: ({ json }) => (json?.data?.email ? { status: 'completed', data: json.data } : { status: 'no_result' }),
  extract: { email: 'data.email' },
  cost: { credits: 1, per: 'result' },
  limits: { rate: [{ calls: 10, per: '1s' }] },
  reuse: { scope: 'workspace', staleAfterSeconds: 90 * 86_400 },
});
`;
}

function playText(): string {
  return `import { definePlay } from 'callsheet';

interface Lead {
  first_name: string;
  last_name: string;
  company: string;
  domain: string;
}

export default definePlay('find-email', async (ctx, input: { csv: string }) => {
  const leads = await ctx.csv<Lead>(input.csv, { required: ['first_name', 'last_name', 'domain'] });
  const rows = await ctx
    .dataset('leads', leads)
    .withColumn('email', async (row, ctx) => {
      const { first_name, last_name, domain } = row;
      const found = await ctx.tools.execute({
        id: 'find',
        tool: 'hunter.email_finder',
        input: { first_name, last_name, domain },
      });
      return found.values.email as string | null;
    })
    .run({ key: ['first_name', 'last_name', 'domain'], description: 'Work e-mails of the leads' });
  return { rows, count: await rows.count() };
});
`;
}

/** Real companies and their domains; the persons are invented. */
function leadsText(): string {
  const leads = [
    'Linnea,Birkenstrand,Supabase,supabase.com',
    'Rune,Zimmerwald,Morgan Stanley,morganstanley.com',
    'Linnea,Quarrington,TSMC,tsmc.com',
    'Nadia,Mossgrave,Etsy,etsy.com',
    'Rune,Kestrelby,Box,box.com',
    'Anouk,Ironvale,Accenture,accenture.com',
    'Carmen,Hartenmoor,Intercom,intercom.com',
    'Samira,Karstenvold,BHP,bhp.com',
    "Lucía,O'Brannoch,Arm,arm.com",
    'Rafael,Birkenstrand,Darktrace,darktrace.com',
    'Ulla,Larkenfield,Qonto,qonto.com',
    'Oskar,Glanzmühl,Red Bull,redbull.com',
    'Ivo,Marrowbridge,Trendyol,trendyol.com',
    'Rafael,Jorunholm,Sentry,sentry.io',
    'Paula,Pinewarden,Volvo Cars,volvocars.com',
    'Zeynep,Hollinmere,Heineken,theheinekencompany.com',
    'Tariq,Umberfield,Fast Retailing,fastretailing.com',
    'Liam,Greywater,Expedia,expedia.com',
    'Mei,Castellarín,Nintendo,nintendo.com',
    'Beatriz,Larkenfield,Deel,deel.com',
  ];
  return ['first_name,last_name,company,domain', ...leads, ''].join('\n');
}
