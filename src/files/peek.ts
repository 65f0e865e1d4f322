/**
 * The first bytes of a stream (at least `least`, if it has so many) and the whole of it again, without its first `skip`
 * bytes, which must lie within those looked at. `rest` can be read once.
 */
export async function headed(
  chunks: AsyncGenerator<Buffer>,
  least: number,
): Promise<{ readonly head: Buffer; rest(skip: number): AsyncGenerator<Buffer> }> {
  const parts: Buffer[] = [];
  let size = 0;
  while (size < least) {
    const next = await chunks.next();
    if (next.done) break;
    parts.push(next.value);
    size += next.value.length;
  }
  const head = Buffer.concat(parts);
  return {
    head,
    async *rest(skip) {
      try {
        if (head.length > skip) yield head.subarray(skip);
        yield* chunks;
      } finally {
        await chunks.return(undefined);
      }
    },
  };
}
