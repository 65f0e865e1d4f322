import type { CallEntry, OperationRecord } from './records.ts';

/**
 * True where nobody knows what became of a write: its intent stands, and its call has no journal entry or one that says
 * so. (An intent whose call ended otherwise is not in doubt; one without an end may be on its way right now.)
 */
export function isInDoubt(operation: OperationRecord, entry: CallEntry | undefined): boolean {
  if (operation.state !== 'intended') return false;
  if (entry === undefined) return true;
  return entry.error !== null && (JSON.parse(entry.error) as { code?: unknown }).code === 'IN_DOUBT';
}
