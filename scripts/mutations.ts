import type { Mutation } from './mutation.ts';
import { BATCHES } from './mutations/batches.ts';
import { CALL } from './mutations/call.ts';
import { CHAOS } from './mutations/chaos.ts';
import { DATA } from './mutations/data.ts';
import { DELIVERY } from './mutations/delivery.ts';
import { FAMILY } from './mutations/family.ts';
import { LIMITS } from './mutations/limits.ts';
import { MONEY } from './mutations/money.ts';
import { OUTAGES } from './mutations/outages.ts';
import { PLAN } from './mutations/plan.ts';
import { PLAY } from './mutations/play.ts';
import { PUT_OFF } from './mutations/put-off.ts';
import { RUN } from './mutations/run.ts';
import { STORE } from './mutations/store.ts';
import { SURFACE } from './mutations/surface.ts';
import { TOOL } from './mutations/tool.ts';
import { WAITS } from './mutations/waits.ts';

/** One-line faults, each of which at least one test of the promises that it breaks must catch. */
export const MUTATIONS: readonly Mutation[] = [
  ...BATCHES,
  ...CALL,
  ...CHAOS,
  ...DATA,
  ...DELIVERY,
  ...FAMILY,
  ...LIMITS,
  ...MONEY,
  ...OUTAGES,
  ...PLAN,
  ...PLAY,
  ...PUT_OFF,
  ...RUN,
  ...STORE,
  ...SURFACE,
  ...TOOL,
  ...WAITS,
];
