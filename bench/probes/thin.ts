/**
 * The thinnest pipeline over the product's own store: identity, grouped look-up, function, receipt, journal entry, row.
 * What is between this and a run is datasets, scopes, gates, limits, contracts and reports.
 */
import { Lookup } from '../../src/call/index.ts';
import { canonicalJson, digest, systemClock } from '../../src/scope/index.ts';
import { newRun } from '../../src/store/conformance/samples.ts';
import { createCommitter, openSqliteStore, type WriteOf } from '../../src/store/index.ts';
import { Meter } from '../meter.ts';
import { probeOptions, tell } from '../probe.ts';

export interface ThinOptions {
  readonly path: string;
  readonly calls: number;
  /** Calls at once. */
  readonly pool: number;
}

const TOOL = { tool: 'bench.function', toolDigest: digest('bench.function') };
const { path, calls, pool } = probeOptions<ThinOptions>();
const store = await openSqliteStore({ path, clock: systemClock, release: 'bench' });
const committer = createCommitter(store, { clock: systemClock });
const lookup = new Lookup(store.calls);
const at = systemClock.now();
const run: WriteOf<'run'> = { kind: 'run', run: newRun('thin') };
await committer.commit([run]);
const lease = { runId: 'thin', attempt: 1, owner: 'bench', now: at, until: at + 3_600_000, takeOver: false };
await committer.commit([{ kind: 'lease', ...lease }]);
const fence = { runNo: run.no ?? 0, attempt: 1 };

interface Lead {
  readonly first_name: string;
  readonly last_name: string;
  readonly domain: string;
}

async function find({ first_name, last_name, domain }: Lead) {
  return { email: `${first_name}.${last_name}@${domain}`, score: 93, sources: ['web', 'crm'] };
}

async function ask(ordinal: number): Promise<void> {
  const lead = { first_name: `first${ordinal}`, last_name: `last${ordinal}`, domain: `company${ordinal}.example` };
  const input = canonicalJson(lead);
  const inputDigest = digest(input);
  const callId = digest(`["call",${ordinal},"${inputDigest}"]`);
  const key = digest(`["receipt","${TOOL.tool}","${inputDigest}"]`);
  if ((await lookup.byKey({ key, notBefore: undefined })) !== undefined) throw new Error(`${ordinal} was asked before`);
  const data = await find(lead);
  const raw = JSON.stringify({ kind: 'value', value: data });
  const bought = { version: '1', account: 'bench', durationMs: 0, runNo: fence.runNo, reusable: true };
  const receipt: WriteOf<'receipt'> = { kind: 'receipt', receipt: { key, callId, input, raw, at, ...TOOL, ...bought } };
  await committer.commit([receipt]);
  const { id: receiptId = 0 } = receipt;
  const how = { path: 'email', label: 'find', outcome: 'completed', source: 'live', effect: 'read' } as const;
  const entry = { callId, inputDigest, receiptId, at, ...TOOL, ...how, credits: 1, durationMs: 0, error: null };
  committer.defer([{ kind: 'call', fence, place: { datasetNo: 1, ordinal }, entry }]);
  const cells = JSON.stringify([data.email]);
  const row = { ordinal, state: 'completed', cells, error: null, trace: null, credits: 1, at } as const;
  committer.defer([{ kind: 'row', fence, datasetNo: 1, row }]);
}

let next = 0;
async function askOn(): Promise<void> {
  while (next < calls) await ask(next++);
}

const meter = new Meter();
await Promise.all(Array.from({ length: pool }, askOn));
await committer.flush();
const figures = meter.stop();
await store.close();
tell(figures);
