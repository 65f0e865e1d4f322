import { CallsheetError, type HttpRequestSpec } from '../sdk/index.ts';
import { definitionRefusal } from './definition.ts';
import type { CatalogueTool } from './port.ts';

/** The base below which an account's requests go: the sandbox's part for its provider, or the configured `baseUrl`. */
function baseUrlOf({ id, provider, account }: CatalogueTool, sandboxUrl: string | undefined): string | undefined {
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

/** What the requests of an account go below, taken apart once. */
export interface HttpBase {
  /** As the author's `request` sees it. */
  readonly text: string;
  readonly origin: string;
  /** Its path, and all of it, without a slash at the end. */
  readonly path: string;
  readonly prefix: string;
}

/** The parts of a URL that a request goes to. */
export interface HttpTarget {
  readonly origin: string;
  readonly path: string;
  /** With its question mark; empty where there is no query. */
  readonly search: string;
}

/** Takes bases apart and remembers them: one for each tool, as long as a transport lives. */
export function httpBases(sandboxUrl: string | undefined): (tool: CatalogueTool) => HttpBase | undefined {
  const known = new Map<CatalogueTool, HttpBase | undefined>();
  return (tool) => {
    if (known.has(tool)) return known.get(tool);
    const text = baseUrlOf(tool, sandboxUrl);
    const base = text === undefined ? undefined : baseOf(text);
    known.set(tool, base);
    return base;
  };
}

function baseOf(text: string): HttpBase {
  const { href, origin, pathname } = new URL(text);
  return { text, origin, path: withoutSlash(pathname), prefix: withoutSlash(href) };
}

function withoutSlash(text: string): string {
  return text.replace(/\/+$/, '');
}

/**
 * Where a request goes to.
 *
 * A path is joined to the base. The origin of an absolute URL is replaced by the base, whose own path stays in front,
 * unless the URL is below the base already. The query is appended; null and undefined are left out.
 * Throws `TOOL_DEFINITION_INVALID`; no message repeats the URL, which may hold a secret.
 */
export function targetOf(spec: HttpRequestSpec, tool: CatalogueTool, base: HttpBase | undefined): HttpTarget {
  const refuse = (problem: string): CallsheetError =>
    definitionRefusal(`Tool ${tool.id}: \`request\``, problem, tool.id);
  if (typeof spec.url !== 'string' || spec.url === '') throw refuse('returned no `url`');
  const isAbsolute = /^[a-z][a-z0-9+.-]*:/i.test(spec.url);
  const text = isAbsolute ? spec.url : joined(spec.url, base?.text);
  if (text === undefined)
    throw refuse(
      `returned a path, and provider ${tool.provider} has no base URL; return an absolute URL or set providers.${tool.provider}.baseUrl`,
    );
  const url = URL.parse(text);
  if (url === null) throw refuse('returned a `url` that is none');
  const { search, query } = { search: url.search, query: spec.query };
  const whole = query === undefined ? search : withQuery(search, query, refuse);
  if (base !== undefined && !isBelow(url.href, base.prefix)) {
    if (!isAbsolute) throw refuse("returned a path that leaves its provider's base URL");
    return { origin: base.origin, path: `${base.path}${url.pathname}`, search: whole };
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw refuse('returned a `url` that is neither http nor https');
  if (url.username !== '' || url.password !== '')
    throw refuse('returned a `url` with a user name or password; send them in a header');
  return { origin: url.origin, path: url.pathname, search: whole };
}

function joined(path: string, base: string | undefined): string | undefined {
  if (base === undefined || path.startsWith('//')) return undefined;
  return path.startsWith('?') ? `${base}${path}` : `${base}/${path.replace(/^\//, '')}`;
}

/** `prefix` has no slash at its end. */
function isBelow(href: string, prefix: string): boolean {
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
    text += `${text === '' ? '?' : '&'}${encoded(name)}=${encoded(String(value))}`;
  }
  return text;
}

/** As a URL writes it: an apostrophe, which `encodeURIComponent` leaves alone, too. */
function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll("'", '%27');
}
