import { mkdirSync } from 'node:fs';
import { readFile, rename, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CallsheetError } from '../sdk/index.ts';
import { fixtureName, fixtureText, parseFixture } from './fixture-file.ts';
import type { Delivered, Failure, Operation, Transport } from './port.ts';

/**
 * Delivers through `inner` and writes what came back into `dir` (made if it is missing), one file for each tool, version and
 * input; a later ending of the same question takes the place of an earlier one. Nothing is written of what never reached
 * a provider. An answer that can't be written is delivered all the same; `close` then rejects with
 * `OUTPUT_NOT_WRITABLE`. Throws that too where `dir` cannot be made.
 */
export function recordingTransport(inner: Transport, dir: string): Transport {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw notWritable(`The folder for fixtures ${dir} cannot be made`, error, dir);
  }
  let unwritten = 0;
  let firstError: unknown;
  let serial = 0;

  const record = async ({ tool, input }: Operation, delivered: Delivered): Promise<void> => {
    const draft = join(dir, `.${process.pid}-${serial++}.tmp`);
    try {
      const file = join(dir, fixtureName(tool, tool.version, input));
      await writeFile(draft, fixtureText(tool, input, delivered), { mode: 0o600, flag: 'wx' });
      await rename(draft, file);
    } catch (error) {
      unwritten++;
      firstError ??= error;
      await unlink(draft).catch(() => {});
    }
  };

  return {
    async send(operation) {
      const delivered = await inner.send(operation);
      if (isWorthKeeping(operation, delivered)) await record(operation, delivered);
      return delivered;
    },
    async close() {
      await inner.close();
      if (unwritten > 0) throw notWritable(`${unwritten} fixtures could not be written to ${dir}`, firstError, dir);
    },
  };
}

/** Our own refusals and cancellations say nothing of the provider. */
function isWorthKeeping({ signal }: Operation, delivered: Delivered): boolean {
  if (delivered.ending === 'answered') return true;
  return delivered.ending !== 'notDispatched' && delivered.error === undefined && !signal.aborted;
}

function notWritable(what: string, error: unknown, dir: string): CallsheetError {
  const why = error instanceof Error ? error.message : String(error);
  return new CallsheetError('OUTPUT_NOT_WRITABLE', `${what}: ${why}.`, {
    details: { dir },
    next: ['Name a folder that can be written and run again with --record.'],
  });
}

/**
 * Delivers from fixtures only. A question without one ends as `rejected` with `FIXTURE_MISSING`, which names the tool, the
 * input and the file; versions that the tool lists in `reads` are looked for too.
 */
export function fixtureTransport(dir: string): Transport {
  return {
    async send({ tool, input }) {
      try {
        for (const version of tool.versions) {
          const file = join(dir, fixtureName(tool, version, input));
          const text = await textOf(file);
          if (text !== undefined) return parseFixture(text, file);
        }
        throw missingFixture(tool.id, input, join(dir, fixtureName(tool, tool.version, input)));
      } catch (error) {
        return refused(error);
      }
    },
    close: () => Promise.resolve(),
  };
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ENOENT') return undefined;
    throw new CallsheetError('FILE_MALFORMED', `The fixture ${file} cannot be read: ${(error as Error).message}.`, {
      details: { file },
    });
  }
}

function missingFixture(tool: string, input: unknown, file: string): CallsheetError {
  const shown = JSON.stringify(input);
  const short = shown.length > 300 ? `${shown.slice(0, 300)}…` : shown;
  return new CallsheetError(
    'FIXTURE_MISSING',
    `There is no fixture for ${tool} with input ${short}; expected ${file}.`,
    {
      details: { tool, input, file },
      next: ['Run once with --record and the folder of the fixtures, or write the file by hand.'],
    },
  );
}

function refused(error: unknown): Failure {
  const known =
    error instanceof CallsheetError ? error : new CallsheetError('INTERNAL', `A fixture failed: ${String(error)}.`);
  return { ending: 'rejected', message: known.message, error: known };
}
