import type { Terminal } from './terminal.ts';

/**
 * Lets Ctrl-C and SIGTERM stop something: the first says what that means, the second stops what is in flight, too, and the
 * third ends the process. The returned function gives the signals back.
 */
export function onStopSignals(
  terminal: Terminal,
  { first, stop }: { readonly first: string; readonly stop: () => void },
): () => void {
  let times = 0;
  const onSignal = (): void => {
    times++;
    // A play that never gives way can only be ended from outside of it.
    if (times > 2) process.exit(130);
    stop();
    terminal.note(times === 1 ? first : 'Stopping now.');
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return () => {
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
  };
}
