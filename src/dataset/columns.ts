import { CallsheetError, isStepsProgram, type RowCtx } from '../sdk/index.ts';
import type { ColumnPlan } from './plan.ts';
import { type CompiledProgram, compileProgram } from './program.ts';

export type CellFn = (row: unknown, ctx: RowCtx, index: number) => unknown;

export interface CellSpec {
  readonly run: (args: {
    readonly row: unknown;
    readonly ctx: RowCtx;
    readonly index: number;
    readonly previousCell: unknown;
  }) => unknown;
  readonly runIf: ((row: unknown) => unknown) | undefined;
}

/** A column of a dataset, ready to be run. Exactly one of `fn`, `spec` and `program` is there. */
export interface Column {
  readonly name: string;
  readonly replace: boolean;
  readonly fn: CellFn | undefined;
  readonly spec: CellSpec | undefined;
  readonly program: CompiledProgram | undefined;
  /** Where its legs begin among those of all columns. */
  readonly firstLeg: number;
  readonly legs: readonly string[];
}

const MOST_CHARACTERS = 200;

/** A trimmed name of 1 to 200 characters. Throws `DATASET_DEFINITION_INVALID`. */
export function nameOf(raw: unknown, what: string): string {
  const name = typeof raw === 'string' ? raw.trim() : '';
  // Assigning to that name would change what the row is.
  const isSpecial = name === '__proto__';
  if (name !== '' && name.length <= MOST_CHARACTERS && name.isWellFormed() && !isSpecial) return name;
  const problem =
    typeof raw !== 'string'
      ? `is ${raw === null ? 'null' : typeof raw}, not a text`
      : name === ''
        ? 'is empty'
        : name.length > MOST_CHARACTERS
          ? `has ${name.length} characters; at most ${MOST_CHARACTERS} are allowed`
          : isSpecial
            ? "is '__proto__', which JavaScript keeps for itself"
            : 'has a lone surrogate in it';
  throw new CallsheetError('DATASET_DEFINITION_INVALID', `The name of a ${what} ${problem}.`, {
    next: [`Give the ${what} a name of 1 to ${MOST_CHARACTERS} characters.`],
  });
}

/** A column as `.withColumn` was given it, checked. Throws `DATASET_DEFINITION_INVALID`. */
export function defineColumn(
  dataset: string,
  given: { readonly name: unknown; readonly resolver: unknown; readonly options: unknown },
  before: readonly Column[],
): Column {
  const name = nameOf(given.name, `column of dataset '${dataset}'`);
  const refuse = (problem: string): never => {
    throw new CallsheetError('DATASET_DEFINITION_INVALID', `Dataset '${dataset}', column '${name}': ${problem}.`, {
      details: { dataset, column: name },
      next: ['Give it a function, { run, runIf? }, or a finished steps() program, under a name of its own.'],
    });
  };
  if (before.some((column) => column.name === name)) return refuse('there is already a column of that name');
  const firstLeg = before.reduce((sum, column) => sum + column.legs.length, 0);
  const options = (given.options ?? {}) as { readonly replace?: unknown };
  const base = { name, replace: options.replace === true, firstLeg };
  const { resolver } = given;
  if (typeof resolver === 'function')
    return { ...base, fn: resolver as CellFn, spec: undefined, program: undefined, legs: [name] };
  if (isStepsProgram(resolver)) {
    const program = compileProgram(resolver, name, firstLeg);
    return { ...base, fn: undefined, spec: undefined, program, legs: program.legs };
  }
  const spec = resolver as { run?: unknown; runIf?: unknown; step?: unknown } | null | undefined;
  if (typeof spec === 'object' && spec !== null && typeof spec.step === 'function')
    return refuse('the steps() program is not finished; end it with .return((row) => …)');
  if (typeof spec !== 'object' || spec === null || typeof spec.run !== 'function')
    return refuse(`its resolver is ${spec === null ? 'null' : typeof spec}`);
  if (spec.runIf !== undefined && typeof spec.runIf !== 'function') return refuse('`runIf` is not a function');
  const cell: CellSpec = { run: spec.run as CellSpec['run'], runIf: spec.runIf as CellSpec['runIf'] };
  return { ...base, fn: undefined, spec: cell, program: undefined, legs: [name] };
}

export function columnPlans(columns: readonly Column[]): readonly ColumnPlan[] {
  return columns.map(({ name, legs }) => ({ name, legs }));
}

/** Refuses a column that would hide an input column unasked. Throws `COLUMN_HIDES_INPUT`. */
export function refuseHiding(dataset: string, columns: readonly Column[], header: readonly string[]): void {
  const inputs = new Set(header);
  const hiding = columns.find((column) => !column.replace && inputs.has(column.name));
  if (hiding === undefined) return;
  throw new CallsheetError(
    'COLUMN_HIDES_INPUT',
    `Dataset '${dataset}': column '${hiding.name}' would hide the input column of that name.`,
    {
      details: { dataset, column: hiding.name, inputColumns: header.slice(0, 100) },
      next: [`Give the column another name, or allow it: .withColumn('${hiding.name}', …, { replace: true }).`],
    },
  );
}
