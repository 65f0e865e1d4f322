/** The local provider: endpoints shaped like the trade's, with limits, faults and a ledger of what it charged. */
export { SANDBOX_COMPANIES, type SandboxCompany } from './data/companies.ts';
export { FAMILY_NAMES, GIVEN_NAMES, TITLES } from './data/person-names.ts';
export { startSandbox } from './server.ts';
export type {
  EndpointTotals,
  Fault,
  FaultKind,
  FaultRule,
  LedgerEntry,
  LedgerTotals,
  LimitSpelling,
  ProviderOverride,
  Sandbox,
  SandboxOptions,
  SandboxProvider,
} from './types.ts';
