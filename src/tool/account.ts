import { canonicalJson, durationMs } from '../scope/index.ts';
import type { ProviderConfig, ProviderLimits, RateLimit, Tool } from '../sdk/index.ts';
import { checkLimits, configRefusal } from './definition.ts';
import { namesProblem, PROVIDER_NAMES } from './part-names.ts';
import type { ProviderAccount } from './port.ts';

export type CatalogueMode = 'live' | 'fixture';

/**
 * The account that pays for a provider's tools.
 *
 * Limits: each field that the config sets takes the place of what the tools say. Of the tools' own limits every one
 * holds: windows of different lengths add up, and where two tools declare the same window, or both a concurrency, the
 * stricter counts, since a provider counts all calls of an account together.
 */
export function providerAccount(
  provider: string,
  tools: readonly Tool[],
  { config, mode }: { config: ProviderConfig | undefined; mode: CatalogueMode },
): ProviderAccount {
  const place = `providers.${provider}`;
  const unknown = config === undefined ? undefined : namesProblem(config, PROVIDER_NAMES);
  if (unknown !== undefined) throw configRefusal(place, unknown);
  const name = config?.account ?? 'default';
  if (typeof name !== 'string' || name.trim() === '') throw configRefusal(`${place}.account`, 'must be a name');
  if (config?.mode !== undefined && config.mode !== 'live' && config.mode !== 'sandbox')
    throw configRefusal(`${place}.mode`, "must be 'live' or 'sandbox'");
  if (config?.limits !== undefined) checkLimits(config.limits, { place: `${place}.limits`, refuse: configRefusal });
  const accountMode = mode === 'fixture' ? 'fixture' : (config?.mode ?? 'live');
  const baseUrl = config?.baseUrl === undefined ? undefined : plainBaseUrl(config.baseUrl, `${place}.baseUrl`);
  return {
    key: `${provider}/${name}${accountMode === 'live' ? '' : `:${accountMode}`}`,
    provider,
    name,
    baseUrl,
    mode: accountMode,
    limits: mergedLimits(tools, config?.limits),
    // Another port of the sandbox, or another folder of fixtures, is the same account.
    authScope: canonicalJson([provider, name, accountMode === 'live' ? (baseUrl ?? null) : accountMode, accountMode]),
  };
}

/** Without the slash at its end, so that both spellings are one account. */
function plainBaseUrl(text: string, place: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw configRefusal(place, "must be an absolute http or https URL such as 'https://api.example.com'");
  if (url.search !== '' || url.hash !== '') throw configRefusal(place, 'must have no query and no fragment');
  if (url.username !== '' || url.password !== '') throw configRefusal(place, 'must hold no user name or password');
  return url.href.replace(/\/+$/, '');
}

function mergedLimits(tools: readonly Tool[], override: ProviderLimits | undefined): ProviderLimits {
  const rate = override?.rate ?? strictestRates(tools);
  const declared = tools.flatMap((tool) => tool.limits?.concurrency ?? []);
  const concurrency = override?.concurrency ?? (declared.length === 0 ? undefined : Math.min(...declared));
  return { ...(rate.length === 0 ? {} : { rate }), ...(concurrency === undefined ? {} : { concurrency }) };
}

function strictestRates(tools: readonly Tool[]): readonly RateLimit[] {
  const byWindow = new Map<number, RateLimit>();
  for (const rate of tools.flatMap((tool) => tool.limits?.rate ?? [])) {
    const window = durationMs(rate.per) ?? 0;
    const known = byWindow.get(window);
    if (known === undefined) byWindow.set(window, rate);
    else
      byWindow.set(window, {
        calls: Math.min(known.calls, rate.calls),
        per: known.per,
        ...(known.smooth || rate.smooth ? { smooth: true } : {}),
      });
  }
  return [...byWindow.values()];
}
