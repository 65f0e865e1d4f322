export { canonicalJson, NotJsonError, toJson } from './canonical-json.ts';
export { type Clock, sleep, systemClock } from './clock.ts';
export { creditsOf, microCredits, roundedCredits } from './credits.ts';
export { type Digest, digest, digestPrefix48, hexDigest, IDENTITY_FORMAT } from './digest.ts';
export { durationMs } from './duration.ts';
export { fatalForm } from './fatal.ts';
export { type Armed, Gate, type GateState, Halted, PutOff } from './gate.ts';
export { type Chance, systemChance, timeId } from './ids.ts';
export { didYouMean, nearestNames } from './nearest.ts';
export {
  prepareSchema,
  type SchemaIssue,
  SchemaUnusableError,
  type SchemaVerdict,
  schemaAsJson,
  validateWith,
} from './schema.ts';
export { type Fence, type Place, placeName, Scope } from './scope.ts';
export { Slots } from './slots.ts';
export { Turnstile } from './turnstile.ts';
export { VirtualClock } from './virtual-clock.ts';
