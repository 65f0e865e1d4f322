const EXCERPT = 200;

/**
 * A provider's own words about a refusal, as the details of an error keep them: one line, redacted by the transport. Null
 * where it said nothing, or where the message has it already.
 */
export function saidBy({ message, details }: { readonly message: string; readonly details?: unknown }): string | null {
  const body = typeof details === 'object' && details !== null && 'body' in details ? details.body : undefined;
  if (typeof body !== 'string') return null;
  const words = body.replace(/\s+/g, ' ').trim();
  if (words === '' || message.includes(words.slice(0, EXCERPT / 4))) return null;
  return words.length <= EXCERPT ? words : `${words.slice(0, EXCERPT).toWellFormed()}…`;
}
