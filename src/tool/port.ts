import type { CallsheetError, Effect, Ending, JsonValue, ProviderLimits, Tool } from '../sdk/index.ts';

/** Who pays and answers: what limits and back-pressure belong to. */
export interface ProviderAccount {
  /** `provider/account`, with the mode where it is not live: the name people see. */
  readonly key: string;
  readonly provider: string;
  /** The account's name in the config; 'default' if none is given. */
  readonly name: string;
  readonly baseUrl: string | undefined;
  readonly mode: 'live' | 'sandbox' | 'fixture';
  readonly limits: ProviderLimits;
  /** Canonical text of provider, name, base URL and mode: the part of a receipt key that keeps accounts apart. */
  readonly authScope: string;
}

export type Validation =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly issues: readonly { readonly path: string; readonly message: string }[] };

/** A tool as the runtime uses it: its definition with every default filled in. */
export interface CatalogueTool {
  readonly id: string;
  readonly provider: string;
  readonly version: string;
  readonly definition: Tool;
  readonly account: ProviderAccount;
  readonly description: string;
  /** Digest of the definition (functions by their source text); a resume warns when it changed under one version. */
  readonly digest: string;
  /** True for tools that run a function of the author's instead of an HTTP request. */
  readonly isFunction: boolean;
  readonly timeoutMs: number;
  readonly maxTries: number;
  readonly reuseScope: 'workspace' | 'play' | 'run' | 'never';
  readonly staleAfterSeconds: number | undefined;
  /** Compatible versions, the tool's own first. */
  readonly versions: readonly string[];
  /** Highest possible credits of one call. */
  readonly maxCredits: number;
  readonly sendsIdempotencyKey: boolean;
  readonly secrets: readonly string[];
  effectOf(input: JsonValue): Effect;
  /** Synchronous where the schema allows it. */
  validateInput(input: unknown): Validation | Promise<Validation>;
  /** Undefined where the tool declares no `output`. */
  validateOutput(data: unknown): Validation | Promise<Validation> | undefined;
}

/** One physical request. */
export interface Operation {
  readonly tool: CatalogueTool;
  readonly input: JsonValue;
  /** What is sent as the provider's idempotency key; computed only when a transport asks. */
  readonly operationKey: () => string;
  /** Milliseconds until the request counts as timed out. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /**
   * Told in the very moment at which the request goes out: a connection may have to be made first, and a provider's limits
   * count arrivals. What is never told counts as gone out when it ends.
   */
  readonly permit?: { dispatched(): void } | undefined;
}

/** What the provider said, kept as it was said but for redacted secrets. */
export type RawAnswer =
  | {
      readonly kind: 'http';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
      /** 'base64' where the body is not UTF-8 text. */
      readonly encoding: 'utf8' | 'base64';
    }
  | {
      readonly kind: 'value';
      readonly value: JsonValue;
      /** Somebody other than the transport said it: whoever resolved the operation, or the tool's `reconcile`. */
      readonly given?: true;
    };

/** How an operation that was not answered ended. */
export interface Failure {
  readonly ending: Exclude<Ending, 'answered'>;
  /** For people; redacted. */
  readonly message: string;
  readonly status?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The first 2,000 characters of the body, redacted. */
  readonly bodyText?: string | undefined;
  readonly networkKind?: 'dns' | 'refused' | 'tls' | 'reset' | 'timeout' | 'truncated' | undefined;
  readonly requestId?: string | undefined;
  /**
   * Set where trying again cannot help (a secret that is not set, a `request` that threw, a missing fixture, a value that
   * is not JSON): the call ends with this error. `ending` still says what it means for money. Redacted.
   */
  readonly error?: CallsheetError | undefined;
}

export type Delivered = { readonly ending: 'answered'; readonly raw: RawAnswer } | Failure;

/** Carries one operation to a provider and says precisely how it ended. Never rejects. */
export interface Transport {
  send(operation: Operation): Promise<Delivered>;
  close(): Promise<void>;
}

/** Injected by the workspace: a secret's value, or undefined where it is not set. */
export type ReadSecret = (name: string) => string | undefined;
