import { type Clock, durationMs, systemClock } from '../scope/index.ts';
import { CallsheetError } from '../sdk/index.ts';
import { faultRules } from './faults.ts';
import { LIMIT_SPELLINGS, PROVIDERS } from './providers.ts';
import type { FaultRule, ProviderOverride, SandboxOptions, SandboxProvider } from './types.ts';

/** The options with their defaults. */
export interface SandboxSettings {
  readonly port: number;
  readonly seed: number;
  readonly clock: Clock;
  readonly limits: 'declared' | 'off';
  readonly providers: Readonly<Partial<Record<SandboxProvider, ProviderOverride>>>;
  readonly idempotency: boolean;
  readonly faults: readonly FaultRule[];
  readonly latencyMs: number;
  readonly jobMs: number;
  readonly ledgerFile: string | undefined;
}

const MOST_CALLS = 1_000_000;

/** Checks the options; throws `USAGE` that names the first one that can't be used. */
export function sandboxSettings(options: SandboxOptions): SandboxSettings {
  const settings: SandboxSettings = {
    port: options.port ?? 0,
    seed: options.seed ?? 1,
    clock: options.clock ?? systemClock,
    limits: options.limits ?? 'declared',
    providers: options.providers ?? {},
    idempotency: options.idempotency ?? true,
    faults: faultRules(options.faults ?? []),
    latencyMs: options.latencyMs ?? 0,
    jobMs: options.jobMs ?? 200,
    ledgerFile: options.ledgerFile,
  };
  whole('port', settings.port, { least: 0, most: 65_535 });
  whole('seed', settings.seed, { least: Number.MIN_SAFE_INTEGER, most: Number.MAX_SAFE_INTEGER });
  whole('latencyMs', settings.latencyMs, { least: 0, most: 3_600_000 });
  whole('jobMs', settings.jobMs, { least: 0, most: 3_600_000 });
  if (settings.limits !== 'declared' && settings.limits !== 'off')
    throw optionRefusal('limits', "must be 'declared' or 'off'");
  for (const [name, override] of Object.entries(settings.providers)) checkOverride(name, override);
  return settings;
}

function checkOverride(name: string, override: ProviderOverride): void {
  const place = `providers.${name}`;
  if (!(PROVIDERS as readonly string[]).includes(name))
    throw optionRefusal(place, `is no provider of the sandbox (${PROVIDERS.join(', ')})`);
  for (const [index, { calls, per }] of (override.rate ?? []).entries()) {
    whole(`${place}.rate[${index}].calls`, calls, { least: 1, most: MOST_CALLS });
    if (!((durationMs(per) ?? 0) > 0))
      throw optionRefusal(`${place}.rate[${index}].per`, "must be a duration such as '1s', or milliseconds");
  }
  if (override.concurrency !== undefined)
    whole(`${place}.concurrency`, override.concurrency, { least: 1, most: MOST_CALLS });
  if (override.spelling !== undefined && !LIMIT_SPELLINGS.includes(override.spelling))
    throw optionRefusal(`${place}.spelling`, `must be one of ${LIMIT_SPELLINGS.join(', ')}`);
}

function whole(name: string, value: number, range: { readonly least: number; readonly most: number }): void {
  if (!Number.isSafeInteger(value) || value < range.least || value > range.most)
    throw optionRefusal(name, `must be a whole number from ${range.least} to ${range.most}`);
}

function optionRefusal(name: string, problem: string): CallsheetError {
  return new CallsheetError('USAGE', `Sandbox option ${name} ${problem}.`, {
    details: { field: name },
    next: ['See src/sandbox/README.md for the options.'],
  });
}
