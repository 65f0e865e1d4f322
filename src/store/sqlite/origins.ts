import type { NewReceipt } from '../records.ts';
import type { Database } from './driver.ts';

/** What a run's receipts of one tool and account have in common. */
export interface Origin {
  readonly no: number;
  readonly run_no: number;
  readonly tool: string;
  readonly version: string;
  readonly tool_digest: string;
  readonly account: string;
  readonly reusable: number;
}

const REMEMBERED = 4_096;

/** Numbers of origins. */
export class Origins {
  readonly #db: Database;
  readonly #byTool = new Map<string, Origin[]>();
  readonly #byNo = new Map<number, Origin>();
  #count = 0;
  #added = false;

  constructor(db: Database) {
    this.#db = db;
  }

  /** The number of a receipt's origin; writes it where this process has not seen it. Only within a transaction. */
  no(receipt: NewReceipt): number {
    const candidates = this.#byTool.get(receipt.tool);
    if (candidates !== undefined) {
      // Newest first: what is being written now was added last.
      for (let at = candidates.length - 1; at >= 0; at--) {
        const origin = candidates[at];
        if (
          origin !== undefined &&
          origin.run_no === receipt.runNo &&
          origin.tool_digest === receipt.toolDigest &&
          origin.account === receipt.account &&
          origin.version === receipt.version &&
          (origin.reusable === 1) === receipt.reusable
        )
          return origin.no;
      }
    }
    return this.#add(receipt);
  }

  origin(no: number): Origin | undefined {
    const known = this.#byNo.get(no);
    if (known !== undefined) return known;
    const origin = this.#db.get<Origin>(
      'SELECT no, run_no, tool, version, tool_digest, account, reusable FROM origins WHERE no = ?',
      no,
    );
    if (this.#byNo.size >= REMEMBERED) this.#byNo.clear();
    if (origin !== undefined) this.#byNo.set(no, origin);
    return origin;
  }

  committed(): void {
    this.#added = false;
  }

  rolledBack(): void {
    if (this.#added) this.#forget();
    this.#added = false;
  }

  #add(receipt: NewReceipt): number {
    if (this.#count >= REMEMBERED) this.#forget();
    const { runNo, tool, version, toolDigest, account, reusable } = receipt;
    const made = this.#db.get<{ no: number }>(
      'INSERT INTO origins (run_no, tool, version, tool_digest, account, reusable) VALUES (?, ?, ?, ?, ?, ?) RETURNING no',
      runNo,
      tool,
      version,
      toolDigest,
      account,
      reusable ? 1 : 0,
    );
    const no = made?.no ?? 0;
    const origin = { no, run_no: runNo, tool, version, tool_digest: toolDigest, account, reusable: reusable ? 1 : 0 };
    const candidates = this.#byTool.get(tool);
    if (candidates === undefined) this.#byTool.set(tool, [origin]);
    else candidates.push(origin);
    this.#count++;
    this.#added = true;
    return no;
  }

  #forget(): void {
    this.#byTool.clear();
    this.#count = 0;
  }
}
