import { CallsheetError } from '../sdk/index.ts';
import { chance } from './chance.ts';
import { PROVIDERS } from './providers.ts';
import type { Fault, FaultKind, FaultRule } from './types.ts';

const KINDS: readonly FaultKind[] = [
  'delay',
  'status',
  'reset-before',
  'reset-after',
  'truncate',
  'rubbish',
  'huge',
  'hang',
  'echo-secret',
];

const KNOWN_FIELDS = [
  'fault',
  'ms',
  'status',
  'retryAfter',
  'when',
  'endpoint',
  'provider',
  'probability',
  'nth',
  'times',
];

/** A request as the rules see it. */
export interface FaultTarget {
  readonly method: string;
  readonly path: string;
  readonly provider: string;
  readonly question: string;
}

/** The rules in force, and how often each has matched and struck. */
export class Faults {
  readonly #seed: number;
  #rules: readonly {
    readonly rule: FaultRule;
    matched: number;
    struck: number;
    readonly asked: Map<string, number>;
  }[] = [];

  constructor(seed: number, rules: readonly FaultRule[]) {
    this.#seed = seed;
    this.replace(rules);
  }

  /** Counting starts anew. */
  replace(rules: readonly FaultRule[]): void {
    this.#rules = rules.map((rule) => ({ rule, matched: 0, struck: 0, asked: new Map() }));
  }

  list(): readonly (FaultRule & { readonly matched: number; readonly struck: number })[] {
    return this.#rules.map(({ rule, matched, struck }) => ({ ...rule, matched, struck }));
  }

  /** What hits this request; counts it. */
  strike(target: FaultTarget): readonly Fault[] {
    if (this.#rules.length === 0) return NONE;
    const hits: Fault[] = [];
    for (const [index, state] of this.#rules.entries()) {
      const { rule } = state;
      if (rule.provider !== undefined && rule.provider !== target.provider) continue;
      if (rule.endpoint !== undefined && !namesEndpoint(rule.endpoint, target)) continue;
      state.matched++;
      if (rule.nth !== undefined && state.matched !== rule.nth) continue;
      if (rule.times !== undefined && state.struck >= rule.times) continue;
      if (rule.probability !== undefined) {
        const times = state.asked.get(target.question) ?? 0;
        state.asked.set(target.question, times + 1);
        const draw = chance(this.#seed, 'fault', String(index), target.path, target.question, String(times));
        if (draw >= rule.probability) continue;
      }
      state.struck++;
      hits.push(rule);
    }
    return hits;
  }
}

const NONE: readonly Fault[] = [];

function namesEndpoint(endpoint: string, target: FaultTarget): boolean {
  return endpoint === target.path || endpoint === `${target.method} ${target.path}`;
}

/**
 * The faults of an `x-sandbox-fault` header, such as `delay=200, reset-after` or `status=503;when=after;retry-after=2`.
 * Throws `USAGE` where it says something else.
 */
export function faultsOfHeader(header: string): readonly Fault[] {
  return header.split(',').map((part) => {
    const [head = '', ...options] = part.split(';').map((piece) => piece.trim());
    const [kind = '', value] = head.split('=').map((piece) => piece.trim());
    const fault: Record<string, unknown> = { fault: kind };
    if (kind === 'delay') fault.ms = Number(value);
    else if (kind === 'status') fault.status = Number(value);
    else if (value !== undefined) throw faultRefusal('x-sandbox-fault', `${kind} takes no value`);
    for (const option of options) {
      const [name = '', setting = ''] = option.split('=').map((piece) => piece.trim());
      if (name === 'when') fault.when = setting;
      else if (name === 'retry-after') fault.retryAfter = Number(setting);
      else throw faultRefusal('x-sandbox-fault', `${name} is no option of a fault`);
    }
    return faultRule(fault, 'x-sandbox-fault');
  });
}

/** A list of fault rules from outside, or `USAGE` with the place of the first mistake. */
export function faultRules(value: unknown): readonly FaultRule[] {
  if (!Array.isArray(value)) throw faultRefusal('rules', 'must be a list');
  return value.map((rule: unknown, index) => faultRule(rule, `rules[${index}]`));
}

function faultRule(value: unknown, place: string): FaultRule {
  if (typeof value !== 'object' || value === null) throw faultRefusal(place, 'must be an object');
  const rule = value as Record<string, unknown>;
  const unknown = Object.keys(rule).find((name) => !KNOWN_FIELDS.includes(name));
  if (unknown !== undefined) throw faultRefusal(place, `has a field ${unknown} that nothing reads`);
  if (!KINDS.includes(rule.fault as FaultKind)) throw faultRefusal(place, `fault must be one of ${KINDS.join(', ')}`);
  const number = (name: string, least: number, most: number): void => {
    const found = rule[name];
    if (found === undefined) return;
    if (typeof found !== 'number' || !(found >= least && found <= most))
      throw faultRefusal(place, `${name} must be a number from ${least} to ${most}`);
  };
  number('ms', 0, 3_600_000);
  number('status', 300, 599);
  number('retryAfter', 0, 86_400);
  number('probability', 0, 1);
  number('nth', 1, Number.MAX_SAFE_INTEGER);
  number('times', 1, Number.MAX_SAFE_INTEGER);
  if (rule.fault === 'delay' && rule.ms === undefined) throw faultRefusal(place, 'delay needs ms');
  if (rule.fault === 'status' && rule.status === undefined) throw faultRefusal(place, 'status needs a status');
  if (rule.when !== undefined && rule.when !== 'before' && rule.when !== 'after')
    throw faultRefusal(place, 'when must be before or after');
  if (rule.provider !== undefined && !(PROVIDERS as readonly unknown[]).includes(rule.provider))
    throw faultRefusal(place, `provider must be one of ${PROVIDERS.join(', ')}`);
  if (rule.endpoint !== undefined && typeof rule.endpoint !== 'string')
    throw faultRefusal(place, 'endpoint must be a path');
  return rule as unknown as FaultRule;
}

function faultRefusal(place: string, problem: string): CallsheetError {
  return new CallsheetError('USAGE', `Sandbox fault, ${place}: ${problem}.`, {
    details: { field: place },
    next: ['See the table of faults in src/sandbox/README.md.'],
  });
}
