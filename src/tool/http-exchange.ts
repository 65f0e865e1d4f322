import type { Dispatcher } from 'undici';
import { networkFailure } from './network-failure.ts';
import type { Failure, Operation } from './port.ts';
import type { OperationWatch, StopReason, Watched } from './watch.ts';

/** Larger bodies are not kept: 64 MiB. */
export const LARGEST_BODY_BYTES = 64 * 1024 * 1024;

export type Exchanged = HttpResponse | HttpBreak;

export interface HttpResponse {
  readonly kind: 'response';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** No whole answer. */
export interface HttpBreak {
  readonly kind: 'break';
  /** False exactly when no byte of the request can have gone out. */
  readonly dispatched: boolean;
  /** True where the request itself can't be sent, whenever it is tried. */
  readonly unsendable: boolean;
  readonly reason: StopReason | 'network';
  readonly networkKind: Failure['networkKind'];
  readonly said: string;
  /** The head of an answer that broke off. */
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;
}

/**
 * One request and what becomes of it, as a handler of undici's `dispatch`.
 *
 * Invariants
 *  1. `result` settles once, and never rejects.
 *  2. `dispatched` is true exactly when undici called `onRequestStart`: it writes to the socket right after, never before.
 *     A peer that resets a plain connection as it accepts it may be seen just before that or just after, so such a reset is
 *     now `notDispatched`, now `ambiguous`. (Holding new connections back for 2 or 20 turns of the event loop made no
 *     difference over 8 alternated rounds of 300: medians of 41 and 50 ambiguous, 40 without.)
 *  3. A second `onRequestStart` (undici sends some requests again by itself) is refused: a repeat that can cost money is
 *     decided in the call room. Throwing there leaves the connection usable, aborting would destroy it.
 *  4. Once over, the connection of a request that is still under way is destroyed.
 */
export class HttpExchange implements Dispatcher.DispatchHandler, Watched {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly result: Promise<Exchanged>;
  readonly #watch: OperationWatch;
  readonly #permit: Operation['permit'];
  #resolve: ((exchanged: Exchanged) => void) | undefined;
  #dispatched = false;
  #controller: Dispatcher.DispatchController | undefined;
  #status: number | undefined;
  #headers: Record<string, string> | undefined;
  #chunks: Buffer[] = [];
  #size = 0;

  constructor(
    { timeoutMs, signal, permit }: Pick<Operation, 'timeoutMs' | 'signal' | 'permit'>,
    watch: OperationWatch,
  ) {
    this.signal = signal;
    this.timeoutMs = timeoutMs;
    this.#watch = watch;
    this.#permit = permit;
    this.result = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    if (signal.aborted) this.stop('cancelled');
    else watch.add(this);
  }

  get over(): boolean {
    return this.#resolve === undefined;
  }

  stop(reason: StopReason): void {
    const said = reason === 'timeout' ? `there was no whole answer within ${this.timeoutMs} ms` : 'it was cancelled';
    this.#break({ reason, networkKind: reason === 'timeout' ? 'timeout' : undefined, said });
  }

  refuse(said: string): void {
    this.#break({ reason: 'network', networkKind: undefined, said });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.over) throw new Error('The request was given up before it was sent');
    if (this.#dispatched) {
      this.#break({
        reason: 'network',
        networkKind: 'reset',
        said: 'the connection was lost after the request had gone out',
      });
      throw new Error('The request was sent before');
    }
    this.#dispatched = true;
    this.#permit?.dispatched();
    this.#controller = controller;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHeaders): void {
    if (status < 200) return;
    this.#status = status;
    this.#headers = flatHeaders(headers);
    if (Number(this.#headers['content-length'] ?? 0) > LARGEST_BODY_BYTES) this.#tooLarge();
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size > LARGEST_BODY_BYTES) this.#tooLarge();
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const [only, second] = this.#chunks;
    const body = only !== undefined && second === undefined ? only : Buffer.concat(this.#chunks, this.#size);
    this.#end({ kind: 'response', status: this.#status ?? 0, headers: this.#headers ?? {}, body });
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (this.over) return;
    const unsendable = isUnsendable(error);
    const { networkKind, said } = networkFailure(error, this.#status !== undefined);
    if (unsendable && !this.#dispatched)
      this.#break({ reason: 'network', networkKind: undefined, said: error.message, unsendable });
    else this.#break({ reason: 'network', networkKind, said });
  }

  #tooLarge(): void {
    const said = `the answer is larger than ${LARGEST_BODY_BYTES / 1024 / 1024} MiB`;
    this.#break({ reason: 'network', networkKind: 'truncated', said });
  }

  #break(how: Pick<HttpBreak, 'reason' | 'networkKind' | 'said'> & { readonly unsendable?: boolean }): void {
    const facts = { dispatched: this.#dispatched, status: this.#status, headers: this.#headers };
    this.#end({ kind: 'break', unsendable: false, ...how, ...facts });
    this.#controller?.abort(new Error(how.said));
  }

  #end(exchanged: Exchanged): void {
    const resolve = this.#resolve;
    this.#resolve = undefined;
    this.#chunks = [];
    this.#watch.release(this);
    resolve?.(exchanged);
  }
}

type IncomingHeaders = Readonly<Record<string, string | string[] | undefined>>;

function flatHeaders(headers: IncomingHeaders): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (value !== undefined) flat[name.toLowerCase()] = typeof value === 'string' ? value : value.join(', ');
  }
  return flat;
}

/** undici refuses malformed headers, methods and paths before it takes a request in. */
function isUnsendable(error: Error): boolean {
  const { code } = error as { code?: unknown };
  return (
    code === 'UND_ERR_INVALID_ARG' || code === 'UND_ERR_NOT_SUPPORTED' || code === 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH'
  );
}
