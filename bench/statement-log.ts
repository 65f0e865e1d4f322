import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { SQLInputValue } from 'node:sqlite';
import { deserialize, serialize } from 'node:v8';

/** Every statement that a process executed, in order: what the same work costs SQLite alone is measured with it. */

export type Method = 'run' | 'get' | 'all' | 'exec';
export type Operation = readonly [method: Method, sql: number, values: readonly SQLInputValue[]];

interface Chunk {
  /** Texts seen for the first time, numbered onwards. */
  readonly texts: readonly string[];
  readonly operations: readonly Operation[];
}

const CHUNK = 4_000;

export class StatementLog {
  readonly #file: number;
  readonly #numbers = new Map<string, number>();
  #texts: string[] = [];
  #operations: Operation[] = [];

  constructor(path: string) {
    this.#file = openSync(path, 'w');
  }

  add(method: Method, sql: string, values: readonly SQLInputValue[]): void {
    let number = this.#numbers.get(sql);
    if (number === undefined) {
      number = this.#numbers.size;
      this.#numbers.set(sql, number);
      this.#texts.push(sql);
    }
    this.#operations.push([method, number, values]);
    if (this.#operations.length === CHUNK) this.#write();
  }

  close(): void {
    this.#write();
    closeSync(this.#file);
  }

  #write(): void {
    const body = serialize({ texts: this.#texts, operations: this.#operations } satisfies Chunk);
    const head = Buffer.alloc(4);
    head.writeUInt32LE(body.length);
    writeSync(this.#file, Buffer.concat([head, body]));
    this.#texts = [];
    this.#operations = [];
  }
}

export function readStatementLog(path: string): { readonly texts: string[]; readonly operations: Operation[] } {
  const bytes = readFileSync(path);
  const texts: string[] = [];
  const operations: Operation[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 4 + bytes.readUInt32LE(at);
    const chunk = deserialize(bytes.subarray(at + 4, end)) as Chunk;
    texts.push(...chunk.texts);
    for (const operation of chunk.operations) operations.push(operation);
    at = end;
  }
  return { texts, operations };
}
