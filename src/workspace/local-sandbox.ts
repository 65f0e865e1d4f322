import { startSandbox } from '../sandbox/index.ts';

/** Where the providers of mode 'sandbox' are answered. */
export interface LocalSandbox {
  readonly url: string;
  /** True where this process runs it; false where `CALLSHEET_SANDBOX_URL` names one. */
  readonly own: boolean;
  /** What it has done and charged since its ledger began; undefined for somebody else's. */
  totals(): { readonly operations: number; readonly credits: number } | undefined;
  close(): Promise<void>;
}

/** The sandbox that the environment names, or one of our own whose ledger outlives the process. */
export async function openLocalSandbox(options: {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly ledgerFile: string;
}): Promise<LocalSandbox> {
  const named = options.env.CALLSHEET_SANDBOX_URL;
  if (named !== undefined && named !== '')
    return { url: named.replace(/\/+$/, ''), own: false, totals: () => undefined, close: () => Promise.resolve() };
  const sandbox = await startSandbox({ ledgerFile: options.ledgerFile });
  return { url: sandbox.url, own: true, totals: () => sandbox.totals(), close: () => sandbox.close() };
}
