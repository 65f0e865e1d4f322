import { onTestFinished } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../src/sandbox/index.ts';

export interface TestAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: bodies have as many shapes as there are endpoints
  readonly json: any;
}

export interface TestRequest {
  /** Makes it a POST. */
  readonly body?: unknown;
  readonly method?: 'GET' | 'POST' | 'DELETE' | 'PUT';
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface TestSandbox extends Sandbox {
  readonly ask: (path: string, options?: TestRequest) => Promise<TestAnswer>;
  /** Asks hunter for an invented person. */
  readonly hunter: (firstName: string, headers?: Readonly<Record<string, string>>) => Promise<TestAnswer>;
}

/** A sandbox and a client for one test; both end with it. Requests carry an API key unless they say otherwise. */
export async function testSandbox(options: SandboxOptions = {}): Promise<TestSandbox> {
  const sandbox = await startSandbox(options);
  onTestFinished(() => sandbox.close());
  const ask = async (path: string, how: TestRequest = {}): Promise<TestAnswer> => {
    const { body, signal, method = body === undefined ? 'GET' : 'POST' } = how;
    const answer = await fetch(sandbox.url + path, {
      method,
      headers: { authorization: 'Bearer test-key', ...how.headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
    const text = await answer.text();
    return { status: answer.status, headers: Object.fromEntries(answer.headers), text, json: parsed(text) };
  };
  const hunter: TestSandbox['hunter'] = (firstName, headers = {}) => ask(hunterPath(firstName), { headers });
  return { ...sandbox, ask, hunter };
}

export function hunterPath(firstName: string, domain = 'stripe.com'): string {
  return `/hunter/v2/email-finder?${new URLSearchParams({ domain, first_name: firstName, last_name: 'Ashvale' })}`;
}

/** Lets the sandbox and the client work until a condition holds; gives up after many turns of the event loop. */
export async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 200_000; turn++) {
    if (condition()) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  throw new Error('the condition did not come to hold');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
