export type Effect = 'read' | 'idempotent' | 'write';

export interface HttpRequestSpec {
  readonly method?: string;
  /** Absolute, or a path below the provider's `baseUrl`. */
  readonly url: string;
  readonly query?: Readonly<Record<string, string | number | boolean | null | undefined>>;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** A string or bytes go out as they are; anything else as JSON. */
  readonly body?: unknown;
}

export interface ToolResponseView<Input> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed body, or undefined where it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: a provider's body has no type before the author gives it one
  readonly json: any;
  readonly text: string;
  readonly input: Input;
}

export type ToolReading =
  | { readonly status: 'completed'; readonly data: unknown; readonly meta?: unknown; readonly jobId?: string }
  | { readonly status: 'no_result'; readonly data?: unknown; readonly meta?: unknown; readonly jobId?: string }
  | { readonly status: 'pending'; readonly data?: unknown; readonly meta?: unknown; readonly jobId?: string };

export type Ending = 'answered' | 'rejected' | 'deferred' | 'notDispatched' | 'inProgress' | 'ambiguous';
