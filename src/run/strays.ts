type Sink = (stray: { readonly kind: 'rejection' | 'exception'; readonly error: unknown }) => void;

const sinks = new Set<Sink>();

/**
 * Catches what author's code left un-awaited: Node would end the process over it, and with it the run. Returns the
 * function that ends the watch. Where several runs share the process, each is told.
 */
export function catchStrays(sink: Sink): () => void {
  if (sinks.size === 0) {
    process.on('unhandledRejection', onRejection);
    process.on('uncaughtException', onException);
  }
  sinks.add(sink);
  return () => {
    sinks.delete(sink);
    if (sinks.size > 0) return;
    process.off('unhandledRejection', onRejection);
    process.off('uncaughtException', onException);
  };
}

function onRejection(error: unknown): void {
  for (const sink of sinks) sink({ kind: 'rejection', error });
}

function onException(error: unknown): void {
  for (const sink of sinks) sink({ kind: 'exception', error });
}
