import type { ProviderLimits, Tool } from './tool.ts';

export interface ProviderConfig {
  /** The account's name; what limits, receipts and back-pressure belong to. Default 'default'. */
  readonly account?: string;
  /** Takes the place of the origin of the tools' URLs. */
  readonly baseUrl?: string;
  /** 'sandbox' sends this provider's calls to the local sandbox; its answers never pass for real ones. */
  readonly mode?: 'live' | 'sandbox';
  /** Overrides the limits of the provider's tools. */
  readonly limits?: ProviderLimits;
}

export interface CallsheetConfig {
  readonly tools?: readonly Tool[];
  readonly providers?: Readonly<Record<string, ProviderConfig>>;
  /** Ask before a run that may cost more credits; default 100. */
  readonly confirmAbove?: number;
  readonly creditsPerDay?: number;
  /** How long a call may be put off by a provider's limit; a duration, default '5m'. */
  readonly providerMaxWait?: string | number;
  /** Go on calling a tool whose own code failed on a kept answer. */
  readonly continueOnContractError?: boolean;
  /** Rows in flight; default 64. */
  readonly concurrency?: number;
}

/** Types the config; the workspace checks it against a schema when it opens. */
export function defineConfig(config: CallsheetConfig): CallsheetConfig {
  return config;
}
