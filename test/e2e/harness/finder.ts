import type { Files } from './folders.ts';

export interface FinderParts {
  /** More fields of the tool, or other ones. */
  readonly tool?: string;
  /** Fields of `providers.hunter` in the config. */
  readonly hunter?: string;
  /** Fields of the config. */
  readonly config?: string;
}

/** A workspace of one tool and one play: the e-mail of each person of `people.csv`. */
export function finderFiles(people: string, parts: FinderParts = {}): Files {
  return {
    'callsheet.config.ts': configText(parts),
    'tools/finder.ts': toolText(parts.tool),
    'find.play.ts': playText(),
    'people.csv': people,
  };
}

export function configText({ hunter = `mode: 'sandbox'`, config = '' }: FinderParts = {}): string {
  return `import { defineConfig } from 'callsheet';
export default defineConfig({ confirmAbove: 1_000_000, providers: { hunter: { ${hunter} } }, ${config} });
`;
}

const RESPONSE = `response: ({ json }) => (json?.data?.email ? { status: 'completed', data: json.data } : { status: 'no_result' })`;
const EXTRACT = `extract: { email: 'data.email' }`;

export function toolText(more = '', { response = RESPONSE, extract = EXTRACT } = {}): string {
  return `import { defineTool } from 'callsheet';
const text = { type: 'string', minLength: 1 };
export const finder = defineTool<{ first_name: string; last_name: string; domain: string }>({
  id: 'hunter.email_finder',
  effect: 'read',
  input: {
    type: 'object',
    properties: { first_name: text, last_name: text, domain: text },
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
  ${response},
  ${extract},
  cost: { credits: 1, per: 'result' },
  idempotency: { header: 'Idempotency-Key' },
  ${more}
});
`;
}

export function playText({ name = 'find', key = `'n'`, column = 'email' } = {}): string {
  return `import { definePlay } from 'callsheet';
export default definePlay('${name}', async (ctx, input: { csv: string }) => {
  const people = await ctx.csv<Record<string, string>>(input.csv, { required: ['first_name', 'last_name', 'domain'] });
  const rows = await ctx
    .dataset('people', people)
    .withColumn('${column}', async (row, ctx) => {
      const { first_name = '', last_name = '', domain = '' } = row;
      const input = { first_name, last_name, domain };
      return (await ctx.tools.execute({ id: 'find', tool: 'hunter.email_finder', input })).values.email as string | null;
    })
    .run({ key: ${key} });
  return { rows };
});
`;
}

/**
 * A CSV of so many people, each with a number of its own. With \`twice\`, every so manieth row asks what the row before
 * it asks.
 */
export function peopleCsv(rows: number, { twice = 0 } = {}): string {
  const lines = Array.from({ length: rows }, (_, row) => {
    const asked = twice > 0 && row % twice === twice - 1 ? row - 1 : row;
    return `${row},Given${asked},Ashvale,stripe.com`;
  });
  return `n,first_name,last_name,domain\n${lines.join('\n')}\n`;
}
