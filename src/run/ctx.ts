import { executeCall } from '../call/index.ts';
import { createDataset, runSteps } from '../dataset/index.ts';
import type { Scope } from '../scope/index.ts';
import { CallsheetError, type CsvOptions, type PlayCtx, type RowCtx, type ToolResult } from '../sdk/index.ts';
import type { AttemptContext } from './attempt-context.ts';
import { runInline } from './child.ts';
import { startChildRun } from './child-run.ts';
import { csvDataset } from './csv.ts';
import { callEventTool, isEventCall } from './event-tool.ts';
import { recordedFetch } from './fetch.ts';
import { secretsCapability } from './handles.ts';
import { logEvent } from './log.ts';
import { runStep } from './step.ts';
import { derivedRandom, derivedUuid, recordedNow } from './values.ts';
import { awaitEvent, sleepFor } from './wait.ts';

/**
 * The author's ctx at a scope: a table of contents, with no state of its own. Capabilities are built when they are
 * read, so that a ctx costs nothing per cell and `const { tools, log } = ctx` works.
 */
class ScopedCtx implements RowCtx {
  protected readonly context: AttemptContext;
  protected readonly scope: Scope;

  constructor(context: AttemptContext, scope: Scope) {
    this.context = context;
    this.scope = scope;
  }

  get run(): RowCtx['run'] {
    return { id: this.context.run.id, attempt: this.context.attempt };
  }

  get tools(): RowCtx['tools'] {
    return { execute: this.#call() as RowCtx['tools']['execute'] };
  }
  get tool(): RowCtx['tool'] {
    return this.#call() as RowCtx['tool'];
  }

  get step(): RowCtx['step'] {
    const { context, scope } = this;
    return (id, fn, options) =>
      scope.gate.enclose(() => runStep(context, scope, { id, fn, options: options ?? {} })) as never;
  }
  get runSteps(): RowCtx['runSteps'] {
    const { context, scope } = this;
    return (program, input) => runSteps({ program, input, scope, rowCtx: (at) => rowCtx(context, at) }) as never;
  }
  get fetch(): RowCtx['fetch'] {
    const { context, scope } = this;
    return (key, url, init, options) =>
      scope.gate.enter(() => recordedFetch(context, scope, { key, url, init: init ?? {}, options: options ?? {} }));
  }

  get now(): RowCtx['now'] {
    const { context, scope } = this;
    return (key) => scope.gate.enter(() => recordedNow(context, scope, key ?? ''));
  }
  get random(): RowCtx['random'] {
    return (key) => derivedRandom(this.scope, key);
  }
  get uuid(): RowCtx['uuid'] {
    return (key) => derivedUuid(this.scope, key);
  }

  get secrets(): RowCtx['secrets'] {
    return secretsCapability(this.context);
  }
  get log(): RowCtx['log'] {
    const { context, scope } = this;
    return (message, options) => logEvent(context, scope, { message, options: options ?? {} });
  }

  get sleep(): RowCtx['sleep'] {
    const { context, scope } = this;
    return (duration, options) => scope.gate.arm(() => sleepFor(context, scope, { duration, key: options?.key }));
  }
  get waitForEvent(): RowCtx['waitForEvent'] {
    const { context, scope } = this;
    return (key, options) => scope.gate.arm(() => awaitEvent(context, scope, { key, options })) as never;
  }
  get runPlay(): RowCtx['runPlay'] {
    const { context, scope } = this;
    return (key, play, input) => {
      if (scope.gate.state !== 'open') return scope.gate.hold();
      const asked = { key, play, input };
      return runInline(context, scope, { asked, ctxOf: playCtx }) as never;
    };
  }
  get runPlayAsync(): RowCtx['runPlayAsync'] {
    const { context, scope } = this;
    return (key, play, input) => scope.gate.enter(() => startChildRun(context, scope, { key, play, input }));
  }

  /** Absent from a row's type; plays without types are told the way out. */
  get dataset(): unknown {
    return () => {
      throw new CallsheetError('DATASET_NESTED', 'ctx.dataset cannot be used inside a row of another dataset.', {
        details: { path: this.scope.path },
        next: ['Return a list from the column, then make a second dataset from the first one in the play itself.'],
      });
    };
  }

  #call(): (...args: unknown[]) => Promise<ToolResult> {
    const { context, scope } = this;
    return (...args) => {
      if (!isEventCall(context, args)) return scope.gate.enter(() => executeCall(context.calls, scope, args));
      // It sends something before it waits, so that it does not start where calls do not.
      if (scope.gate.state !== 'open') return scope.gate.hold();
      return scope.gate.arm(() => callEventTool(context, scope, args));
    };
  }
}

class RunCtx extends ScopedCtx implements PlayCtx<unknown> {
  get input(): unknown {
    return this.context.input;
  }
  get csv(): PlayCtx['csv'] {
    const { context, scope } = this;
    return (path: string, options?: CsvOptions) =>
      scope.gate.enter(() => csvDataset(context, scope, { path, options: options ?? {} })) as never;
  }
  override get dataset(): PlayCtx['dataset'] {
    const { context, scope } = this;
    return (key, items) => createDataset(context.datasets.host(scope), key, items) as never;
  }
  get customerDb(): PlayCtx['customerDb'] {
    return { query: refused('ctx.customerDb.query') };
  }
}

/** The ctx of a row's resolvers and steps. */
export function rowCtx(context: AttemptContext, scope: Scope): RowCtx {
  const ctx = new ScopedCtx(context, scope);
  return ctx;
}

/** The ctx of the play itself. */
export function playCtx(context: AttemptContext): PlayCtx<unknown> {
  return new RunCtx(context, context.scope);
}

function refused(name: string): () => never {
  return () => {
    throw new CallsheetError('NOT_YET_SUPPORTED', `${name} is not supported by this release yet.`, {
      details: { call: name },
      next: ['See CHANGELOG.md for what this release does.'],
    });
  };
}
