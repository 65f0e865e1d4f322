import { CallsheetError } from '../../sdk/index.ts';
import type { Invocation } from '../invocation.ts';
import { textOf } from '../run-input.ts';
import { tableLines } from '../table.ts';
import { withRecords } from '../with-workspace.ts';

type Plain = Invocation<Record<never, never>>;

/** `secrets set`: the value comes from a prompt that shows nothing, or from stdin; never from the command line. */
export async function secretsSet(call: Plain): Promise<number> {
  const { terminal, args } = call;
  const name = args[0] ?? '';
  return withRecords(call, async ({ secrets }) => {
    // Refuses a bad name before a value is asked for.
    secrets.read(name);
    secrets.set(name, terminal.interactive ? await hiddenAnswer(`Value of ${name}: `) : await pipedValue(call));
    if (terminal.json) await terminal.document({ set: name });
    else terminal.note(`${name} is set, in the workspace's encrypted file.`);
    return 0;
  });
}

async function pipedValue({ terminal }: Plain): Promise<string> {
  return (await textOf(terminal.stdin)).replace(/\r?\n$/, '');
}

/** `secrets list`: names and where they are set. */
export async function secretsList(call: Plain): Promise<number> {
  const { terminal } = call;
  return withRecords(call, async ({ secrets, catalogue }) => {
    const needed = new Map<string, string[]>();
    for (const tool of catalogue.list())
      for (const name of tool.secrets) needed.set(name, [...(needed.get(name) ?? []), tool.id]);
    const found = new Map(secrets.list([...needed.keys()]).map(({ name, source }) => [name, source]));
    const names = [...new Set([...found.keys(), ...needed.keys()])].sort();
    const listed = names.map((name) => ({ name, source: found.get(name) ?? null, usedBy: needed.get(name) ?? [] }));
    if (terminal.json) await terminal.document({ secrets: listed });
    else {
      const rows = listed.map(({ name, source, usedBy }) => [name, source ?? 'not set', usedBy.join(', ')]);
      for (const line of tableLines(['secret', 'set in', 'used by'], rows)) await terminal.line(line);
    }
    return 0;
  });
}

/** `secrets delete`: from the encrypted file. */
export async function secretsDelete(call: Plain): Promise<number> {
  const { terminal, args } = call;
  const name = args[0] ?? '';
  return withRecords(call, async ({ secrets }) => {
    const deleted = secrets.delete(name);
    const left = secrets.list([name]).find((one) => one.name === name);
    if (terminal.json) await terminal.document({ deleted, source: left?.source ?? null });
    else {
      terminal.note(deleted ? `${name} is deleted from the encrypted file.` : `The encrypted file has no ${name}.`);
      if (left !== undefined) terminal.note(`It is still set in ${left.source}.`);
    }
    return 0;
  });
}

const ENDS = new Set(['\r', '\n', '\u0004']);

/** Reads a line from the terminal without showing it. */
async function hiddenAnswer(question: string): Promise<string> {
  const { stdin, stderr } = process;
  stderr.write(question);
  stdin.setRawMode(true);
  stdin.setEncoding('utf8');
  let typed = '';
  try {
    for await (const piece of stdin.iterator({ destroyOnReturn: false }) as AsyncIterable<string>)
      for (const char of piece) {
        if (ENDS.has(char)) return typed;
        if (char === '\u0003') throw new CallsheetError('USAGE', 'No value was given.', { next: ['Try again.'] });
        typed = char === '\u007f' || char === '\b' ? typed.slice(0, -1) : typed + char;
      }
    return typed;
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write('\n');
  }
}
