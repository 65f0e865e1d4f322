import type { ProviderConfig, Tool } from '../sdk/index.ts';
import { humanApproval } from './builtin/human-approval.ts';
import { slackMessage } from './builtin/slack-message.ts';

export const BUILTIN_TOOL_IDS: readonly string[] = ['human_approval', 'slack_message_with_hitl'];

/** The tools that every workspace has, but for those whose ids it gives to tools of its own. */
export function builtinTools(workspace: {
  readonly tools: readonly Tool[];
  readonly providers: Readonly<Record<string, ProviderConfig>> | undefined;
}): readonly Tool[] {
  const own = new Set(workspace.tools.map((tool) => tool.id));
  const isSlack = workspace.providers?.slack?.baseUrl === undefined;
  return [humanApproval, slackMessage({ isSlack })].filter((tool) => !own.has(tool.id));
}
