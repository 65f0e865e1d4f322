import { relative, resolve } from 'node:path';
import { writeStarter } from '../../workspace/index.ts';
import type { Invocation } from '../invocation.ts';

/** `init`: a workspace that runs. */
export async function init({ terminal, args }: Invocation<Record<never, never>>): Promise<number> {
  const dir = resolve(terminal.cwd, args[0] ?? '.');
  const files = await writeStarter(dir);
  const from = relative(terminal.cwd, dir);
  const next = [
    ...(from === '' ? [] : [`cd ${/^[\w./-]+$/.test(from) ? from : JSON.stringify(from)}`]),
    'callsheet check find-email.play.ts',
    'callsheet run find-email.play.ts --csv leads.csv -o out.csv',
    "callsheet why last --row '#1'",
  ];
  if (terminal.json) {
    await terminal.document({ dir, files, next });
    return 0;
  }
  terminal.note(`Made a workspace in ${dir}:`);
  for (const file of files) terminal.note(`  ${file}`);
  terminal.note('');
  terminal.note('Next:');
  for (const command of next) await terminal.line(command);
  return 0;
}
