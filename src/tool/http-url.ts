import { CallsheetError, type HttpRequestSpec } from '../sdk/index.ts';
import { definitionRefusal } from './definition.ts';
import type { CatalogueTool } from './port.ts';

/** The base below which an account's requests go: the sandbox's part for its provider, or the configured `baseUrl`. */
export function baseUrlOf(
  { id, provider, account }: CatalogueTool,
  sandboxUrl: string | undefined,
): string | undefined {
  if (account.mode !== 'sandbox') return account.baseUrl;
  if (sandboxUrl !== undefined) return `${sandboxUrl.replace(/\/+$/, '')}/${encodeURIComponent(provider)}`;
  throw new CallsheetError(
    'CONFIG_INVALID',
    `Tool ${id} cannot be called: provider ${provider} is in mode 'sandbox', and no sandbox is running.`,
    {
      details: { tool: id, field: `providers.${provider}.mode` },
      next: ['callsheet sandbox', `Or set providers.${provider}.mode to 'live' in callsheet.config.ts.`],
    },
  );
}

/**
 * The URL that a request goes to.
 *
 * A path is joined to the base. The origin of an absolute URL is replaced by the base, whose own path stays in front,
 * unless the URL is below the base already. The query is appended; null and undefined are left out.
 * Throws `TOOL_DEFINITION_INVALID`; no message repeats the URL, which may hold a secret.
 */
export function targetUrl(spec: HttpRequestSpec, tool: CatalogueTool, base: string | undefined): URL {
  const refuse = (problem: string): CallsheetError =>
    definitionRefusal(`Tool ${tool.id}: \`request\``, problem, tool.id);
  if (typeof spec.url !== 'string' || spec.url === '') throw refuse('returned no `url`');
  const text = /^[a-z][a-z0-9+.-]*:/i.test(spec.url) ? placed(spec.url, base) : joined(spec.url, base);
  if (text === undefined)
    throw refuse(
      `returned a path, and provider ${tool.provider} has no base URL; return an absolute URL or set providers.${tool.provider}.baseUrl`,
    );
  if (!URL.canParse(text)) throw refuse('returned a `url` that is none');
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw refuse('returned a `url` that is neither http nor https');
  if (url.username !== '' || url.password !== '')
    throw refuse('returned a `url` with a user name or password; send them in a header');
  if (base !== undefined && !isBelow(url.href, new URL(base).href))
    throw refuse("returned a path that leaves its provider's base URL");
  if (spec.query !== undefined) url.search = withQuery(url.search, spec.query, refuse);
  return url;
}

function joined(path: string, base: string | undefined): string | undefined {
  if (base === undefined || path.startsWith('//')) return undefined;
  return path.startsWith('?') ? `${base}${path}` : `${base}/${path.replace(/^\//, '')}`;
}

function placed(absolute: string, base: string | undefined): string {
  if (base === undefined || !URL.canParse(absolute)) return absolute;
  const url = new URL(absolute);
  return isBelow(url.href, new URL(base).href) ? absolute : `${base}${url.pathname}${url.search}`;
}

function isBelow(href: string, base: string): boolean {
  const prefix = base.replace(/\/+$/, '');
  return href.startsWith(prefix) && (href.length === prefix.length || '/?#'.includes(href.charAt(prefix.length)));
}

function withQuery(
  search: string,
  query: NonNullable<HttpRequestSpec['query']>,
  refuse: (problem: string) => CallsheetError,
): string {
  let text = search;
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined) continue;
    if (typeof value === 'object' || typeof value === 'function' || typeof value === 'symbol')
      throw refuse(`returned the query parameter ${name} as something that is no string, number or boolean`);
    text += `${text === '' ? '?' : '&'}${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`;
  }
  return text;
}
