export { CallCounters, type EndedCall, type ToolCounts } from './call-counters.ts';
export { EventHub, type ObservedEvent } from './events.ts';
export { type Histogram, PHASES, type Phase, quantile, Timings, type TimingsData } from './timings.ts';
