export { CallCounters, type EndedCall, type ToolCounts } from './call-counters.ts';
export { EventHub, type ObservedEvent } from './events.ts';
