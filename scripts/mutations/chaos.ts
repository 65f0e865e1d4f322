// biome-ignore-all lint/suspicious/noTemplateCurlyInString: source text that is looked for
import type { Mutation } from '../mutation.ts';

/** What only tests with many processes see. */
export const CHAOS: readonly Mutation[] = [
  {
    breaks: ['CHAOS-POINTS-1'],
    file: 'call/execute.ts',
    from: 'if (entry !== undefined && !isProved(run, question)) return replay(run, question, entry);',
    to: '',
    why: 'what was recorded is done again after a kill',
  },
  {
    breaks: ['CHAOS-ANYWHERE-1'],
    file: 'call/execute.ts',
    from: 'if (entry !== undefined && !isProved(run, question)) return replay(run, question, entry);',
    to: '',
    why: 'what was recorded is done again after a kill',
  },
  {
    breaks: ['CHAOS-CATCH-1'],
    file: 'call/execute.ts',
    from: 'if (entry !== undefined && !isProved(run, question)) return replay(run, question, entry);',
    to: '',
    why: 'a write that was recorded is sent again by a play that catches everything',
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
    file: 'call/write.ts',
    from: 'if (other !== undefined) return insteadOf(run, question, other);',
    to: '',
    why: 'a message with the time in it is sent again by a resume',
  },
  {
    breaks: ['CHAOS-EVENTS-1'],
    file: 'store/sqlite/write/deliver-signal.ts',
    from: 'if (signal.rowKey !== null) {',
    to: "if (signal.rowKey === '') {",
    why: 'an answer does not find its row among many',
  },
  {
    breaks: ['CHAOS-KILLS-1'],
    file: 'run/attempt-context.ts',
    from: 'return run.attempt > 1 || run.replayedFrom !== null;',
    to: 'return run.replayedFrom !== null;',
    why: 'a resume begins anew',
  },
  {
    breaks: ['GOLDEN-JOURNALS-1'],
    file: 'call/question.ts',
    from: "scope.identity('call', `${call},${occurrence}`)",
    to: "scope.identity('calls', `${call},${occurrence}`)",
    why: 'a run that waits over an update of Callsheet does all its calls again',
  },
];
