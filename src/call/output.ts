import { ContractBroken } from './contract.ts';
import type { CallRun } from './env.ts';
import type { Question } from './question.ts';

/** Holds data against the tool's `output` schema: a warning, or a contract failure where the tool is `strict`. */
export async function checkOutput(run: CallRun, question: Question, data: unknown): Promise<void> {
  const { tool, label } = question;
  const validation = await tool.validateOutput(data);
  if (validation === undefined || validation.ok) return;
  const problem = validation.issues
    .slice(0, 5)
    .map(({ path, message }) => `${path || 'data'}: ${message}`)
    .join('; ');
  if (tool.definition.strict === true) throw new ContractBroken('output', problem);
  run.event({
    type: 'call.output',
    level: 'warn',
    message: `Call '${label}' of ${tool.id}: the data do not fit the tool's output schema (${problem}).`,
    data: JSON.stringify({ tool: tool.id, callId: question.callId, issues: validation.issues.slice(0, 20) }),
  });
}
