import type { REQUIREMENTS } from '../test/requirements-data.ts';

/** A one-line fault of src. */
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
