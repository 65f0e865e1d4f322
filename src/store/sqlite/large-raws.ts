import { promisify } from 'node:util';
import { deflate, inflate } from 'node:zlib';
import type { Unit } from '../port.ts';
import type { NewReceipt } from '../records.ts';

/** Raw answers above this many bytes are kept compressed, in a table of their own. */
const LARGE_RAW_BYTES = 262_144;

export interface LargeRaw {
  /** Size of the text in UTF-8. */
  readonly bytes: number;
  readonly deflated: Uint8Array;
}

/** Compresses large raw answers before their transaction opens, off the main thread. */
export class LargeRaws {
  readonly #ready = new Map<NewReceipt, LargeRaw>();

  /** True where a unit holds a raw answer that must be compressed first. */
  static in(units: readonly Unit[]): boolean {
    for (const unit of units)
      for (const write of unit) if (write.kind === 'receipt' && isLarge(write.receipt.raw)) return true;
    return false;
  }

  async compress(units: readonly Unit[]): Promise<void> {
    for (const write of units.flat()) {
      if (write.kind !== 'receipt' || !isLarge(write.receipt.raw)) continue;
      const bytes = Buffer.from(write.receipt.raw);
      this.#ready.set(write.receipt, { bytes: bytes.length, deflated: await promisify(deflate)(bytes) });
    }
  }

  of(receipt: NewReceipt): LargeRaw | undefined {
    return this.#ready.size === 0 ? undefined : this.#ready.get(receipt);
  }

  clear(): void {
    this.#ready.clear();
  }
}

export async function inflateRaw(deflated: Uint8Array): Promise<string> {
  return (await promisify(inflate)(deflated)).toString('utf8');
}

function isLarge(raw: string): boolean {
  // A UTF-16 unit is at most three bytes of UTF-8: nearly all answers need no counting.
  return raw.length * 3 > LARGE_RAW_BYTES && Buffer.byteLength(raw) > LARGE_RAW_BYTES;
}
