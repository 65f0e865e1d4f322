import type { ColumnMapping } from '../files/index.ts';
import { canonicalJson } from '../scope/index.ts';
import { CallsheetError } from '../sdk/index.ts';
import type { FrameRecord } from '../store/index.ts';

/** What people call a dataset: its key, within a child play below the child's place: `enrich:find-email/leads`. */
export function datasetName(playPath: readonly string[], key: string): string {
  return [...playPath, key].join('/');
}

export function frameName({ playPath, key }: Pick<FrameRecord, 'playPath' | 'key'>): string {
  return datasetName(JSON.parse(playPath) as string[], key);
}

/** How the row keys of a dataset are made. */
export type KeyPlan =
  | { readonly kind: 'content' }
  | { readonly kind: 'field'; readonly field: string }
  | { readonly kind: 'fields'; readonly fields: readonly string[] }
  | { readonly kind: 'function' };

export interface ColumnPlan {
  readonly name: string;
  /** Column and steps of each leg, in order: `email.hunter`; one that is the column's name where it has no program. */
  readonly legs: readonly string[];
}

/** A staged file: the rows are read from there, and are not written twice. */
export interface FilePlan {
  readonly kind: 'file';
  readonly digest: string;
  readonly name: string;
  readonly mapping: ColumnMapping;
  /** Names of its columns as the code sees them. */
  readonly header: readonly string[];
  /** Rows taken from its start, in all. */
  readonly rows: number;
}

/** Rows that lie in the store. */
export interface SpoolPlan {
  readonly kind: 'spool';
  /** First row of each stored chunk of about a megabyte: what bounds the bytes of one read. */
  readonly starts: readonly number[];
}

export type DatasetMode = 'upsert' | 'net_new';

/** What a play says about a dataset, as far as it must be the same on every attempt. */
export interface Definition {
  readonly columns: readonly ColumnPlan[];
  readonly key: KeyPlan;
  readonly mode: DatasetMode;
}

/** The dataset room's own JSON in a frame's header. */
export interface FramePlan extends Definition {
  readonly edition: 1;
  readonly source: FilePlan | SpoolPlan;
  /** Input columns as the code sees them, in order of appearance. */
  readonly header: readonly string[];
  /** Whose cells `previousCell` shows: fixed at admission, so that every attempt sees the same. */
  readonly previous: { readonly runNo: number; readonly datasetNo: number } | null;
}

export function writePlan(plan: FramePlan): string {
  return JSON.stringify(plan);
}

/** The plan in a frame's header. Throws `BOUNDARY_UNKNOWN` where another release wrote one that this one cannot read. */
export function readPlan(frame: FrameRecord): FramePlan {
  const plan = JSON.parse(frame.plan) as FramePlan;
  if (plan.edition === 1) return plan;
  throw new CallsheetError(
    'BOUNDARY_UNKNOWN',
    `Dataset '${frame.key}' was recorded in edition ${String(plan.edition)} of the frame, which this release does not know.`,
    { details: { dataset: frame.key, edition: plan.edition }, next: ['Use the release that started the run.'] },
  );
}

/** Whether two texts of JSON mean the same. */
function same(left: unknown, right: unknown): boolean {
  return canonicalJson(left) === canonicalJson(right);
}

/** The first way in which what the play says now differs from what was admitted, in words; undefined where nothing does. */
export function firstDifference(
  recorded: FramePlan,
  now: Definition,
  file: FilePlan | undefined,
): { readonly what: string; readonly recorded: unknown; readonly now: unknown } | undefined {
  const columns = differingColumn(recorded.columns, now.columns);
  if (columns !== undefined) return columns;
  if (!same(recorded.key, now.key)) return { what: 'key', recorded: recorded.key, now: now.key };
  if (recorded.mode !== now.mode) return { what: 'mode', recorded: recorded.mode, now: now.mode };
  const before = recorded.source.kind === 'file' ? sourceFacts(recorded.source) : 'rows';
  const after = file === undefined ? 'rows' : sourceFacts(file);
  return same(before, after) ? undefined : { what: 'source', recorded: before, now: after };
}

function sourceFacts(file: FilePlan): unknown {
  return { file: file.digest, mapping: file.mapping, rows: file.rows };
}

function differingColumn(
  recorded: readonly ColumnPlan[],
  now: readonly ColumnPlan[],
): { readonly what: string; readonly recorded: unknown; readonly now: unknown } | undefined {
  for (let index = 0; index < Math.max(recorded.length, now.length); index++) {
    const before = recorded[index];
    const after = now[index];
    if (before?.name !== after?.name)
      return { what: `column ${index + 1}`, recorded: before?.name ?? null, now: after?.name ?? null };
    if (!same(before?.legs, after?.legs))
      return { what: `steps of column '${after?.name}'`, recorded: before?.legs, now: after?.legs };
  }
  return undefined;
}
