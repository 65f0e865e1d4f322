import type { Scope } from '../scope/index.ts';
import { CallsheetError, isProviderUnavailable, isStepsProgram, type RowCtx, type StepsProgram } from '../sdk/index.ts';
import { FoundBySteps } from './found.ts';

/** How a leg of a waterfall ended; `none` where it was not reached. */
export type LegOutcome = 'none' | 'hit' | 'miss' | 'unavailable' | 'skipped' | 'failed' | 'rejected';

/** Where the outcomes of a row's legs go. */
export interface LegSink {
  /** A leg begins: what `slow` rows are named with. */
  enter(leg: number): void;
  ended(leg: number, outcome: LegOutcome, error?: unknown): void;
  /** The legs [first, first + count) failed, and the step around them passed over it. */
  passedOver(first: number, count: number): void;
  /** Whatever the legs [first, first + count) found was thrown away. */
  rejected(first: number, count: number): void;
}

interface CompiledStep {
  readonly name: string;
  readonly fn: ((row: unknown, ctx: RowCtx, index: number) => unknown) | undefined;
  readonly program: CompiledProgram | undefined;
  readonly runIf: ((row: unknown) => unknown) | undefined;
  readonly continueOnUnavailable: boolean;
  readonly firstLeg: number;
  readonly legCount: number;
}

/** A `steps()` program with its legs numbered. */
export interface CompiledProgram {
  readonly steps: readonly CompiledStep[];
  readonly finish: (row: unknown, ctx: RowCtx) => unknown;
  /** Path of each leg, nested programs' included: `email.hunter`. */
  readonly legs: readonly string[];
}

/** What running a program needs of the row around it. */
export interface ProgramPlace {
  readonly scope: Scope;
  readonly index: number;
  readonly sink: LegSink;
  rowCtx(scope: Scope): RowCtx;
}

/** Numbers the legs of a program from `firstLeg`, depth first: the order in which they are tried. */
export function compileProgram(program: StepsProgram<never, unknown>, path: string, firstLeg: number): CompiledProgram {
  const legs: string[] = [];
  const steps = program.steps.map((step): CompiledStep => {
    const start = firstLeg + legs.length;
    const inner =
      typeof step.body === 'function' ? undefined : compileProgram(step.body, `${path}.${step.name}`, start);
    legs.push(...(inner === undefined ? [`${path}.${step.name}`] : inner.legs));
    return {
      name: step.name,
      fn: typeof step.body === 'function' ? (step.body as CompiledStep['fn']) : undefined,
      program: inner,
      runIf: step.options.runIf as CompiledStep['runIf'],
      continueOnUnavailable: step.options.continueOnProviderUnavailable === true,
      firstLeg: start,
      legCount: firstLeg + legs.length - start,
    };
  });
  return { steps, finish: program.finish as CompiledProgram['finish'], legs };
}

/** Runs a program over one row. The row is copied: steps see it with the results of those before them. */
export function runProgram(program: CompiledProgram, row: object, place: ProgramPlace): Promise<unknown> {
  return runOver(program, { ...row }, place);
}

async function runOver(program: CompiledProgram, seen: Record<string, unknown>, place: ProgramPlace): Promise<unknown> {
  const found = new FoundBySteps(seen);
  for (const step of program.steps) {
    found.working = undefined;
    if (step.runIf !== undefined) {
      const asked = step.runIf(seen);
      if (!(isThenable(asked) ? await asked : asked)) {
        for (let leg = 0; leg < step.legCount; leg++) place.sink.ended(step.firstLeg + leg, 'skipped');
        seen[step.name] = null;
        continue;
      }
    }
    found.working = step.name;
    found.keep(step.name, (await runStep(step, seen, place)) ?? null);
  }
  found.working = undefined;
  const value = await program.finish(seen, place.rowCtx(place.scope));
  const unused = found.unusedIn(value ?? null);
  for (const { name, firstLeg, legCount } of program.steps)
    if (unused.has(name)) place.sink.rejected(firstLeg, legCount);
  return value;
}

async function runStep(step: CompiledStep, seen: Record<string, unknown>, place: ProgramPlace): Promise<unknown> {
  const scope = place.scope.at(step.name, step.continueOnUnavailable);
  const { sink } = place;
  try {
    if (step.program !== undefined)
      // A copy that still tells the program around it what is read.
      return await runOver(step.program, Object.defineProperties({}, Object.getOwnPropertyDescriptors(seen)), {
        scope,
        index: place.index,
        sink,
        rowCtx: (inner) => place.rowCtx(inner),
      });
    sink.enter(step.firstLeg);
    const out = step.fn?.(seen, place.rowCtx(scope), place.index);
    const value = isThenable(out) ? await out : out;
    sink.ended(step.firstLeg, answers(value) ? 'hit' : 'miss');
    return value;
  } catch (error) {
    const passOver = step.continueOnUnavailable && isProviderUnavailable(error);
    if (step.program === undefined) sink.ended(step.firstLeg, passOver ? 'unavailable' : 'failed', error);
    else if (passOver) sink.passedOver(step.firstLeg, step.legCount);
    if (!passOver) throw error;
    return null;
  }
}

/** A leg may hand on a tool's whole result; one without an answer is a miss all the same. */
function answers(value: unknown): boolean {
  if (value === null || value === undefined) return false;
  return !(typeof value === 'object' && 'status' in value && value.status === 'no_result' && 'execution' in value);
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' && value !== null && typeof (value as { readonly then?: unknown }).then === 'function'
  );
}

const NO_SINK: LegSink = { enter: () => {}, ended: () => {}, passedOver: () => {}, rejected: () => {} };

export interface RunStepsOf {
  readonly program: StepsProgram<never, unknown>;
  readonly input: unknown;
  /** Where it was called: steps are places below it. */
  readonly scope: Scope;
  rowCtx(scope: Scope): RowCtx;
}

/**
 * `ctx.runSteps`: a program over one value, with the same rules as in a column.
 * Throws `DATASET_DEFINITION_INVALID` where the input is no object: steps add their results to it.
 */
export async function runSteps(of: RunStepsOf): Promise<unknown> {
  const { program, input, scope } = of;
  const refuse = (problem: string, next: string): never => {
    throw new CallsheetError('DATASET_DEFINITION_INVALID', `ctx.runSteps ${problem}.`, { next: [next] });
  };
  if (!isStepsProgram(program)) return refuse('takes a finished steps() program', 'End it with .return((row) => …).');
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    return refuse(
      `takes an object to run its steps over, not ${input === null ? 'null' : Array.isArray(input) ? 'a list' : typeof input}`,
      'Wrap the value: ctx.runSteps(program, { value }).',
    );
  return await runProgram(compileProgram(program, scope.path, 0), input, {
    scope,
    index: 0,
    sink: NO_SINK,
    rowCtx: (inner) => of.rowCtx(inner),
  });
}
