/** Credits are counted in whole millionths: ten times 0.1 is 1, in whatever order. */
const MICRO = 1e6;

export function microCredits(credits: number): number {
  return Math.round(credits * MICRO);
}

export function creditsOf(micro: number): number {
  return micro / MICRO;
}
