/** What a run was started with, kept with it. Paths are absolute. */
export interface RunOptions {
  readonly cwd: string;
  /** The folder of the play file; a fallback for relative paths. */
  readonly playDir: string | null;
  readonly exportName: string | null;
  readonly maxCredits: number | null;
  /** `billing.maxCreditsPerRun` of the play, for those who show the run without its code. */
  readonly playMaxCredits?: number | null;
  readonly concurrency: number | null;
  /** Take only the first n rows of every file. */
  readonly limit: number | null;
  /** The text encoding of every CSV file whose play does not say; null to find it out. */
  readonly encoding?: string | null;
  readonly refresh: 'all' | readonly string[];
  /** A rerun that begins each row at this column, with the cells of the source run before it. */
  readonly column?: string | null;
  /** True once the run, or one that it comes from, went on under other code than it began with. */
  readonly codeChanged?: boolean;
  /** Writes that were made before are made again where the code asks for them in another place or form. */
  readonly resend?: boolean;
  /** Set by a resume that also tries failed rows again. */
  readonly retryFailed?: boolean | undefined;
  /** `fixture` where answers come from recorded files. */
  readonly mode: 'live' | 'fixture';
}
