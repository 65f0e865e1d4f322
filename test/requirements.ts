import { it } from 'vitest';
import type { RequirementId } from './requirements-data.ts';

export { LATER, REQUIREMENTS, type RequirementId } from './requirements-data.ts';

/**
 * A test that stands for one or more promises of the design: vitest's `it` with the ids before its name.
 *
 *   verifies('CALL-JOURNAL-1', 'a replay returns the first result unchanged', async () => { … });
 *   verifies(['DATA-KEY-2', 'ERROR-NEXT-1'], 'a null key names its row', () => { … }, 20_000);
 *
 * The ids are written as literals right after the parenthesis, since the coverage gate reads them from the source.
 *
 * @param options the time-out in milliseconds, alone or by name
 */
export function verifies(
  ids: RequirementId | readonly RequirementId[],
  name: string,
  fn: () => unknown,
  options: number | { readonly timeout?: number } = {},
): void {
  const list = typeof ids === 'string' ? [ids] : ids;
  it(
    `[${list.join(', ')}] ${name}`,
    async () => void (await fn()),
    typeof options === 'number' ? options : options.timeout,
  );
}
