import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CallsheetError } from '../sdk/index.ts';
import type { Workspace } from './open.ts';
import type { RunOrder } from './runs.ts';

export interface ToolCallOrder {
  readonly tool: string;
  readonly input: unknown;
  readonly cwd: string;
  readonly maxCredits?: number | undefined;
  readonly refresh?: boolean | undefined;
}

const PLAY = `import { definePlay } from 'callsheet';

export default definePlay('tools call', async (ctx, input) => {
  const { status, data, values, execution } = await ctx.tools.execute({ id: 'call', tool: input.tool, input: input.input });
  return { status, data: data ?? null, values: { ...values }, execution };
});
`;

/**
 * One call of a tool as a run of its own, so that it is paced, journalled and leaves a receipt like any other.
 * Throws TOOL_NOT_FOUND and TOOL_INPUT_INVALID before there is a run.
 */
export async function toolCallRun(workspace: Workspace, order: ToolCallOrder): Promise<RunOrder> {
  const tool = workspace.catalogue.get(order.tool);
  const verdict = await tool.validateInput(order.input);
  if (!verdict.ok) {
    const told = verdict.issues
      .map(({ path, message }) => `${path === '' ? 'the input' : path}: ${message}`)
      .join('; ');
    throw new CallsheetError('TOOL_INPUT_INVALID', `The input does not fit tool ${tool.id}. ${told}.`, {
      details: { tool: tool.id, issues: verdict.issues },
      next: [`callsheet tools describe ${tool.id}`],
    });
  }
  const play = join(workspace.paths.modules, 'tools-call.play.mjs');
  await writeFile(play, PLAY, { mode: 0o600 });
  return {
    play,
    cwd: order.cwd,
    input: { tool: tool.id, input: order.input },
    maxCredits: order.maxCredits,
    refresh: order.refresh === true ? [tool.id] : undefined,
  };
}
