import type { JsonObject } from '../sdk/index.ts';
import { stableId } from './chance.ts';

export interface StartedJob {
  readonly question: JsonObject;
  readonly startedAt: number;
}

export interface SentMessage {
  readonly messageId: string;
  readonly question: JsonObject;
  readonly sentAt: number;
}

/** What the memory learns from: an entry of the ledger, live or read again at a start. */
export interface RememberedWork {
  readonly provider: string;
  readonly method: string;
  readonly question: string;
  readonly status: number;
  readonly replayed: boolean;
  readonly at: number;
}

/**
 * Jobs and messages: the only state behind the answers. It is a function of the ledger, so that it survives a kill
 * with it. Ids depend on seed, question and how often that question came, never on the order of different questions.
 */
export class ProviderMemory {
  readonly #seed: number;
  readonly #asked = new Map<string, number>();
  readonly #jobs = new Map<string, StartedJob>();
  readonly #messages: SentMessage[] = [];

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** The id that the next work with this question gets. */
  nextId(kind: 'job' | 'msg', question: string): string {
    const times = this.#asked.get(`${kind} ${question}`) ?? 0;
    return `${kind}_${stableId(this.#seed, kind, question, String(times))}`;
  }

  job(id: string): StartedJob | undefined {
    return this.#jobs.get(id);
  }

  messagesWith(reference: string): readonly SentMessage[] {
    return this.#messages.filter((message) => message.question.reference === reference);
  }

  /** Takes in a piece of work that is in the ledger. */
  remember(work: RememberedWork): void {
    if (work.replayed || work.method !== 'POST' || work.status >= 300) return;
    if (work.provider === 'icypeas') {
      const id = this.#take('job', work.question);
      this.#jobs.set(id, { question: JSON.parse(work.question) as JsonObject, startedAt: work.at });
    } else if (work.provider === 'messages') {
      const messageId = this.#take('msg', work.question);
      this.#messages.push({ messageId, question: JSON.parse(work.question) as JsonObject, sentAt: work.at });
    }
  }

  #take(kind: 'job' | 'msg', question: string): string {
    const id = this.nextId(kind, question);
    const name = `${kind} ${question}`;
    this.#asked.set(name, (this.#asked.get(name) ?? 0) + 1);
    return id;
  }
}
