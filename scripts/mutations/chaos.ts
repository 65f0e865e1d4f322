import type { Mutation } from '../mutation.ts';

/** What only tests with many processes see. */
export const CHAOS: readonly Mutation[] = [
  {
    breaks: ['CHAOS-POINTS-1'],
    file: 'call/execute.ts',
    from: 'if (entry !== undefined) return replay(run, question, entry);',
    to: '',
    why: 'what was recorded is done again after a kill',
  },
  {
    breaks: ['CHAOS-ANYWHERE-1'],
    file: 'call/deliver.ts',
    from: 'if (question.site !== undefined) await intend(run, question, { permit, so });',
    to: '',
    why: 'a message that was out at a kill is sent again, and no doubt is told',
  },
  {
    breaks: ['CHAOS-CATCH-1'],
    file: 'scope/gate.ts',
    from: 'if (!this.#leave(step) || error instanceof Halted) return;',
    to: 'if (!this.#leave(step)) return;',
    why: 'a play that catches everything catches the end of its process, and completes',
  },
  {
    breaks: ['CHAOS-LEGS-1'],
    file: 'call/replay.ts',
    from: 'if (entry.error !== null) throw thawError(entry.error);',
    to: '',
    why: 'a leg that failed before the kill is well after it, and two are paid',
  },
  {
    breaks: ['CHAOS-CLOCK-1'],
    file: 'call/deliver.ts',
    from: 'Math.max(clock.now(), at)',
    to: 'clock.now()',
    why: 'a clock that was put back makes a second of waiting a day',
  },
  {
    breaks: ['CHAOS-TROUBLE-1'],
    file: 'call/acquire.ts',
    from: 'await assertSameWrite(run, question);',
    to: '',
    why: 'a message with the time in it is sent again by a resume',
  },
  {
    breaks: ['CHAOS-EVENTS-1'],
    file: 'run/event-tool.ts',
    from: 'await answerQuestion(calls, { ...question, tool })',
    to: 'await answerQuestion(calls, { ...question, tool, site: undefined })',
    why: 'cards that were out at a kill are sent again',
  },
];
