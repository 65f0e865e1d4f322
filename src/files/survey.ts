import { isAscii, isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { LineBreakCounts } from './types.ts';

const LF = 10;
const CR = 13;
const SAMPLE_BEFORE_BREAK = 64 * 1024;
const SAMPLE_IN_ALL = 256 * 1024;

/** What one pass over all bytes of a file tells, before anything is decoded. */
export interface Survey {
  /** SHA-256 (hex) of the bytes. */
  readonly sha256: string;
  readonly bytes: number;
  /** The first bytes, up to 4 KiB. */
  readonly head: Buffer;
  readonly ascii: boolean;
  /** Every byte of the file belongs to a valid UTF-8 sequence. */
  readonly utf8: boolean;
  /** Line of the first invalid UTF-8 sequence, roughly: counted by LF up to its chunk. */
  readonly invalidNearLine: number | undefined;
  readonly nulsAtEven: number;
  readonly nulsAtOdd: number;
  readonly lineBreaks: LineBreakCounts;
  /** Lines that hold bytes outside ASCII, from wherever in the file they are: what an encoding is told by. */
  readonly sample: Buffer;
}

/**
 * First pass: digest, statistics, and whether the *whole* file is UTF-8. A file that is ASCII for megabytes and then
 * has one Windows-1252 byte is not UTF-8, so nothing is decided on the first chunk.
 */
export async function surveyBytes(chunks: AsyncIterable<Buffer>): Promise<Survey> {
  const hash = createHash('sha256');
  const utf8 = new Utf8Check();
  const breaks = new LineBreakCounter();
  const sample = new Sample();
  let head: Buffer = Buffer.alloc(0);
  let bytes = 0;
  let ascii = true;
  let invalidNearLine: number | undefined;
  const nuls = { even: 0, odd: 0 };
  for await (const chunk of chunks) {
    hash.update(chunk);
    if (head.length < 4096) head = Buffer.concat([head, chunk.subarray(0, 4096 - head.length)]);
    countNuls(chunk, bytes, nuls);
    const wasValid = utf8.valid;
    utf8.add(chunk);
    if (wasValid && !utf8.valid) invalidNearLine = 1 + breaks.lines;
    breaks.add(chunk);
    if (!isAscii(chunk)) {
      ascii = false;
      sample.add(chunk, utf8.valid);
    }
    bytes += chunk.length;
  }
  utf8.end();
  return {
    sha256: hash.digest('hex'),
    bytes,
    head,
    ascii,
    utf8: utf8.valid,
    invalidNearLine: utf8.valid ? undefined : (invalidNearLine ?? 1 + breaks.lines),
    nulsAtEven: nuls.even,
    nulsAtOdd: nuls.odd,
    lineBreaks: breaks.counts(),
    sample: sample.bytes(),
  };
}

function countNuls(chunk: Buffer, offset: number, nuls: { even: number; odd: number }): void {
  const first = chunk.indexOf(0);
  if (first === -1) return;
  for (let i = first; i < chunk.length; i++) {
    if (chunk[i] !== 0) continue;
    if ((offset + i) % 2 === 0) nuls.even++;
    else nuls.odd++;
  }
}

/** Strict UTF-8 over a stream: a sequence cut by a chunk's end is carried over. */
class Utf8Check {
  valid = true;
  #carry: Buffer = Buffer.alloc(0);

  add(chunk: Buffer): void {
    if (!this.valid) return;
    const whole = this.#carry.length === 0 ? chunk : Buffer.concat([this.#carry, chunk]);
    const complete = completeUtf8Length(whole);
    this.valid = isUtf8(whole.subarray(0, complete));
    // A copy: the caller may fill the chunk anew.
    this.#carry = Buffer.from(whole.subarray(complete));
  }

  end(): void {
    if (this.#carry.length > 0) this.valid = false;
  }
}

/** Length without a sequence that the end of the buffer cuts. */
function completeUtf8Length(buffer: Buffer): number {
  for (let back = 1; back <= Math.min(3, buffer.length); back++) {
    const byte = buffer[buffer.length - back] ?? 0;
    if ((byte & 0b1100_0000) === 0b1000_0000) continue;
    const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needs > back ? buffer.length - back : buffer.length;
  }
  return buffer.length;
}

class LineBreakCounter {
  #lf = 0;
  #crlf = 0;
  #cr = 0;
  #endedInCr = false;

  get lines(): number {
    return this.#lf + this.#crlf + this.#cr;
  }

  add(chunk: Buffer): void {
    if (chunk.length === 0) return;
    let lfs = 0;
    for (let at = chunk.indexOf(LF); at !== -1; at = chunk.indexOf(LF, at + 1)) lfs++;
    let pairs = 0;
    if (this.#endedInCr && chunk[0] === LF) {
      this.#cr--;
      pairs++;
    }
    for (let at = chunk.indexOf(CR); at !== -1; at = chunk.indexOf(CR, at + 1)) {
      if (chunk[at + 1] === LF) pairs++;
      else this.#cr++;
    }
    this.#crlf += pairs;
    this.#lf += lfs - pairs;
    this.#endedInCr = chunk[chunk.length - 1] === CR;
  }

  counts(): LineBreakCounts {
    return { lf: this.#lf, crlf: this.#crlf, cr: this.#cr };
  }
}

/** Collects lines with non-ASCII bytes; most of the room is kept for what comes after UTF-8 was refuted. */
class Sample {
  readonly #parts: Buffer[] = [];
  #size = 0;

  add(chunk: Buffer, stillUtf8: boolean): void {
    const room = stillUtf8 ? SAMPLE_BEFORE_BREAK : SAMPLE_IN_ALL;
    for (let start = 0; start < chunk.length && this.#size < room; ) {
      const found = chunk.indexOf(LF, start);
      const end = found === -1 ? chunk.length : found + 1;
      const line = chunk.subarray(start, Math.min(end, start + room - this.#size));
      if (!isAscii(line)) {
        this.#parts.push(Buffer.from(line));
        this.#size += line.length;
      }
      start = end;
    }
  }

  bytes(): Buffer {
    return Buffer.concat(this.#parts);
  }
}
