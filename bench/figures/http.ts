import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { type Bench, type Figure, medianOf } from '../figure.ts';
import type { Figures } from '../meter.ts';
import { runProbe, startProbe } from '../probe.ts';
import type { PlainHttpOptions } from '../probes/plain-http.ts';
import type { ProductOptions, ProductResult } from '../probes/product.ts';
import type { SandboxOptions, SandboxResult } from '../probes/sandbox.ts';
import { SMALL_ROWS, writeSubject } from '../subject.ts';

const CALLS = 20_000;
const CONCURRENCY = 64;
const PACE = 50;

/** HTTP calls a second against undici with p-limit. */
export async function http(bench: Bench): Promise<readonly Figure[]> {
  const calls = bench.size(CALLS);
  const rounds = await bench.repeat('http', async () => {
    const plain = await withSandbox({}, (url) => {
      const options: PlainHttpOptions = { url, calls, concurrency: CONCURRENCY };
      return runProbe<Figures>('plain-http', options);
    });
    const product = await withSandbox({}, (url) => run(bench, { calls, url, limits: { concurrency: CONCURRENCY } }));
    return { plain: plain.result, product: product.result };
  });
  return [
    {
      name: `HTTP calls a second to the sandbox, ${calls} calls`,
      against: 'undici with p-limit, nothing recorded',
      value: medianOf(rounds, ({ plain, product }) => (100 * plain.seconds) / product.seconds),
      unit: '%',
      least: 60,
      from: {
        product: medianOf(rounds, (round) => calls / round.product.seconds),
        plain: medianOf(rounds, (round) => calls / round.plain.seconds),
      },
    },
  ];
}

/** Calls a second under a declared limit, and how often the provider had to say 429. */
export async function pacing(bench: Bench): Promise<readonly Figure[]> {
  const calls = bench.size(1000);
  const { served } = await bench.once('pacing', () =>
    withSandbox({ callsPerSecond: PACE }, (url) =>
      run(bench, { calls, url, limits: { rate: [{ calls: PACE, per: '1s' }], concurrency: CONCURRENCY } }),
    ),
  );
  // Under a backlog: whole windows, from the begin of the second to that of the last.
  const pace = 1000 / served.msPerCall;
  const deferred = served.refused['429'] ?? 0;
  return [
    {
      name: `calls a second under a declared ${PACE}/s, ${calls} calls`,
      against: `${PACE}/s`,
      value: (100 * pace) / PACE,
      unit: '%',
      least: 98,
      from: { pace, status429: deferred },
    },
    { name: 'answers of 429 under it', against: '–', value: deferred, unit: '×', most: 0, from: {} },
  ];
}

async function run(
  bench: Bench,
  { calls, url, limits }: { calls: number; url: string; limits: NonNullable<ProductOptions['limits']> },
): Promise<ProductResult> {
  const dir = bench.place();
  await writeSubject(dir, { ...SMALL_ROWS, source: 'iterable', rows: calls, tool: 'http' });
  const options: ProductOptions = { dir, limits, sandboxUrl: url, concurrency: CONCURRENCY };
  return runProbe<ProductResult>('product', options);
}

async function withSandbox<Result>(
  options: SandboxOptions,
  use: (url: string) => Promise<Result>,
): Promise<{ readonly result: Result; readonly served: SandboxResult }> {
  const child = startProbe('sandbox', options);
  if (child.stdout === null) throw new Error('The sandbox has no stdout.');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const line = async (): Promise<string> => String((await lines.next()).value);
  const closed = once(child, 'close');
  try {
    const { url } = JSON.parse(await line()) as { url: string };
    const result = await use(url);
    child.stdin?.end();
    return { result, served: JSON.parse(await line()) as SandboxResult };
  } finally {
    child.stdin?.end();
    await closed;
  }
}
