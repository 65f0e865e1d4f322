import { type Clock, NotJsonError, systemClock } from '../scope/index.ts';
import type { JsonValue, Reconciled } from '../sdk/index.ts';
import { thrownMessage } from './failure.ts';
import { plainValue } from './plain-value.ts';
import type { Operation, ReadSecret } from './port.ts';
import { redactorOf } from './redaction.ts';
import { SecretReader } from './secret-reader.ts';
import { OperationWatch } from './watch.ts';

/** What a tool's `reconcile` found out; secrets are taken out of it. */
export type Reconciliation =
  | { readonly status: 'done'; readonly data: JsonValue }
  | { readonly status: 'notDone' }
  /** `message`: why nobody knows, for people. */
  | { readonly status: 'unknown'; readonly message: string };

/** Asks a tool that has `reconcile` what became of an operation. Never rejects. */
export type Reconcile = (operation: Operation) => Promise<Reconciliation>;

type Ask = (
  input: never,
  operationKey: string,
  context: { readonly signal: AbortSignal; readonly secret: (name: string) => string },
) => Reconciled | Promise<Reconciled>;

/** Runs `reconcile` of tools, with the secrets that they declare and the time-out of the call. */
export function reconciler(options: { readonly readSecret: ReadSecret; readonly clock?: Clock }): Reconcile {
  const watch = new OperationWatch(options.clock ?? systemClock);
  return async (operation) => {
    const { tool } = operation;
    const secrets = new SecretReader(tool, options.readSecret);
    const ask = tool.definition.reconcile as Ask | undefined;
    if (ask === undefined) return unknown(`${tool.id} has no \`reconcile\`.`);
    try {
      const told: unknown = await watched(watch, operation, (signal) =>
        ask(operation.input as never, operation.operationKey(), { signal, secret: (name) => secrets.read(name) }),
      );
      return read(told, { tool: tool.id, secrets });
    } catch (thrown) {
      const said = thrown instanceof NotJsonError ? `returned data that are not JSON (${thrown.message})` : undefined;
      const message = `Its \`reconcile\` ${said ?? `failed: ${thrownMessage(thrown)}`}.`;
      return unknown(redactorOf(secrets.used).text(message));
    }
  };
}

function unknown(message: string): Reconciliation {
  return { status: 'unknown', message };
}

function read(told: unknown, of: { readonly tool: string; readonly secrets: SecretReader }): Reconciliation {
  const { status, data } = (told ?? {}) as { status?: unknown; data?: unknown };
  if (status === 'notDone') return { status };
  if (status === 'unknown') return unknown('The provider cannot tell, either.');
  if (status === 'done') return { status, data: plainValue(data ?? null, redactorOf(of.secrets.used)) };
  return unknown(`\`reconcile\` of ${of.tool} returned neither 'done' nor 'notDone' nor 'unknown'.`);
}

/** Rejects once the time-out is over or the signal is aborted, whether or not the function heeds its own signal. */
function watched(
  watch: OperationWatch,
  operation: Operation,
  work: (signal: AbortSignal) => unknown,
): Promise<unknown> {
  const { signal, timeoutMs } = operation;
  const controller = new AbortController();
  return new Promise((resolve, reject) => {
    const stoppable = {
      signal,
      timeoutMs,
      stop: (reason: string) => {
        const error = new Error(reason === 'timeout' ? `it did not end within ${timeoutMs} ms` : 'it was cancelled');
        controller.abort(error);
        reject(error);
      },
    };
    watch.add(stoppable);
    Promise.resolve()
      .then(() => work(controller.signal))
      .then(resolve, reject)
      .finally(() => watch.release(stoppable));
  });
}
