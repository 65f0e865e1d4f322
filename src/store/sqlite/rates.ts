import { CreditLedger, type LedgerOptions } from './credit-ledger.ts';
import { RateSlots } from './rate-slots.ts';
import { RatesFile, type RatesOptions } from './rates-file.ts';

/** `rates.db`: what the processes on one workspace share about limits of providers and of money. */
export interface Rates {
  readonly slots: RateSlots;
  ledger(name: string, options: LedgerOptions): CreditLedger;
  close(): void;
}

/** Opens the file at its first use, and remakes it where it is damaged. Throws nothing. */
export function openRates(options: RatesOptions): Rates {
  const file = new RatesFile(options);
  return {
    slots: new RateSlots(file),
    ledger: (name, of) => new CreditLedger(file, name, of),
    close: () => file.close(),
  };
}
