import type { Terminal } from './terminal.ts';

/** Of Ctrl-C for the third time: nothing needs to be said. */
const STOPPED = 130;

/**
 * Tells of a process that ends while its command is at work: a play, a tool or a library that calls `process.exit` must
 * not look like a command that has done what it was asked. The returned function says that the command has ended.
 */
export function onEarlyEnd(terminal: Terminal): () => void {
  const onExit = (code: number): void => {
    if (code === STOPPED) return;
    process.exitCode = 1;
    const error = {
      code: 'PROCESS_ENDED',
      message: `The process ended (with ${code}) while the command was at work: a play, a tool or a library called process.exit, or threw where nothing catches it. What is recorded is kept.`,
      details: { exit: code },
      next: ['callsheet runs list', 'callsheet runs resume <run>'],
    };
    // Nothing asynchronous runs any more: it must be written before this returns, and is, on pipes and terminals.
    if (terminal.json && !terminal.hasDocument) void terminal.document({ error });
    else terminal.note([`${error.code}: ${error.message}`, ...error.next.map((step) => `  → ${step}`)].join('\n'));
  };
  process.once('exit', onExit);
  return () => process.off('exit', onExit);
}
