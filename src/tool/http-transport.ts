import { STATUS_CODES } from 'node:http';
import { type Clock, systemClock } from '../scope/index.ts';
import { CallsheetError, type Ending, type HttpTool } from '../sdk/index.ts';
import { answerView, decodedBody, keptBody } from './body-text.ts';
import { cancelledBefore, effectOf, thrownFailure, thrownMessage } from './failure.ts';
import { openHttpClient } from './http-client.ts';
import { endingOfStatus } from './http-ending.ts';
import type { Exchanged, HttpBreak, HttpResponse } from './http-exchange.ts';
import { type HttpRequest, prepareRequest } from './http-request.ts';
import { httpBases } from './http-url.ts';
import { keptHeaders, requestIdOf } from './kept-headers.ts';
import type { Delivered, Failure, Operation, ReadSecret, Transport } from './port.ts';
import { type Redactor, redactorOf } from './redaction.ts';
import { SecretReader } from './secret-reader.ts';

export interface HttpTransportOptions {
  readonly readSecret: ReadSecret;
  /** Where calls of accounts in mode 'sandbox' go; each provider has a folder below it. */
  readonly sandboxUrl?: string | undefined;
  readonly clock?: Clock | undefined;
  /** Sockets to one origin of one account; default 256. */
  readonly connections?: number | undefined;
}

const EXCERPT = 2_000;
/** How much of a body a message repeats. */
const SAID = 200;
/** Enough of a body that a secret which ends behind the excerpt is still seen whole. */
const EXCERPT_WINDOW = 65_536;

/** Carries operations of HTTP tools. One request each, no redirects, no repeats; secrets stay inside. */
export function httpTransport(options: HttpTransportOptions): Transport {
  const { readSecret, sandboxUrl, clock = systemClock, connections } = options;
  const client = openHttpClient({ clock, connections });
  const baseOf = httpBases(sandboxUrl);
  return {
    send(operation) {
      const { tool, signal, timeoutMs, permit } = operation;
      if (signal.aborted) return Promise.resolve(cancelledBefore(tool));
      const secrets = new SecretReader(tool, readSecret);
      let request: HttpRequest;
      try {
        request = prepareRequest(operation, secrets, baseOf(tool));
      } catch (thrown) {
        const facts = { tool, secrets, ending: 'rejected', where: '`request`', code: 'TOOL_THREW' } as const;
        return Promise.resolve(thrownFailure(thrown, facts));
      }
      const delivery = new Delivery(operation, request.label, redactorOf(secrets.used));
      return client
        .exchange(request, { accountKey: tool.account.key, timeoutMs, signal, permit })
        .then((exchanged) => delivery.of(exchanged));
    },
    close: () => client.close(),
  };
}

/** Reads what an exchange brought as the ending of its operation. */
class Delivery {
  readonly #operation: Operation;
  readonly #label: string;
  readonly #redactor: Redactor;

  constructor(operation: Operation, label: string, redactor: Redactor) {
    this.#operation = operation;
    this.#label = label;
    this.#redactor = redactor;
  }

  of(exchanged: Exchanged): Delivered | Promise<Delivered> {
    if (exchanged.kind === 'break') return this.#broken(exchanged);
    const encoding = exchanged.headers['content-encoding'];
    if (encoding === undefined || exchanged.body.length === 0) return this.#read(exchanged);
    return decodedBody(exchanged.body, encoding).then(
      (body) => this.#read({ ...exchanged, body }),
      (error: unknown) => this.#undecodable(exchanged, error),
    );
  }

  #broken({ dispatched, unsendable, reason, networkKind, said, status, headers }: HttpBreak): Failure {
    if (!dispatched && reason === 'cancelled') return cancelledBefore(this.#operation.tool);
    if (unsendable) return this.#unsendable(said);
    const sent = dispatched ? 'was sent, but' : 'was not sent:';
    return {
      ending: dispatched ? 'ambiguous' : 'notDispatched',
      message: this.#redactor.text(`${this.#label} ${sent} ${said}`),
      ...(networkKind === undefined ? {} : { networkKind }),
      ...this.#head(status, headers),
    };
  }

  #unsendable(said: string): Failure {
    const { tool } = this.#operation;
    const message = this.#redactor.text(`Tool ${tool.id}: \`request\` returned what cannot be sent: ${said}`);
    const error = new CallsheetError('TOOL_DEFINITION_INVALID', `${message}.`, {
      details: { tool: tool.id },
      next: [`Mend \`request\` in the definition of ${tool.id} and run again.`],
    });
    return { ending: 'rejected', message, error };
  }

  #read(response: HttpResponse): Delivered {
    const ending = this.#ending(response);
    if (ending !== 'answered') return this.#refused(response, ending);
    const { status } = response;
    const kept = keptBody(response.body);
    const headers = keptHeaders(response.headers, this.#redactor);
    const clean =
      kept.encoding === 'utf8'
        ? { body: this.#redactor.text(kept.body), encoding: kept.encoding }
        : { body: this.#redactor.bytes(response.body).toString('base64'), encoding: kept.encoding };
    return { ending, raw: { kind: 'http', status, headers, ...clean } };
  }

  #refused({ status, headers, body }: HttpResponse, ending: Failure['ending']): Failure {
    const bodyText = this.#redactor.text(body.subarray(0, EXCERPT_WINDOW).toString()).slice(0, EXCERPT).toWellFormed();
    // Where the tool itself says that a success is none, the status tells people nothing.
    const said = status < 300 && bodyText !== '' ? `: ${bodyText.slice(0, SAID).toWellFormed()}` : '';
    return {
      ending,
      message: this.#redactor.text(`${this.#label} was answered ${statusWords(status)}${said}`),
      ...this.#head(status, headers),
      ...(bodyText === '' ? {} : { bodyText }),
    };
  }

  #undecodable(response: HttpResponse, error: unknown): Delivered {
    const ending = this.#ending({ ...response, body: Buffer.alloc(0) });
    if (ending !== 'answered') return this.#refused({ ...response, body: Buffer.alloc(0) }, ending);
    const said = `was answered ${statusWords(response.status)}, but the body cannot be decoded: ${thrownMessage(error)}`;
    return {
      ending: 'ambiguous',
      message: this.#redactor.text(`${this.#label} ${said}`),
      networkKind: 'truncated',
      ...this.#head(response.status, response.headers),
    };
  }

  #head(status: number | undefined, headers: HttpResponse['headers'] | undefined): Partial<Failure> {
    if (status === undefined) return {};
    const kept = keptHeaders(headers ?? {}, this.#redactor);
    const requestId = requestIdOf(kept);
    return { status, headers: kept, ...(requestId === undefined ? {} : { requestId }) };
  }

  #ending(response: HttpResponse): Ending {
    const definition = this.#operation.tool.definition as unknown as HttpTool<unknown>;
    const { status } = response;
    const declared = definition.classify === undefined ? undefined : classified(definition.classify, response);
    if (declared !== undefined) return declared;
    const keyed = this.#operation.tool.sendsIdempotencyKey;
    // Only one status asks for the effect, which may be a function of the author's.
    const isWrite = status === 503 && effectOf(this.#operation) === 'write';
    return endingOfStatus({ status, noResult: definition.noResult, isWrite, keyed });
  }
}

const ENDINGS: ReadonlySet<unknown> = new Set<Ending>([
  'answered',
  'rejected',
  'deferred',
  'notDispatched',
  'inProgress',
  'ambiguous',
]);

/** A `classify` that throws or returns no ending must not cost a paid answer: the status decides then. */
function classified(classify: NonNullable<HttpTool<unknown>['classify']>, response: HttpResponse): Ending | undefined {
  try {
    const { status, headers, body } = response;
    const ending: unknown = classify(answerView({ kind: 'http', status, headers, ...keptBody(body) }));
    return ENDINGS.has(ending) ? (ending as Ending) : undefined;
  } catch {
    return undefined;
  }
}

function statusWords(status: number): string {
  const words = STATUS_CODES[status];
  return words === undefined ? String(status) : `${status} ${words}`;
}
