import { CallsheetError } from './errors.ts';
import {
  programBrand,
  type RowCtx,
  type StepDefinition,
  type StepFn,
  type StepOptions,
  type StepsProgram,
} from './row-ctx.ts';

export interface StepsBuilder<Input, Row> {
  /** Adds a step that sees the row and the results of the steps before it. */
  step<Name extends string, Value>(
    name: Name,
    body: StepFn<Row, Value> | StepsProgram<Row, Value>,
    options?: StepOptions<Row>,
  ): StepsBuilder<Input, Row & { readonly [K in Name]: Awaited<Value> | null }>;
  /** Ends the program: what it returns is the program's value. */
  return<Value>(finish: (row: Row, ctx: RowCtx) => Value): StepsProgram<Input, Awaited<Value>>;
}

/** Starts a waterfall: steps in order, each seeing what those before it found. */
// biome-ignore lint/complexity/noBannedTypes: `{}` is the row type of a program that was given none
export function steps<Row = {}>(): StepsBuilder<Row, Row> {
  return buildSteps<Row, Row>([]);
}

function buildSteps<Input, Row>(defined: readonly StepDefinition[]): StepsBuilder<Input, Row> {
  return {
    step(name, body, options) {
      checkStep(defined, name, body);
      const definition = { name: name.trim(), body, options: options ?? {} } as unknown as StepDefinition;
      return buildSteps([...defined, definition]) as never;
    },
    return(finish) {
      if (typeof finish !== 'function')
        throw new CallsheetError('DATASET_DEFINITION_INVALID', 'steps().return takes a function of the row.', {
          next: ['End the program with .return((row) => …).'],
        });
      return Object.freeze({ [programBrand]: true as const, steps: Object.freeze([...defined]), finish }) as never;
    },
  };
}

function checkStep(defined: readonly StepDefinition[], name: unknown, body: unknown): void {
  const refuse = (problem: string): never => {
    throw new CallsheetError('DATASET_DEFINITION_INVALID', `steps().step: ${problem}.`, {
      details: { step: String(name) },
      next: ['Mend the steps() program and run again.'],
    });
  };
  if (typeof name !== 'string' || name.trim() === '') refuse('a step needs a name');
  else if (name.trim().length > 200) refuse('a name has at most 200 characters');
  else if (defined.some((step) => step.name === name.trim())) refuse(`two steps are named '${name.trim()}'`);
  if (typeof body !== 'function' && !isStepsProgram(body))
    refuse(`step '${String(name)}' needs a function or a finished steps() program (did you forget .return?)`);
}

export function isStepsProgram(value: unknown): value is StepsProgram<never, unknown> {
  return typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[programBrand] === true;
}
