/** How far an operation has come that did not end at its first try. */
export interface Tries {
  /** Requests that went out, of all attempts. */
  sent: number;
  /** Those that count as tries. */
  counted: number;
  /** Definite refusals of what nobody can have done before: part of the operation key. */
  refusals: number;
  inProgress: number;
  /** True once it went out again because its secret has changed. */
  reread: boolean;
  unsure: Unsure;
}

/** Whether it may have been done under its present key: true where an answer was lost, 'perhaps' where a record cannot tell. */
export type Unsure = boolean | 'perhaps';

/** Tries that go on after so many that counted and so many refusals. */
export function triesAfter({ tries, refusals }: { readonly tries: number; readonly refusals: number }): Tries {
  return { sent: tries, counted: tries, refusals, inProgress: 0, reread: false, unsure: false };
}
