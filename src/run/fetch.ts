import { digest, IDENTITY_FORMAT, type Scope } from '../scope/index.ts';
import {
  CallsheetError,
  CtxFetchHttpError,
  type FetchInit,
  type FetchOptions,
  type FetchResult,
  type JsonValue,
  type SecretHandle,
} from '../sdk/index.ts';
import { resolveAuth } from '../secrets/index.ts';
import { redactorOf } from '../tool/index.ts';
import type { AttemptContext } from './attempt-context.ts';
import { boundaryIdentity } from './boundary.ts';
import { refuseHandles } from './json-result.ts';
import { keepAnswer, keptAnswer } from './kept.ts';

interface AskedFetch {
  readonly key: string;
  readonly url: string;
  readonly init: FetchInit;
  readonly options: FetchOptions;
}

type Kept = Omit<FetchResult, 'json'>;

const DEFAULT_TIMEOUT_MS = 60_000;
const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** `ctx.fetch`: a recorded HTTP request. Whatever status was answered is what every later attempt sees. */
export async function recordedFetch(context: AttemptContext, scope: Scope, asked: AskedFetch): Promise<FetchResult> {
  context.ending.assertGoing();
  const { key: label, url, init, options } = asked;
  const method = (init.method ?? 'GET').toUpperCase();
  checkRequest(asked, method);
  const identity = { url, method, headers: headersOf(init), body: bodyText(init.body), auth: secretNames(init) };
  const { key, inputDigest } = boundaryIdentity(scope, { kind: 'fetch', label, input: identity });
  if (options.transient === true) context.planning?.('fetch', label, scope);
  if (options.transient === true) return delivered(asked, await request(context, asked, method));
  const recorded = context.boundaries.find(scope, key);
  if (recorded !== undefined) return delivered(asked, JSON.parse(recorded.value) as Kept);
  const shared = options.staleAfterSeconds !== undefined && SAFE_METHODS.has(method);
  const receiptKey = digest(`[${IDENTITY_FORMAT},"fetch",${JSON.stringify(context.run.play)},"${inputDigest}"]`);
  const old = shared
    ? ((await keptAnswer(context, receiptKey, options.staleAfterSeconds)) as Kept | undefined)
    : undefined;
  if (old === undefined) context.planning?.('fetch', label, scope);
  const kept = old ?? (await request(context, asked, method));
  if (shared && old === undefined && kept.ok)
    await keepAnswer(context, {
      key: receiptKey,
      callId: key,
      tool: 'ctx.fetch',
      label,
      value: kept as unknown as JsonValue,
    });
  await context.boundaries.record(scope, {
    key,
    kind: 'fetch',
    label,
    path: scope.path,
    inputDigest,
    state: 'resolved',
    value: JSON.stringify(kept),
    at: context.deps.clock.now(),
  });
  return delivered(asked, kept);
}

function checkRequest({ key, url, init }: AskedFetch, method: string): void {
  const refuse = (problem: string, next: string): never => {
    throw new CallsheetError('FETCH_INVALID', `ctx.fetch '${key}': ${problem}.`, {
      details: { key, url },
      next: [next],
    });
  };
  if (typeof key !== 'string' || key.trim() === '')
    refuse('the key must be a label that is not empty', "ctx.fetch('label', url)");
  let parsed: URL | undefined;
  try {
    parsed = new URL(url);
  } catch {
    refuse(`'${String(url)}' is no absolute URL`, 'Give the whole URL, with https://.');
  }
  if (parsed?.protocol !== 'https:' && parsed?.protocol !== 'http:')
    refuse('only http and https are sent', 'Use an https URL.');
  refuseHandles(init.headers, `ctx.fetch '${key}': headers`);
  refuseHandles(init.body, `ctx.fetch '${key}': body`);
  const names = Object.keys(init.headers ?? {}).map((name) => name.toLowerCase());
  if (!SAFE_METHODS.has(method) && !names.includes('idempotency-key'))
    refuse(
      `${method} changes something and has no Idempotency-Key header, so it could not be repeated safely after a crash`,
      "Add headers: { 'Idempotency-Key': ctx.uuid('label') }, or make it a tool with its effect declared.",
    );
  const loopback = parsed !== undefined && ['localhost', '127.0.0.1', '[::1]'].includes(parsed.hostname);
  if (init.auth !== undefined && parsed?.protocol === 'http:' && !loopback)
    refuse('a secret is only sent over https', 'Use https.');
}

async function request(context: AttemptContext, { key, url, init }: AskedFetch, method: string): Promise<Kept> {
  const auth = resolveAuth(init.auth, context.deps.readSecret);
  // A provider may echo a credential; what is recorded never holds it.
  const redactor = redactorOf(auth.secrets);
  const signal = AbortSignal.any([context.ending.kill, AbortSignal.timeout(init.timeoutMs ?? DEFAULT_TIMEOUT_MS)]);
  try {
    const response = await fetch(url, {
      method,
      headers: { ...init.headers, ...auth.headers },
      ...(init.body !== undefined && { body: init.body as RequestInit['body'] & {} }),
      // A credential is for the host that the author named, not for the one that it points to.
      redirect: init.auth === undefined ? 'follow' : 'manual',
      signal,
    });
    const text = await response.text();
    return {
      ok: response.ok,
      status: response.status,
      statusText: response.statusText,
      url: response.url,
      headers: Object.fromEntries([...response.headers].map(([name, value]) => [name, redactor.text(value)])),
      bodyText: redactor.text(text),
    };
  } catch (error) {
    // Cut off by the end of the attempt, which is no failure of the request: the next attempt asks again.
    if (context.ending.kill.aborted) context.ending.assertGoing();
    const cause = (error as { cause?: { code?: string; message?: string } }).cause;
    throw new CallsheetError(
      'FETCH_FAILED',
      `ctx.fetch '${key}': ${method} ${url} got no whole answer (${cause?.code ?? cause?.message ?? String(error)}).`,
      {
        details: { key, url },
        retryable: true,
        next: ['Check the URL and the network; nothing was recorded, so the next attempt asks again.'],
      },
    );
  }
}

function delivered({ key, options }: AskedFetch, kept: Kept): FetchResult {
  if (!kept.ok && options.throwOnError !== false)
    throw new CtxFetchHttpError(
      `ctx.fetch '${key}': ${kept.url} answered ${kept.status} ${kept.statusText}.`,
      kept.status,
      kept.bodyText,
      {
        details: { key, url: kept.url, status: kept.status },
        next: ['Catch CtxFetchHttpError, or pass { throwOnError: false } and look at `status`.'],
      },
    );
  return { ...kept, json: jsonOf(kept.bodyText) };
}

function jsonOf(text: string): JsonValue {
  try {
    return text === '' ? null : (JSON.parse(text) as JsonValue);
  } catch {
    return null;
  }
}

/** Names only: another account's answer is another answer, a rotated secret's is not. */
function secretNames({ auth }: FetchInit): string[] {
  const handles =
    auth === undefined ? [] : Array.isArray(auth) ? (auth as readonly SecretHandle[]) : [auth as SecretHandle];
  return handles.map(({ name }) => name).sort();
}

function headersOf(init: FetchInit): Record<string, string> {
  return Object.fromEntries(
    Object.entries(init.headers ?? {}).map(([name, value]) => [name.toLowerCase(), String(value)]),
  );
}

function bodyText(body: FetchInit['body']): string | null {
  if (body === undefined) return null;
  return typeof body === 'string' ? body : `base64:${Buffer.from(body).toString('base64')}`;
}
