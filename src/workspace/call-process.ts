import { type CallProcess, Claims, Lookup } from '../call/index.ts';
import { createGovernor, createPersistenceBreaker } from '../governor/index.ts';
import { type Chance, type Clock, durationMs } from '../scope/index.ts';
import { type CallsheetConfig, CallsheetError } from '../sdk/index.ts';
import { findSecretHandle } from '../secrets/index.ts';
import { createCommitter, type Store } from '../store/index.ts';
import type { Catalogue, Transport } from '../tool/index.ts';

const DEFAULT_MAX_WAIT_MS = 300_000;

/** What all calls of this process share, over a store and a transport. */
export function callProcess(parts: {
  readonly config: CallsheetConfig;
  readonly catalogue: Catalogue;
  readonly store: Store;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly chance: Chance;
}): CallProcess {
  const { config, catalogue, store, transport, clock, chance } = parts;
  const persistence = createPersistenceBreaker();
  const committer = createCommitter(store, {
    clock,
    // A stale attempt or a taken lease is one writer's matter; a store that cannot be written is everyone's.
    onFailure: (error) => {
      if (error instanceof CallsheetError && error.code.startsWith('STORE_')) persistence.open(error.message);
    },
  });
  const maxWait = durationMs(config.providerMaxWait ?? DEFAULT_MAX_WAIT_MS) ?? DEFAULT_MAX_WAIT_MS;
  return {
    catalogue,
    transport,
    governor: createGovernor({ clock, chance, persistence, providerMaxWaitMs: maxWait }),
    persistence,
    reads: store.calls,
    committer,
    clock,
    chance,
    claims: new Claims(),
    lookup: new Lookup(store.calls),
    findSecretHandle,
    continueOnContractError: config.continueOnContractError ?? false,
  };
}
