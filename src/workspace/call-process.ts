import { BatchSizes, type CallProcess, Claims, Lookup, type Rescue } from '../call/index.ts';
import {
  createGovernor,
  createPersistenceBreaker,
  type GovernorOptions,
  type PersistenceBreaker,
} from '../governor/index.ts';
import { type Chance, type Clock, durationMs } from '../scope/index.ts';
import { type CallsheetConfig, CallsheetError } from '../sdk/index.ts';
import { findSecretHandle } from '../secrets/index.ts';
import { createCommitter, type Store, type TryLog } from '../store/index.ts';
import type { Catalogue, Reconcile, Transport } from '../tool/index.ts';

const DEFAULT_MAX_WAIT_MS = 300_000;

/** What all calls of this process share, over a store and a transport. */
export function callProcess(parts: {
  readonly config: CallsheetConfig;
  readonly catalogue: Catalogue;
  readonly store: Store;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly rescue: Rescue;
  /** Brings back what was rescued, before provider calls go out again. */
  readonly importRescued: () => Promise<unknown>;
  readonly reconcile: Reconcile | undefined;
  readonly rereadSecret: (name: string) => boolean;
  /** Where limits are kept; in memory where it is not given. */
  readonly rates: Pick<GovernorOptions, 'rateState' | 'placeState' | 'gateState' | 'reachState' | 'asker'>;
  readonly tryLog: TryLog | undefined;
}): CallProcess {
  const { config, catalogue, store, transport, clock, chance, rescue, reconcile, rereadSecret } = parts;
  const persistence = createPersistenceBreaker();
  const committer = createCommitter(store, {
    clock,
    // A stale attempt or a taken lease is one writer's matter; a store that cannot be written is everyone's.
    onFailure: (error) => {
      if (error instanceof CallsheetError && error.code.startsWith('STORE_')) persistence.open(error.message);
    },
  });
  persistence.onOpen(() => closeOnceProved(parts, persistence));
  const maxWait = durationMs(config.providerMaxWait ?? DEFAULT_MAX_WAIT_MS) ?? DEFAULT_MAX_WAIT_MS;
  return {
    catalogue,
    transport,
    governor: createGovernor({ clock, chance, persistence, providerMaxWaitMs: maxWait, ...parts.rates }),
    persistence,
    reads: store.calls,
    tryLog: parts.tryLog,
    committer,
    clock,
    chance,
    claims: new Claims(),
    lookup: new Lookup(store.calls),
    batchSizes: new BatchSizes(),
    findSecretHandle,
    continueOnContractError: config.continueOnContractError ?? false,
    rescue,
    reconcile,
    rereadSecret,
  };
}

const PROBE_MS = 1000;

/** Looks every second whether the store takes writes again; what was rescued is in it before anything is bought. */
function closeOnceProved(
  parts: { readonly store: Store; readonly clock: Clock; readonly importRescued: () => Promise<unknown> },
  persistence: PersistenceBreaker,
): void {
  const { store, clock, importRescued } = parts;
  const look = async (): Promise<void> => {
    if (!(await store.probe())) throw new Error('not yet');
    await importRescued();
    persistence.close();
  };
  // A process that has nothing else to do need not wait for it.
  clock.after(PROBE_MS, () => void look().catch(() => closeOnceProved(parts, persistence)), { keepAlive: false });
}
