import type { Digest } from '../scope/index.ts';
import type { Failure } from '../tool/index.ts';
import type { Answer } from './answer.ts';

/** What a leader shares with those who follow it. */
export type Shared =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'rejected'; readonly failure: Failure };

/**
 * Who asks which question now. One call leads, others of this process follow.
 *
 * Invariants
 *  1. A question has at most one leader.
 *  2. A claim is taken synchronously and always ends in `share` or `abandon`.
 *  3. When a leader abandons, the oldest follower leads and the others go on following.
 */
export class Claims {
  readonly #followers = new Map<Digest, ((next: Shared | 'lead') => void)[]>();

  /** 'lead', or a promise of what the leader found or of becoming the leader. */
  take(key: Digest): 'lead' | Promise<Shared | 'lead'> {
    const followers = this.#followers.get(key);
    if (followers === undefined) {
      this.#followers.set(key, []);
      return 'lead';
    }
    return new Promise((resolve) => followers.push(resolve));
  }

  share(key: Digest, shared: Shared): void {
    const followers = this.#followers.get(key);
    this.#followers.delete(key);
    if (followers !== undefined) for (const tell of followers) tell(shared);
  }

  abandon(key: Digest): void {
    const next = this.#followers.get(key)?.shift();
    if (next === undefined) this.#followers.delete(key);
    else next('lead');
  }
}
