/** Credits are counted in whole millionths: ten times 0.1 is 1, in whatever order. */
const MICRO = 1e6;

export function microCredits(credits: number): number {
  return Math.round(credits * MICRO);
}

/** The nearest number of whole millionths: what a function of the author's, or a sum of doubles, has come to. */
export function roundedCredits(credits: number): number {
  return creditsOf(microCredits(credits));
}

export function creditsOf(micro: number): number {
  return micro / MICRO;
}
