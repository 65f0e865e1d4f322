/**
 * What `check` can find beyond an error of loading, by code: how grave it is, and what it means. An error is certain;
 * what is told by the text alone, and could be meant, is a warning and never keeps a play from running.
 */
export const FINDINGS = {
  TOOL_NOT_FOUND: { severity: 'error', means: 'A call names a tool that is not in the catalogue.' },
  PROVIDER_UNKNOWN: { severity: 'warning', means: '`providers` in the config names a provider that no tool has.' },
  SECRET_MISSING: { severity: 'error', means: 'A secret that the play or one of its tools needs is not set.' },
  SECRET_NOT_DECLARED: { severity: 'error', means: 'The play asks for a secret that its `secrets` do not list.' },
  ROW_KEY_UNSTABLE: { severity: 'error', means: 'A key function uses chance or counts its own calls.' },
  ROW_KEY_FROM_CLOCK: { severity: 'warning', means: 'A key function reads the clock.' },
  DATASET_KEY_DUPLICATE: { severity: 'warning', means: 'Two datasets of the play have the same key.' },
  COLUMN_DUPLICATE: { severity: 'error', means: 'A dataset has two columns, or a program two steps, of one name.' },
  DATASET_NESTED: { severity: 'error', means: 'A dataset is made inside a row.' },
  DATASET_AS_ARRAY: { severity: 'error', means: 'A dataset is used as an array.' },
  DATASET_SYNC_CALLBACK: {
    severity: 'warning',
    means: "A dataset's `map` or `filter` has a callback that isn't async.",
  },
  FETCH_WITHOUT_IDEMPOTENCY_KEY: {
    severity: 'error',
    means: '`ctx.fetch` changes something and sends no Idempotency-Key.',
  },
  PLAY_OPTION_UNKNOWN: { severity: 'warning', means: 'An option of `definePlay` has no effect in this release.' },
  EDITION_UNKNOWN: { severity: 'warning', means: '`compatibility` names an edition that this release does not know.' },
  CLOCK_OUTSIDE_STEP: { severity: 'warning', means: 'The clock is read where every attempt reads it anew.' },
  CHANCE_OUTSIDE_STEP: { severity: 'warning', means: 'Chance is used where every attempt draws anew.' },
  FILES_OUTSIDE_STEP: { severity: 'warning', means: 'Files or processes are used where every attempt uses them anew.' },
  NETWORK_OUTSIDE_STEP: { severity: 'warning', means: 'The network is used where every attempt uses it anew.' },
  ENVIRONMENT_OUTSIDE_STEP: { severity: 'warning', means: 'The environment is read, and may differ on resume.' },
  TIMER_OUTSIDE_STEP: { severity: 'warning', means: 'A timer holds the process; a resume waits anew.' },
  IMPORT_META: { severity: 'warning', means: '`import.meta` speaks of the artifact, not of the play file.' },
  UNKEYED_IN_PARALLEL: { severity: 'warning', means: 'A recorded value has no key where order may vary.' },
  SUSPENSION_IN_STEP: { severity: 'warning', means: 'What stands before a wait in a `ctx.step` runs again.' },
  BUNDLE_WARNING: { severity: 'warning', means: 'The bundler has a remark.' },
  TYPE_ERROR: { severity: 'error', means: 'TypeScript refuses the play.' },
} as const satisfies Record<string, { severity: 'error' | 'warning'; means: string }>;

export type FindingCode = keyof typeof FINDINGS;

export interface Finding {
  readonly severity: 'error' | 'warning';
  /** One of `FINDINGS`, or the code of the error that loading the play gave. */
  readonly code: string;
  readonly message: string;
  readonly file: string | null;
  /** From 1. */
  readonly line: number | null;
  readonly next: readonly string[];
}

export interface FindingPlace {
  readonly file: string | null;
  readonly line: number | null;
}

export function finding(code: FindingCode, place: FindingPlace, text: { message: string; next: string }): Finding {
  return {
    severity: FINDINGS[code].severity,
    code,
    message: text.message,
    file: place.file,
    line: place.line,
    next: [text.next],
  };
}
