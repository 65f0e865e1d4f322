import type { CallInRun } from './records.ts';

/** Whether a call stands in its family as it was known to. */
export function isSameStanding(known: readonly CallInRun[], now: readonly CallInRun[]): boolean {
  return known.length === now.length && known.every((one, index) => textOf(one) === textOf(now[index]));
}

function textOf(call: CallInRun | undefined): string {
  if (call === undefined) return '';
  const { runNo, answered, inherited, operation } = call;
  const { state, at, operationKey, tries, refusals } = operation ?? {};
  return JSON.stringify([runNo, answered, inherited, state, at, operationKey, tries, refusals]);
}
