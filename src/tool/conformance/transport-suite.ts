import { describe, expect, it } from 'vitest';
import type { CatalogueTool, ReadSecret, Transport } from '../port.ts';
import { operationOf } from './operation.ts';

export interface TransportCase {
  readonly open: (readSecret: ReadSecret) => Transport;
  /** A tool that answers whatever it is asked. */
  readonly answering: CatalogueTool;
  /** A tool whose own code throws `new Error('boom')` before anything is sent. */
  readonly throwing: CatalogueTool;
  /** A tool that declares the secret `KEY` and reads the name in its input's `name`. */
  readonly reading: CatalogueTool;
}

/** What every transport of the port promises. */
export function transportConformance(name: string, make: () => Promise<TransportCase>): void {
  describe(`transport port: ${name}`, () => {
    it('answers with a raw answer', async () => {
      const { open, answering } = await make();
      const delivered = await open(() => undefined).send(operationOf(answering));
      expect(delivered.ending).toBe('answered');
      expect(delivered).toHaveProperty('raw.kind');
    });

    it('sends nothing once the signal is aborted', async () => {
      const { open, answering } = await make();
      const delivered = await open(() => undefined).send(
        operationOf(answering, {}, { signal: AbortSignal.abort(new Error('stop')) }),
      );
      expect(delivered).toMatchObject({ ending: 'notDispatched', error: { code: 'CALL_CANCELLED' } });
    });

    it("turns what the author's code throws into an ending", async () => {
      const { open, throwing } = await make();
      const delivered = await open(() => undefined).send(operationOf(throwing));
      expect(delivered).toMatchObject({ ending: 'rejected', message: expect.stringContaining('boom') });
    });

    it('names a secret that is not declared', async () => {
      const { open, reading } = await make();
      const delivered = await open(() => 'value').send(operationOf(reading, { name: 'OTHER' }));
      expect(delivered).toMatchObject({ ending: 'rejected', error: { code: 'SECRET_NOT_DECLARED' } });
      expect((delivered as { message: string }).message).toContain('OTHER');
    });

    it('names a secret that is not set, and the command that sets it', async () => {
      const { open, reading } = await make();
      const delivered = await open(() => undefined).send(operationOf(reading, { name: 'KEY' }));
      expect(delivered).toMatchObject({
        ending: 'rejected',
        error: { code: 'SECRET_MISSING', next: expect.arrayContaining(['callsheet secrets set KEY']) },
      });
    });

    it('ends with the error of a secret store that cannot be read', async () => {
      const { open, reading } = await make();
      const unreadable = (): never => {
        throw new Error('wrong key');
      };
      const delivered = await open(unreadable).send(operationOf(reading, { name: 'KEY' }));
      expect(delivered).toMatchObject({ ending: 'rejected', message: expect.stringContaining('wrong key') });
    });
  });
}
