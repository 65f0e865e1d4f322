/**
 * What the store can do without a pipeline above it, against bare SQLite on the same machine.
 *
 *   node bench/store-bare.ts [calls] [rounds]      (100000 calls, 5 rounds)
 *
 * bare     one 200-byte row a call, near-sequential integer key, groups of 64, synchronous=FULL
 * store    receipt, journal entry and row of each call through `Store.commit`, in the groups a run of pool 64 makes:
 *          64 receipts, and with them the entries and rows of the 64 calls before
 *
 * Prints JSON: medians of alternated rounds, since machines differ and drift.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { digest, systemClock } from '../src/scope/index.ts';
import { openSqliteStore, type Store, type Unit } from '../src/store/index.ts';
import { Database } from '../src/store/sqlite/driver.ts';

const GROUP = 64;

interface Figure {
  readonly callsPerSecond: number;
  readonly cpuMicrosPerCall: number;
  readonly longestStallMs: number;
  readonly rssMb: number;
}

function measureBare(path: string): Figure {
  const db = new Database(path);
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  db.exec('CREATE TABLE bare (id INTEGER PRIMARY KEY, value TEXT)');
  const insert = db.statement('INSERT INTO bare VALUES (?, ?)');
  const value = 'x'.repeat(200);
  const meter = new Meter();
  for (let first = 0; first < calls; first += GROUP)
    meter.group(() => {
      db.begin();
      for (let call = first; call < Math.min(calls, first + GROUP); call++) insert.run(call + 1, value);
      db.commit();
    });
  db.close();
  return meter.figure();
}

async function measureStore(path: string): Promise<Figure> {
  const store = await openSqliteStore({ path, clock: systemClock, release: '0.0.0-bench' });
  await startRun(store);
  const meter = new Meter();
  let before: readonly number[] = [];
  for (let first = 0; first < calls + GROUP; first += GROUP) {
    const receipts: Unit[] = [];
    for (let call = first; call < Math.min(calls, first + GROUP); call++) receipts.push(receiptUnit(call));
    const group = [...before.map((id) => settledUnit(id - 1, id)), ...receipts];
    if (group.length === 0) break;
    const outcomes = await meter.groupAsync(() => store.commit(group));
    const failed = outcomes.find((outcome) => !outcome.ok);
    if (failed?.ok === false) throw failed.error;
    before = receipts.map((unit) => (unit[0]?.kind === 'receipt' ? (unit[0].id ?? 0) : 0));
  }
  const counts = await store.datasets.rowCounts(1, 1);
  if (counts.completed !== calls) throw new Error(`${counts.completed} rows are stored, not ${calls}.`);
  await store.close();
  return meter.figure();
}

/** Adds up the time inside the store only: making the data is not what is measured. */
class Meter {
  #wallMs = 0;
  #cpuMicros = 0;
  #longestMs = 0;
  #rss = 0;
  #groups = 0;

  group(work: () => void): void {
    const end = this.#begin();
    work();
    end();
  }

  async groupAsync<T>(work: () => Promise<T>): Promise<T> {
    const end = this.#begin();
    const value = await work();
    end();
    return value;
  }

  figure(): Figure {
    return {
      callsPerSecond: Math.round((calls / this.#wallMs) * 1000),
      cpuMicrosPerCall: round2(this.#cpuMicros / calls),
      longestStallMs: round2(this.#longestMs),
      rssMb: Math.round(this.#rss / 1024 / 1024),
    };
  }

  #begin(): () => void {
    const cpu = process.cpuUsage();
    const at = performance.now();
    return () => {
      const tookMs = performance.now() - at;
      const { user, system } = process.cpuUsage(cpu);
      this.#wallMs += tookMs;
      this.#cpuMicros += user + system;
      this.#longestMs = Math.max(this.#longestMs, tookMs);
      if (this.#groups++ % 256 === 0) this.#rss = Math.max(this.#rss, process.memoryUsage().rss);
    };
  }
}

const AT = Date.parse('2026-01-01T00:00:00Z');
const FENCE = { runNo: 1, attempt: 1 };
const TOOL_DIGEST = digest('tool');

async function startRun(store: Store): Promise<void> {
  const run = {
    id: 'run_bench',
    play: 'bench',
    artifact: 'a',
    input: '{}',
    options: '{}',
    seed: 's',
    identityFormat: 1,
    createdAt: AT,
    rootRunId: 'run_bench',
    parentRunId: null,
    replayedFrom: null,
    idempotencyKey: null,
  };
  const lease = { runId: run.id, attempt: 1, owner: 'bench', now: AT, until: AT + 15_000, takeOver: false };
  await store.commit([
    [
      { kind: 'run', run },
      { kind: 'lease', ...lease },
    ],
  ]);
}

function receiptUnit(call: number): Unit {
  const raw = { status: 200, headers: {}, body: { email: `person.${call}@company-${call}.example`, confidence: 0.93 } };
  const receipt = {
    key: digest(`key ${call}`),
    tool: 'bench.find_email',
    version: '1',
    toolDigest: TOOL_DIGEST,
    account: 'bench/default',
    inputDigest: digest(`input ${call}`),
    input: `{"domain":"company-${call}.example","name":"Person ${call}"}`,
    raw: JSON.stringify(raw),
    at: AT + call,
    durationMs: 12,
    runNo: 1,
    callId: digest(`call ${call}`),
    reusable: true,
  };
  return [{ kind: 'receipt', receipt }];
}

/** The deferred writes of a call whose receipt is stored: its journal entry and its row. */
function settledUnit(call: number, receiptId: number): Unit {
  const entry = {
    callId: digest(`call ${call}`),
    path: 'email',
    label: 'find',
    tool: 'bench.find_email',
    outcome: 'completed',
    source: 'live',
    receiptId,
    credits: 1,
    durationMs: 12,
    at: AT + call,
    effect: 'read',
    toolDigest: TOOL_DIGEST,
    inputDigest: digest(`input ${call}`),
    error: null,
  } as const;
  const row = {
    ordinal: call,
    state: 'completed',
    cells: `["person.${call}@company-${call}.example"]`,
    error: null,
    trace: null,
    credits: 1,
    at: AT + call,
  } as const;
  return [
    { kind: 'call', fence: FENCE, place: { datasetNo: 1, ordinal: call }, entry },
    { kind: 'row', fence: FENCE, datasetNo: 1, row },
  ];
}

function median(figures: readonly Figure[]): Figure {
  const of = (name: keyof Figure): number => {
    const sorted = figures.map((figure) => figure[name]).sort((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? 0;
  };
  return {
    callsPerSecond: of('callsPerSecond'),
    cpuMicrosPerCall: of('cpuMicrosPerCall'),
    longestStallMs: Math.max(...figures.map((figure) => figure.longestStallMs)),
    rssMb: Math.max(...figures.map((figure) => figure.rssMb)),
  };
}

function round2(value: number): number {
  return Math.round(value * 100) / 100;
}


import { monitorEventLoopDelay } from 'node:perf_hooks';

const calls = Number(process.argv[2]);
const dir = '/dev/shm/cs-read'; rmSync(dir,{recursive:true,force:true});
await measureStore(dir+'/b.db');
const h = monitorEventLoopDelay({resolution:5});
const t = async (name: string, fn: () => Promise<unknown>) => { h.reset(); h.enable(); const a=performance.now(); const v=await fn(); const ms=performance.now()-a; await new Promise(r=>setTimeout(r,12)); h.disable(); console.log(name.padEnd(30), ms.toFixed(1),'ms','stall', (h.max/1e6).toFixed(0), typeof v==='object'&&v!==null&&'length' in v?(v as {length:number}).length:JSON.stringify(v)?.slice(0,90)); };
let store!: Store;
await t('open', async()=>{store=await openSqliteStore({path:dir+'/b.db',clock:systemClock,release:'1'});return 1;});
await t('first lookup', ()=>store.calls.receiptsByKeys([{key:digest('nope'),notBefore:undefined}]));
const N=50000;
for (const kind of ['miss','hit sequential','hit random']) {
 const keys=Array.from({length:N},(_,i)=>({key:digest(kind==='miss'?'no'+i:'key '+(kind==='hit random'?(i*7919)%calls:i)),notBefore:undefined}));
 await t(kind+' '+N, async()=>{let n=0;for(let i=0;i<N;i+=64)for(const r of await store.calls.receiptsByKeys(keys.slice(i,i+64)))if(r)n++;return n;});
}
await t('unsettled', ()=>store.calls.unsettledReceipts(1));
await t('settledCredits', ()=>store.calls.settledCredits(1));
await t('rowCounts', ()=>store.datasets.rowCounts(1,1));
await t('rowStates', ()=>store.datasets.rowStates(1,1,0,calls));
await t('toolTotals', ()=>store.report.toolTotals(1));
await t('hitRate', ()=>store.report.hitRate('bench.find_email'));
await t('failedRows', ()=>store.report.failedRows(1,1,{afterOrdinal:-1,limit:10}));
await t('failedCalls', ()=>store.report.failedCalls(1,10));
await t('rows', async()=>{let from=0,n=0;for(;;){const r=await store.datasets.rows(1,1,{from,to:calls,maxBytes:4e6});if(r.length===0)return n;n+=r.length;from=(r.at(-1)?.ordinal??0)+1;}});
await t('listReceipts tool', ()=>store.report.listReceipts({tool:'none',limit:10}));
await store.close(); rmSync(dir,{recursive:true,force:true});
