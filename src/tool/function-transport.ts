import { type Clock, NotJsonError, systemClock } from '../scope/index.ts';
import { CallsheetError, type Ending, type FunctionTool } from '../sdk/index.ts';
import { cancelledBefore, effectOf, thrownFailure, thrownMessage } from './failure.ts';
import { plainValue } from './plain-value.ts';
import type { Delivered, Failure, Operation, RawAnswer, ReadSecret, Transport } from './port.ts';
import { redactorOf } from './redaction.ts';
import { SecretReader } from './secret-reader.ts';
import { OperationWatch, type StopReason, type Watched } from './watch.ts';

export interface FunctionTransportOptions {
  readonly readSecret: ReadSecret;
  readonly clock?: Clock | undefined;
}

type Run = FunctionTool<never>['run'];
type RunContext = Parameters<Run>[1];

/**
 * Runs function tools in this process.
 *
 * - A value ends as `answered`; null and undefined are kept as null. It is copied, and secrets in it are redacted.
 * - A thrown error ends as its `endsAs` says (any ending but 'answered'), else `rejected` for reads and `ambiguous` for
 *   the rest. Its `retryAfterMs`, if it has one, becomes a `retry-after` header.
 * - A value that is not JSON: the function did its work, so it is never tried again: `rejected` for reads, `ambiguous`
 *   for the rest, with a `TOOL_CONTRACT` error that names the place.
 * - A secret that can't be read, before the function first waits for anything: `rejected`, whatever the effect.
 * - A time-out or a cancellation: `ambiguous`, also where the function ignores its signal.
 */
export function functionTransport({ readSecret, clock = systemClock }: FunctionTransportOptions): Transport {
  const watch = new OperationWatch(clock);
  return {
    send(operation) {
      if (operation.signal.aborted) return Promise.resolve(cancelledBefore(operation.tool));
      operation.permit?.dispatched();
      const call = new FunctionCall(operation, readSecret, watch);
      const run = operation.tool.definition.run as Run;
      try {
        const returned = run(operation.input as never, new FunctionContext(call));
        return isThenable(returned) ? call.settlement(returned) : Promise.resolve(call.answerOf(returned));
      } catch (thrown) {
        return Promise.resolve(call.failureOf(thrown));
      }
    },
    close: () => Promise.resolve(),
  };
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
}

/** What the author's function gets; each part is made only when it is read. */
class FunctionContext implements RunContext {
  readonly #call: FunctionCall;

  constructor(call: FunctionCall) {
    this.#call = call;
  }

  get signal(): AbortSignal {
    return this.#call.ownSignal;
  }

  get secret(): (name: string) => string {
    const call = this.#call;
    return (name) => call.readSecret(name);
  }

  get operationKey(): string {
    return this.#call.operation.operationKey();
  }
}

class FunctionCall implements Watched {
  readonly operation: Operation;
  readonly #readSecret: ReadSecret;
  readonly #watch: OperationWatch;
  #secrets: SecretReader | undefined;
  #controller: AbortController | undefined;
  #resolve: ((delivered: Delivered) => void) | undefined;
  /** False until the function has returned a promise: nothing that it started can have ended by then. */
  #waited = false;
  #refusedBeforeWaiting: unknown;

  constructor(operation: Operation, readSecret: ReadSecret, watch: OperationWatch) {
    this.operation = operation;
    this.#readSecret = readSecret;
    this.#watch = watch;
  }

  get signal(): AbortSignal {
    return this.operation.signal;
  }

  get timeoutMs(): number {
    return this.operation.timeoutMs;
  }

  get ownSignal(): AbortSignal {
    this.#controller ??= new AbortController();
    return this.#controller.signal;
  }

  readSecret(name: string): string {
    this.#secrets ??= new SecretReader(this.operation.tool, this.#readSecret);
    try {
      return this.#secrets.read(name);
    } catch (error) {
      if (!this.#waited) this.#refusedBeforeWaiting = error;
      throw error;
    }
  }

  settlement(returned: PromiseLike<unknown>): Promise<Delivered> {
    this.#waited = true;
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.#watch.add(this);
      const promise = returned instanceof Promise ? returned : Promise.resolve(returned);
      promise.then(
        (value) => this.#settle(value, undefined, true),
        (thrown: unknown) => this.#settle(undefined, thrown, false),
      );
    });
  }

  stop(reason: StopReason): void {
    const resolve = this.#resolve;
    this.#resolve = undefined;
    const { tool, timeoutMs } = this.operation;
    const failure: Failure =
      reason === 'timeout'
        ? { ending: 'ambiguous', message: `${tool.id} did not end within ${timeoutMs} ms`, networkKind: 'timeout' }
        : { ending: 'ambiguous', message: `${tool.id} was cancelled while it ran` };
    this.#controller?.abort(reason === 'timeout' ? new Error(failure.message) : this.operation.signal.reason);
    resolve?.(failure);
  }

  #settle(value: unknown, thrown: unknown, returned: boolean): void {
    const resolve = this.#resolve;
    // What comes after a time-out was given up on.
    if (resolve === undefined) return;
    this.#resolve = undefined;
    this.#watch.release(this);
    resolve(returned ? this.answerOf(value) : this.failureOf(thrown));
  }

  answerOf(value: unknown): Delivered {
    if (value === undefined || value === null) return ANSWERED_NULL;
    const used = this.#secrets?.used;
    try {
      const raw: RawAnswer = { kind: 'value', value: plainValue(value, used && redactorOf(used)) };
      return { ending: 'answered', raw };
    } catch (error) {
      return this.#notJson(error);
    }
  }

  #notJson(error: unknown): Failure {
    const { tool } = this.operation;
    const redactor = redactorOf(this.#secrets?.used);
    const problem = error instanceof NotJsonError ? error.message : `reading it threw: ${thrownMessage(error)}`;
    const message = redactor.text(`Tool ${tool.id} returned something that is not JSON: ${problem}`);
    return {
      ending: this.#defaultEnding(),
      message,
      error: new CallsheetError('TOOL_CONTRACT', `${message}.`, {
        details: { tool: tool.id, ...(error instanceof NotJsonError ? { path: redactor.text(error.path) } : {}) },
        next: [`Mend \`run\` in the definition of ${tool.id} so that it returns plain JSON, and run again.`],
      }),
    };
  }

  failureOf(thrown: unknown): Failure {
    const { tool } = this.operation;
    const secrets = this.#secrets;
    if (secrets !== undefined && thrown !== undefined && thrown === secrets.refusal) {
      const ending = thrown === this.#refusedBeforeWaiting ? 'rejected' : this.#defaultEnding();
      return thrownFailure(thrown, { tool, secrets, ending, where: '`run`', code: 'TOOL_THREW' });
    }
    const message = redactorOf(secrets?.used).text(`Tool ${tool.id} threw: ${thrownMessage(thrown)}`);
    const headers = retryAfter(thrown);
    return {
      ending: declaredEnding(thrown) ?? this.#defaultEnding(),
      message,
      ...(headers === undefined ? {} : { headers }),
    };
  }

  #defaultEnding(): 'rejected' | 'ambiguous' {
    return effectOf(this.operation) === 'read' ? 'rejected' : 'ambiguous';
  }
}

const ANSWERED_NULL: Delivered = Object.freeze({
  ending: 'answered' as const,
  raw: Object.freeze({ kind: 'value' as const, value: null }),
});

const FAILURE_ENDINGS: ReadonlySet<unknown> = new Set<Ending>([
  'rejected',
  'deferred',
  'notDispatched',
  'inProgress',
  'ambiguous',
]);

function declaredEnding(thrown: unknown): Failure['ending'] | undefined {
  const endsAs = (thrown as { endsAs?: unknown } | null | undefined)?.endsAs;
  return FAILURE_ENDINGS.has(endsAs) ? (endsAs as Failure['ending']) : undefined;
}

function retryAfter(thrown: unknown): Record<string, string> | undefined {
  const ms = (thrown as { retryAfterMs?: unknown } | null | undefined)?.retryAfterMs;
  if (typeof ms !== 'number' || !Number.isFinite(ms) || ms < 0) return undefined;
  return { 'retry-after': String(Math.ceil(ms / 1000)) };
}
