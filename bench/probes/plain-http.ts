/** The same requests with undici and p-limit, and nothing recorded. */
import pLimit from 'p-limit';
import { Pool } from 'undici';
import { Meter } from '../meter.ts';
import { probeOptions, tell } from '../probe.ts';

export interface PlainHttpOptions {
  readonly url: string;
  readonly calls: number;
  readonly concurrency: number;
}

const { url, calls, concurrency } = probeOptions<PlainHttpOptions>();
const pool = new Pool(url, { connections: concurrency });
const limit = pLimit(concurrency);
const headers = { authorization: 'Bearer sandbox-key' };
const meter = new Meter();
let found = 0;
async function ask(no: number): Promise<void> {
  const query = new URLSearchParams({
    first_name: `person${no}`,
    last_name: 'Ashvale',
    domain: `company${no % 5000}.example`,
  });
  const { statusCode, body } = await pool.request({ method: 'GET', path: `/hunter/v2/email-finder?${query}`, headers });
  const answer = (await body.json()) as { data?: { email?: string } };
  if (statusCode === 200 && answer.data?.email !== undefined) found++;
}
await Promise.all(Array.from({ length: calls }, (_, no) => limit(() => ask(no))));
const figures = meter.stop();
await pool.close();
tell({ ...figures, found });
