import type { PlayOptions } from '../sdk/index.ts';

/** The contract between author code and runtime that this release writes artifacts for. */
export const CONTRACT_EDITION = '2026-11';

/** Every edition that this release can run. */
export const KNOWN_EDITIONS: readonly string[] = [CONTRACT_EDITION];

/** The edition that a play asks for by `compatibility: '2026-11'` (or `{ edition }`); the newest where it asks for none. */
export function editionOf(options: PlayOptions, fallback: string = CONTRACT_EDITION): string {
  return askedEdition(options) ?? fallback;
}

/** `compatibility` may hold other things in plays of the hosted product; only what looks like an edition is one. */
export function askedEdition(options: PlayOptions): string | undefined {
  const asked = options.compatibility;
  const edition =
    typeof asked === 'object' && asked !== null ? (asked as { readonly edition?: unknown }).edition : asked;
  return typeof edition === 'string' && /^\d{4}-\d{2}$/.test(edition) ? edition : undefined;
}
