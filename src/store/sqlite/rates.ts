import { ClosedGates } from './closed-gates.ts';
import { CreditLedger, type LedgerOptions } from './credit-ledger.ts';
import { InflightPlaces } from './inflight-places.ts';
import { RateSlots } from './rate-slots.ts';
import { RatesFile, type RatesOptions } from './rates-file.ts';
import { ReachedAccounts } from './reached-accounts.ts';
import { TryLog } from './try-log.ts';

/** `rates.db`: what the processes on one workspace share about limits of providers and of money. */
export interface Rates {
  readonly slots: RateSlots;
  readonly places: InflightPlaces;
  readonly gates: ClosedGates;
  readonly reached: ReachedAccounts;
  readonly tries: TryLog;
  ledger(name: string, options: LedgerOptions): CreditLedger;
  /** `last` is done with the lock waited for, so that what it changes is kept. */
  close(last?: () => void): void;
}

/** Opens the file at its first use, and remakes it where it is damaged. Throws nothing. */
export function openRates(options: RatesOptions): Rates {
  const file = new RatesFile(options);
  return {
    slots: new RateSlots(file),
    places: new InflightPlaces(file),
    gates: new ClosedGates(file),
    reached: new ReachedAccounts(file),
    tries: new TryLog(file),
    ledger: (name, of) => new CreditLedger(file, name, of),
    close: (last) => file.close(last),
  };
}
