import type { Command } from 'commander';
import type { Terminal } from './terminal.ts';

/** A command as it was typed. */
export interface Invocation<Flags> {
  readonly terminal: Terminal;
  readonly args: readonly string[];
  readonly flags: Flags;
  /** `--workspace`. */
  readonly dir: string | undefined;
}

/** Does what a command says; resolves to the exit code. */
export type Action<Flags> = (call: Invocation<Flags>) => Promise<number>;

export interface Declaring {
  readonly program: Command;
  readonly terminal: Terminal;
  ended(exit: number): void;
}

interface CommandText {
  readonly parent: Command;
  /** `run <play>`. */
  readonly usage: string;
  readonly summary: string;
  readonly examples: readonly string[];
}

/** Declares a command; its action is loaded when it is called, so that help costs nothing. */
export function declare<Flags>(parts: Declaring, text: CommandText, load: () => Promise<Action<Flags>>): Command {
  const command = text.parent
    .command(text.usage)
    .description(text.summary)
    .addHelpText('after', `\nExamples:\n${text.examples.map((line) => `  $ ${line}`).join('\n')}`);
  return command.action(async () => {
    const act = await load();
    const { workspace } = parts.program.opts<{ workspace?: string }>();
    parts.ended(
      await act({ terminal: parts.terminal, args: command.args, flags: command.opts() as Flags, dir: workspace }),
    );
  });
}
