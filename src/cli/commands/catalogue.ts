import type { EvictFlags, ReceiptListFlags, ReceiptShowFlags } from '../actions/receipts.ts';
import type { ToolCallFlags } from '../actions/tools.ts';
import { type Declaring, declare } from '../invocation.ts';
import { collected, count, credits } from '../option-values.ts';

export function declareCatalogue(parts: Declaring): void {
  declareTools(parts);
  declareReceipts(parts);
  declareSecrets(parts);
}

function declareTools(parts: Declaring): void {
  const parent = parts.program.command('tools').description('the tools of the workspace');
  const actions = () => import('../actions/tools.ts');
  declare(
    parts,
    { parent, usage: 'list', summary: 'every tool, with effect and cost', examples: ['callsheet tools list'] },
    async () => (await actions()).toolsList,
  );
  declare(
    parts,
    {
      parent,
      usage: 'describe <id>',
      summary: 'input, output, cost, limits and secrets of a tool',
      examples: ['callsheet tools describe hunter.email_finder --json'],
    },
    async () => (await actions()).toolsDescribe,
  );
  declare<ToolCallFlags>(
    parts,
    {
      parent,
      usage: 'call <id>',
      summary: 'call a tool once; leaves a receipt like any other call',
      examples: [`callsheet tools call clearbit.company --input '{"domain":"example.com"}'`],
    },
    async () => (await actions()).toolsCall,
  )
    .option('--input <json>', 'the input: JSON, @file, or - for stdin')
    .option('--set <name=value>', 'one field of the input; may be repeated', collected)
    .option('--max-credits <n>', 'the most that the call may cost', credits)
    .option('--refresh', 'buy a new answer even where a receipt has one')
    .option('--yes', 'spend without asking');
}

function declareReceipts(parts: Declaring): void {
  const parent = parts.program.command('receipts').description('answers that were bought, and are reused');
  const actions = () => import('../actions/receipts.ts');
  declare<ReceiptListFlags>(
    parts,
    {
      parent,
      usage: 'list',
      summary: 'receipts, oldest first',
      examples: ['callsheet receipts list', 'callsheet receipts list --tool hunter.email_finder --older-than 30d'],
    },
    async () => (await actions()).receiptsList,
  )
    .option('--tool <id>', 'of one tool')
    .option('--limit <n>', 'how many; 50 by default', count)
    .option('--older-than <duration>', 'bought longer ago than that, such as 30d')
    .option('--cursor <cursor>', 'go on where an earlier page ended (its nextCursor)');
  declare<ReceiptShowFlags>(
    parts,
    {
      parent,
      usage: 'show <id>',
      summary: 'one receipt: question, answer, age, where it was bought',
      examples: ['callsheet receipts show rcp_12', 'callsheet receipts show rcp_12 --raw'],
    },
    async () => (await actions()).receiptsShow,
  ).option('--raw', "print the provider's answer as it was kept");
  declare<EvictFlags>(
    parts,
    {
      parent,
      usage: 'evict [id]',
      summary: 'end the reuse of receipts; the bytes stay while a run points at them',
      examples: [
        'callsheet receipts evict rcp_12',
        'callsheet receipts evict --tool hunter.email_finder --older-than 30d --yes',
      ],
    },
    async () => (await actions()).receiptsEvict,
  )
    .option('--key <key>', 'the receipts of one question')
    .option('--tool <id>', 'the receipts of one tool')
    .option('--older-than <duration>', 'bought longer ago than that, such as 30d')
    .option('--yes', 'evict without asking');
}

function declareSecrets(parts: Declaring): void {
  const parent = parts.program.command('secrets').description('credentials; their values are never printed');
  const actions = () => import('../actions/secrets.ts');
  declare(
    parts,
    {
      parent,
      usage: 'set <name>',
      summary: 'keep a secret in the encrypted file; the value is asked for, or read from stdin',
      examples: ['callsheet secrets set HUNTER_API_KEY', 'callsheet secrets set HUNTER_API_KEY < key.txt'],
    },
    async () => (await actions()).secretsSet,
  );
  declare(
    parts,
    {
      parent,
      usage: 'list',
      summary: 'names, whether they are set, and where',
      examples: ['callsheet secrets list --json'],
    },
    async () => (await actions()).secretsList,
  );
  declare(
    parts,
    {
      parent,
      usage: 'delete <name>',
      summary: 'remove a secret from the encrypted file',
      examples: ['callsheet secrets delete HUNTER_API_KEY'],
    },
    async () => (await actions()).secretsDelete,
  );
}
