import type { REQUIREMENTS } from '../test/requirements-data.ts';

export interface Mutation {
  /** Promises that it breaks: the tests that name one of them must fail. */
  readonly breaks: readonly (keyof typeof REQUIREMENTS)[];
  /** Below src/. */
  readonly file: string;
  /** Text that is there exactly once, and what stands in its place. */
  readonly from: string;
  readonly to: string;
  /** What it is as a fault: the story of what a user would see. */
  readonly why: string;
}

/** One-line faults, each of which at least one test of the promises that it breaks must catch. */
export const MUTATIONS: readonly Mutation[] = [
  {
    breaks: ['SUSPEND-NEVER-THROWN-1'],
    file: 'run/suspension.ts',
    from: 'this.#ending.gate.suspend();',
    to: '',
    why: 'a run that waits goes on calling',
  },
  {
    breaks: ['SUSPEND-SLEEP-1'],
    file: 'run/wait.ts',
    from: 'deadline: now + ms, policy',
    to: 'deadline: now, policy',
    why: 'a sleep is over at once',
  },
  {
    breaks: ['SUSPEND-RACE-1'],
    file: 'scope/gate.ts',
    from: "    if (this.#state === 'closed') return new Promise<T>(() => {});\n    this.#inFlight++;",
    to: "    if (this.#state !== 'open') return new Promise<T>(() => {});\n    this.#inFlight++;",
    why: 'only the first of several waits is armed',
  },
  {
    breaks: ['SUSPEND-RACE-2'],
    file: 'run/waits.ts',
    from: 'if (waits.earlier.has(key)) return true;',
    to: '',
    why: 'code that won a race against an open wait never gets on',
  },
  {
    breaks: ['SUSPEND-WAKE-1'],
    file: 'run/execute-attempt.ts',
    from: '{ seenSignal: outcome.seenSignal }',
    to: '{ seenSignal: Number.MAX_SAFE_INTEGER }',
    why: 'an answer that comes while the attempt ends is slept through',
  },
  {
    breaks: ['SUSPEND-READMIT-1'],
    file: 'run/parked.ts',
    from: 'if (place.datasetNo !== 0) this.#tellNews(place);',
    to: '',
    why: 'an answer reaches its row only in the next attempt',
  },
  {
    breaks: ['SUSPEND-STILL-1'],
    file: 'dataset/feed.ts',
    from: 'rows.filter((index) => !waiting.has(slice.first + index))',
    to: '[...rows]',
    why: 'every attempt runs all parked rows again',
  },
  {
    breaks: ['SUSPEND-MAXPARKED-1'],
    file: 'dataset/pool.ts',
    from: 'return this.#parked >= this.#options.maxParked && this.#woken === 0;',
    to: 'return false;',
    why: 'a mistake sends 100,000 approval cards',
  },
  {
    breaks: ['SUSPEND-READMIT-1'],
    file: 'dataset/row.ts',
    from: "state === 'parked' ? 0 : settled",
    to: 'settled',
    why: 'what a parked row paid is counted twice',
  },
  {
    breaks: ['EVENT-TIMEOUT-1'],
    file: 'run/wait.ts',
    from: "if (stands.policy === 'fail') throw timedOut(context, stands);",
    to: '',
    why: 'a play goes on without the approval that it may not go on without',
  },
  {
    breaks: ['CHILD-ASYNC-1'],
    file: 'run/child-run.ts',
    from: '    idempotencyKey,\n    wakeAt: at,',
    to: '    idempotencyKey: null,\n    wakeAt: at,',
    why: 'the same child is started twice',
  },
  {
    breaks: ['CHILD-LIMITS-1'],
    file: 'run/child.ts',
    from: 'if (ancestry.includes(play.name))',
    to: 'if (play.name === ancestry[-1])',
    why: 'plays that run each other never end',
  },
];
