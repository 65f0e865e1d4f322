import type { Mutation } from '../mutation.ts';

/** Who waits while a provider fails, and what that draws on. */
export const OUTAGES: readonly Mutation[] = [
  {
    breaks: ['BREAKER-PROVIDER-2'],
    file: 'governor/provider-breaker.ts',
    from: 'if (request.passesOver !== true && !this.isLong(now)) return undefined;',
    to: '',
    why: 'an outage of a second fails all rows that are left',
  },
  {
    breaks: ['BREAKER-PROVIDER-1'],
    file: 'governor/provider-breaker.ts',
    from: 'if (this.#failuresInARow >= LEAST_FAILURES) return true;',
    to: '',
    why: 'an outage uses up the retries of a short run before it is seen',
  },
  {
    breaks: ['BREAKER-PROVIDER-3'],
    file: 'governor/provider-breaker.ts',
    from: 'as === undefined || !this.#isReached',
    to: 'as === undefined',
    why: 'a mistyped host is waited for until providerMaxWait',
  },
  {
    breaks: ['BREAKER-PROVIDER-3'],
    file: 'governor/provider-breaker.ts',
    from: "if (ending === 'notDispatched') return 'unreached';",
    to: '',
    why: 'rows fail as fast as connections are refused',
  },
  {
    breaks: ['BREAKER-PROVIDER-3'],
    file: 'governor/provider-breaker.ts',
    from: 'if (isOurs === true) return undefined;',
    to: '',
    why: 'calls that we cancel open the breaker of their provider',
  },
  {
    breaks: ['RETRY-BUDGET-3'],
    file: 'call/deliver.ts',
    from: 'decision.draws && !run.process.governor.health(tool.account).isFailing',
    to: 'decision.draws',
    why: 'what was out when an outage began uses up the retries of the run',
  },
  {
    breaks: ['BREAKER-PROVIDER-1'],
    file: 'governor/provider-breaker.ts',
    from: 'if (request.passesOver !== true && !this.isLong(now)) return undefined;',
    to: 'if (!this.isLong(now)) return undefined;',
    why: 'a waterfall waits for a leg that is down',
  },
  {
    breaks: ['BREAKER-PROVIDER-2'],
    file: 'governor/account.ts',
    from: 'if (this.#breaker.isLong(now) && this.refuseAll((request) => this.#breaker.refusal(request, now))) return true;',
    to: '',
    why: 'a provider that is gone for good holds a run for ever',
  },
  {
    breaks: ['BREAKER-PROVIDER-2'],
    file: 'governor/account.ts',
    from: 'if (waiter.probe) this.#breaker.probed(undefined, this.#clock.monotonic());\n      waiter.probe = false;',
    to: '',
    why: 'a run without credits keeps all others from a provider that answers again',
  },
  {
    breaks: ['BREAKER-PROVIDER-1'],
    file: 'governor/provider-breaker.ts',
    from: 'if (this.#probing || now < this.#nextProbeAt) return false;',
    to: '',
    why: 'a provider that is down gets the whole load',
  },
  {
    breaks: ['BREAKER-PROVIDER-4'],
    file: 'call/tries.ts',
    from: 'if (so.answersBefore !== undefined && answers > so.answersBefore) so.isSuspect = true;',
    to: '',
    why: 'the last rows of a run, which fail by their own fault, hold it until providerMaxWait',
  },
  {
    breaks: ['BREAKER-PROVIDER-4'],
    file: 'governor/provider-breaker.ts',
    from: "as === undefined || as === 'suspect'",
    to: 'as === undefined',
    why: 'a call that fails by its own fault doubles the wait of all others',
  },
];
