import type { Effect } from '../../sdk/index.ts';
import type { CallEntry } from '../records.ts';
import type { Database } from './driver.ts';

/** Where in a play's code a call is made, and what it calls: the same for all rows. */
export interface Site {
  readonly no: number;
  readonly path: string;
  readonly label: string;
  readonly tool: string;
  readonly tool_digest: string;
  readonly effect: Effect;
}

const REMEMBERED = 4_096;

/** Numbers of sites. Bounded, since a play may give every call a label of its own. */
export class Sites {
  readonly #db: Database;
  readonly #byLabel = new Map<string, Site[]>();
  readonly #byNo = new Map<number, Site>();
  #count = 0;
  #added = false;

  constructor(db: Database) {
    this.#db = db;
  }

  /** The number of a call's site; writes it where this process has not seen it. Only within a transaction. */
  no(entry: CallEntry): number {
    const candidates = this.#byLabel.get(entry.label);
    if (candidates !== undefined) {
      // Newest first: what is being written now was added last.
      for (let at = candidates.length - 1; at >= 0; at--) {
        const site = candidates[at];
        if (
          site !== undefined &&
          site.path === entry.path &&
          site.tool_digest === entry.toolDigest &&
          site.tool === entry.tool &&
          site.effect === entry.effect
        )
          return site.no;
      }
    }
    return this.#add(entry);
  }

  site(no: number): Site | undefined {
    const known = this.#byNo.get(no);
    if (known !== undefined) return known;
    const site = this.#db.get<Site>('SELECT no, path, label, tool, tool_digest, effect FROM sites WHERE no = ?', no);
    if (this.#byNo.size >= REMEMBERED) this.#byNo.clear();
    if (site !== undefined) this.#byNo.set(no, site);
    return site;
  }

  committed(): void {
    this.#added = false;
  }

  rolledBack(): void {
    if (this.#added) this.#forget();
    this.#added = false;
  }

  #add(entry: CallEntry): number {
    if (this.#count >= REMEMBERED) this.#forget();
    const made = this.#db.get<{ no: number }>(
      'INSERT INTO sites (path, label, tool, tool_digest, effect) VALUES (?, ?, ?, ?, ?) RETURNING no',
      entry.path,
      entry.label,
      entry.tool,
      entry.toolDigest,
      entry.effect,
    );
    const no = made?.no ?? 0;
    const { path, label, tool, toolDigest, effect } = entry;
    const site = { no, path, label, tool, tool_digest: toolDigest, effect };
    const candidates = this.#byLabel.get(label);
    if (candidates === undefined) this.#byLabel.set(label, [site]);
    else candidates.push(site);
    this.#count++;
    this.#added = true;
    return no;
  }

  #forget(): void {
    this.#byLabel.clear();
    this.#count = 0;
  }
}
