import { IdempotencyMemory, type StoredAnswer } from './idempotency.ts';
import { type LedgerFile, openLedgerFile } from './ledger-file.ts';
import { ProviderMemory } from './provider-memory.ts';
import type { EndpointTotals, LedgerEntry, LedgerTotals } from './types.ts';

interface Counters {
  operations: number;
  credits: number;
  replayed: number;
  readonly refused: Record<string, number>;
}

/** An entry whose answer may still be on its way. */
export type OpenEntry = { -readonly [Field in keyof LedgerEntry]: LedgerEntry[Field] };

/**
 * What the sandbox did and charged, and what it remembers because of that.
 *
 * Owns: entries, totals, idempotency memory, jobs and messages, the ledger file.
 * Does not own: limits, faults, anything about connections.
 *
 * 1. An entry is in the file before it is in memory, and in memory before any byte of its answer goes out.
 * 2. Memory is a function of the entries: reading the file again gives the same provider.
 * 3. A refusal never makes an entry.
 */
export class Ledger {
  readonly #seed: number;
  readonly #file: LedgerFile | undefined;
  #entries: OpenEntry[] = [];
  #counters = new Map<string, Counters>();
  #memory: ProviderMemory;
  #idempotency = new IdempotencyMemory();

  constructor(seed: number, file?: string) {
    this.#seed = seed;
    this.#memory = new ProviderMemory(seed);
    this.#file = file === undefined ? undefined : openLedgerFile(file);
    for (const line of this.#file?.lines ?? []) this.#takeIn({ ...line.entry, finishedAt: null }, line.answer);
  }

  get memory(): ProviderMemory {
    return this.#memory;
  }

  get idempotency(): IdempotencyMemory {
    return this.#idempotency;
  }

  entries(): readonly LedgerEntry[] {
    return this.#entries;
  }

  /** Records work that was done, or a stored answer given again. `answer` is kept under the entry's idempotency key. */
  record(work: Omit<LedgerEntry, 'seq' | 'finishedAt'>, answer: StoredAnswer | undefined): OpenEntry {
    const entry: OpenEntry = { seq: this.#entries.length + 1, ...work, finishedAt: null };
    this.#file?.append(answer === undefined ? { v: 1, entry } : { v: 1, entry, answer });
    this.#takeIn(entry, answer);
    return entry;
  }

  /** Counts a request that was turned away, or that failed before any work. */
  refuse(endpoint: string, why: string): void {
    const counters = this.#countersOf(endpoint);
    counters.refused[why] = (counters.refused[why] ?? 0) + 1;
  }

  totals(): LedgerTotals {
    const sum: Counters = { operations: 0, credits: 0, replayed: 0, refused: {} };
    const byEndpoint: Record<string, EndpointTotals> = {};
    for (const [endpoint, counters] of this.#counters) {
      byEndpoint[endpoint] = { ...counters, refused: { ...counters.refused } };
      sum.operations += counters.operations;
      sum.credits += counters.credits;
      sum.replayed += counters.replayed;
      for (const [why, count] of Object.entries(counters.refused)) sum.refused[why] = (sum.refused[why] ?? 0) + count;
    }
    return { ...sum, byEndpoint };
  }

  /** A provider as on its first day: also jobs, messages and idempotency keys are forgotten. */
  clear(): void {
    this.#file?.clear();
    this.#entries = [];
    this.#counters = new Map();
    this.#memory = new ProviderMemory(this.#seed);
    this.#idempotency = new IdempotencyMemory();
  }

  close(): void {
    this.#file?.close();
  }

  #takeIn(entry: OpenEntry, answer: StoredAnswer | undefined): void {
    this.#entries.push(entry);
    const counters = this.#countersOf(`${entry.method} ${entry.endpoint}`);
    counters.credits += entry.credits;
    if (entry.replayed) counters.replayed++;
    else counters.operations++;
    this.#memory.remember(entry);
    if (entry.idempotencyKey !== null && answer !== undefined) {
      const fingerprint = fingerprintOf(`${entry.method} ${entry.endpoint}`, entry.question);
      this.#idempotency.finish(entry.account, entry.idempotencyKey, { fingerprint, answer });
    }
  }

  #countersOf(endpoint: string): Counters {
    let counters = this.#counters.get(endpoint);
    if (counters === undefined) {
      counters = { operations: 0, credits: 0, replayed: 0, refused: {} };
      this.#counters.set(endpoint, counters);
    }
    return counters;
  }
}

/** What must be equal for two requests under one key to be the same. */
export function fingerprintOf(endpoint: string, question: string): string {
  return `${endpoint} ${question}`;
}
