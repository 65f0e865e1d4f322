import { runReport } from '../../report/index.ts';
import { schemaAsJson } from '../../scope/index.ts';
import type { JsonValue } from '../../sdk/index.ts';
import { BUILTIN_TOOL_IDS, newRun, reportSource, toolCallRun, type Workspace } from '../../workspace/index.ts';
import { attend } from '../attend.ts';
import { askBeforeSpending, confirmAbove } from '../confirm.ts';
import type { Invocation } from '../invocation.ts';
import { inputOf } from '../run-input.ts';
import { counted, shownNumber, tableLines } from '../table.ts';
import { withWorkspace } from '../with-workspace.ts';
import { errorOf, finishRun } from '../work-on.ts';

type Tool = ReturnType<Workspace['catalogue']['get']>;

/** `tools list`. */
export async function toolsList(call: Invocation<Record<never, never>>): Promise<number> {
  const { terminal } = call;
  return withWorkspace(call, async ({ catalogue }) => {
    const tools = catalogue.list();
    if (terminal.json) {
      await terminal.document({ tools: tools.map(briefJson) });
      return 0;
    }
    const rows = tools.map((tool) => [tool.id, effectText(tool), costText(tool), tool.account.key, tool.description]);
    for (const line of tableLines(['tool', 'effect', 'cost', 'account', 'description'], rows))
      await terminal.line(line);
    if (tools.every(({ id }) => BUILTIN_TOOL_IDS.includes(id)))
      terminal.note('No tool of your own yet: export one from a file in tools/, or list it in the config.');
    return 0;
  });
}

/** `tools describe`. */
export async function toolsDescribe(call: Invocation<Record<never, never>>): Promise<number> {
  const { terminal, args } = call;
  return withWorkspace(call, async ({ catalogue, secrets }) => {
    const tool = catalogue.get(args[0] ?? '');
    const { definition } = tool;
    const described = {
      ...briefJson(tool),
      input: schemaAsJson(definition.input, 'input') ?? null,
      output: definition.output === undefined ? null : (schemaAsJson(definition.output, 'output') ?? null),
      extract: Object.keys(definition.extract ?? {}),
      limits: tool.account.limits,
      secrets: tool.secrets.map((name) => ({ name, set: secrets.read(name) !== undefined })),
      idempotencyKey: tool.sendsIdempotencyKey,
      reuse: { scope: tool.reuseScope, staleAfterSeconds: tool.staleAfterSeconds ?? null },
      batch: batchJson(tool),
      job: jobJson(tool),
      timeoutMs: tool.timeoutMs,
      maxTries: tool.maxTries,
    };
    if (terminal.json) await terminal.document(described);
    else for (const [name, value] of Object.entries(described)) await terminal.line(`${name}: ${lineOf(value)}`);
    return 0;
  });
}

export interface ToolCallFlags {
  readonly input?: string;
  readonly set?: readonly string[];
  readonly maxCredits?: number;
  readonly refresh?: boolean;
  readonly yes?: boolean;
}

/** `tools call`: one call, as a run of its own. */
export async function toolsCall(call: Invocation<ToolCallFlags>): Promise<number> {
  const { terminal, args, flags } = call;
  const input = await inputOf(terminal, flags);
  return withWorkspace(call, async (workspace) => {
    const { maxCredits, refresh } = flags;
    const order = await toolCallRun(workspace, { tool: args[0] ?? '', input, cwd: terminal.cwd, maxCredits, refresh });
    const tool = workspace.catalogue.get(args[0] ?? '');
    if (flags.yes !== true && maxCredits === undefined)
      await askBeforeSpending(terminal, {
        most: () => Promise.resolve(tool.maxCredits),
        confirmAbove: confirmAbove(workspace.config),
      });
    const { run } = await newRun(workspace, order);
    const attended = await attend(terminal, workspace, { run, progress: false });
    const { outcome } = attended;
    if (outcome.kind === 'suspended') return finishRun(terminal, workspace, { runId: run.id, output: {}, attended });
    const report = await runReport(reportSource(workspace), run);
    const error = errorOf(outcome, report);
    if (error !== undefined) throw error;
    return told(call, outcome.kind === 'completed' ? outcome.result : null);
  });
}

interface Called {
  readonly status: string;
  readonly data: JsonValue;
  readonly execution: { readonly source: string; readonly receiptId: string | null; readonly credits: number };
}

async function told({ terminal }: Invocation<ToolCallFlags>, result: JsonValue): Promise<number> {
  if (terminal.json) {
    await terminal.document(result);
    return 0;
  }
  const { status, data, execution } = result as unknown as Called;
  await terminal.line(JSON.stringify(data, null, 2));
  const receipt = execution.receiptId === null ? '' : `, ${execution.receiptId}`;
  terminal.note(`${status}: ${execution.source}, ${counted(execution.credits, 'credit')}${receipt}`);
  return 0;
}

/** How many questions go out in one request at most; null where each goes out alone. */
function batchJson({ definition }: Tool): { readonly maxSize: number; readonly maxWaitMs: number | null } | null {
  const { batch } = definition;
  return batch === undefined ? null : { maxSize: batch.maxSize, maxWaitMs: batch.maxWaitMs ?? null };
}

/** How its job is waited for; null where the answer comes at once. */
function jobJson({ definition }: Tool): { readonly intervalMs: number; readonly timeoutMs: number } | null {
  const { async: job } = definition;
  return job === undefined ? null : { intervalMs: job.intervalMs, timeoutMs: job.timeoutMs };
}

function briefJson(tool: Tool) {
  const { id, provider, version, description, maxCredits, account, isFunction } = tool;
  const { cost } = tool.definition;
  return {
    id,
    provider,
    account: account.key,
    version,
    description,
    kind: isFunction ? 'function' : 'http',
    effect: effectText(tool),
    cost: {
      credits: typeof cost?.credits === 'number' ? cost.credits : cost === undefined ? 0 : null,
      per: cost?.per ?? 'call',
      max: maxCredits,
    },
  };
}

function effectText({ definition }: Tool): string {
  return typeof definition.effect === 'function' ? 'by input' : definition.effect;
}

function costText({ definition, maxCredits }: Tool): string {
  const { cost } = definition;
  if (cost === undefined || maxCredits === 0) return 'free';
  const exact = typeof cost.credits === 'number' ? shownNumber(cost.credits) : `up to ${shownNumber(maxCredits)}`;
  return `${exact} a ${cost.per ?? 'call'}`;
}

function lineOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
