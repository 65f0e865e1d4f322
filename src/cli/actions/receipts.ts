import { receiptsList as listed, receiptById, receiptNumber } from '../../report/index.ts';
import { CallsheetError, type JsonValue } from '../../sdk/index.ts';
import { evictReceipts, receiptsToEvict, reportSource, type Workspace } from '../../workspace/index.ts';
import { saysYes } from '../confirm.ts';
import type { Invocation } from '../invocation.ts';
import { counted, shownValue, tableLines } from '../table.ts';
import { typedDuration } from '../usage-error.ts';
import { withRecords } from '../with-workspace.ts';

export interface ReceiptListFlags {
  readonly tool?: string;
  readonly limit?: number;
  /** A duration. */
  readonly olderThan?: string;
  readonly cursor?: string;
}

/** `receipts list`. */
export async function receiptsList(call: Invocation<ReceiptListFlags>): Promise<number> {
  const { terminal, flags } = call;
  return withRecords(call, async (workspace) => {
    const { tool, limit = 50, olderThan, cursor } = flags;
    const before = instantBefore(workspace, olderThan);
    const page = await listed(reportSource(workspace), { tool, before, limit, cursor });
    if (terminal.json) {
      await terminal.document(page);
      return 0;
    }
    const rows = page.receipts.map(({ id, at, tool: of, account, evictedAt, input }) => [
      id,
      at,
      of,
      account,
      evictedAt === null ? '' : 'evicted',
      shownValue(input),
    ]);
    for (const line of tableLines(['receipt', 'at', 'tool', 'account', '', 'input'], rows)) await terminal.line(line);
    if (page.nextCursor !== null) terminal.note(`More: callsheet receipts list --cursor ${page.nextCursor}`);
    return 0;
  });
}

export interface ReceiptShowFlags {
  readonly raw?: boolean;
}

/** `receipts show`. */
export async function receiptsShow(call: Invocation<ReceiptShowFlags>): Promise<number> {
  const { terminal, args, flags } = call;
  return withRecords(call, async (workspace) => {
    const { receipt, raw, run, partOf } = await receiptById(reportSource(workspace), args[0] ?? '');
    const answer = JSON.parse(raw) as JsonValue;
    const also = { run, ...(partOf !== null && { partOf }) };
    if (terminal.json) await terminal.document({ receipt, ...also, ...(flags.raw === true && { raw: answer }) });
    else if (flags.raw === true) await terminal.line(JSON.stringify(answer, null, 2));
    else {
      for (const [name, value] of Object.entries({ ...receipt, ...also }))
        await terminal.line(`${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`);
      terminal.note(`The answer: callsheet receipts show ${receipt.id} --raw`);
    }
    return 0;
  });
}

export interface EvictFlags {
  readonly key?: string;
  readonly tool?: string;
  /** A duration. */
  readonly olderThan?: string;
  readonly yes?: boolean;
}

/** `receipts evict`: ends the reuse of receipts. */
export async function receiptsEvict(call: Invocation<EvictFlags>): Promise<number> {
  const { terminal, args, flags } = call;
  const [name] = args;
  const { key, tool, olderThan } = flags;
  const conditions = [key, tool, olderThan].filter((one) => one !== undefined);
  if ((name === undefined) === (conditions.length === 0))
    throw new CallsheetError('USAGE', 'Name either one receipt, or --key, --tool or --older-than.', {
      next: ['callsheet receipts evict --help'],
    });
  return withRecords(call, async (workspace) => {
    const before = instantBefore(workspace, olderThan);
    if (name !== undefined) await receiptById(reportSource(workspace), name);
    const id = name === undefined ? undefined : receiptNumber(name);
    const ids = await receiptsToEvict(workspace.store, { id, key, tool, before });
    if (ids.length > 0 && flags.yes !== true) await confirmed(call, ids.length);
    await evictReceipts(workspace, ids);
    if (terminal.json) await terminal.document({ evicted: ids.length });
    else
      terminal.note(
        `Evicted ${counted(ids.length, 'receipt')}: their questions are bought anew when they are asked again.`,
      );
    return 0;
  });
}

function instantBefore({ clock }: Workspace, olderThan: string | undefined): number | undefined {
  return olderThan === undefined ? undefined : clock.now() - typedDuration('--older-than', olderThan);
}

/** Evicting costs money later, so many at once are asked about; one that is named was meant. */
async function confirmed({ terminal, args }: Invocation<EvictFlags>, count: number): Promise<void> {
  if (args[0] !== undefined) return;
  if (terminal.interactive && !terminal.json) if (await saysYes(`Evict ${counted(count, 'receipt')}? [y/N] `)) return;
  throw new CallsheetError(
    'CONFIRMATION_NEEDED',
    `${counted(count, 'receipt')} would be evicted, and nobody confirmed it.`,
    {
      details: { receipts: count },
      next: ['Add --yes to evict them.'],
    },
  );
}
