import type { Digest } from '../scope/index.ts';

/** A receipt's id as people see and type it. */
export function receiptName(id: number): string {
  return `rcp_${id}`;
}

/** A call's id as people type it: a digest may begin like an option. */
export function callName(callId: Digest): string {
  return callId.startsWith('-') ? `call_${callId}` : callId;
}

/** The id, or the beginning of one, that somebody typed. */
export function typedCall(text: string): string {
  return text.replace(/^call_/, '');
}

/** What starts a job at a provider is recorded as a tool of its own, under the id of the job's tool and this. */
const START = ':start';

/** The tool whose jobs a tool of this id starts; undefined of any other tool. */
export function jobOfStart(toolId: string): string | undefined {
  return toolId.endsWith(START) ? toolId.slice(0, -START.length) : undefined;
}
