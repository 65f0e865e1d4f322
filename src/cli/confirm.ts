import { createInterface } from 'node:readline/promises';
import type { PlanJson } from '../report/index.ts';
import { CallsheetError } from '../sdk/index.ts';
import { planLines } from './plan-text.ts';
import { shownNumber } from './table.ts';
import type { Terminal } from './terminal.ts';

export interface Spending {
  readonly confirmAbove: number;
  /** Worked out when it is needed; a number of credits where there is nothing more to show. */
  readonly most: () => Promise<PlanJson | number>;
  /** What part of it nobody may expect, as people say it: `40 of them by 2 runs that are started again`. */
  readonly ofThese?: string | undefined;
}

const CONFIRM_ABOVE = 100;

/** `confirmAbove` of the config, or its default. */
export function confirmAbove(config: { readonly confirmAbove?: number }): number {
  return config.confirmAbove ?? CONFIRM_ABOVE;
}

/** Asks before a run that may cost more than `confirmAbove`. Throws CONFIRMATION_NEEDED where nobody says yes. */
export async function askBeforeSpending(terminal: Terminal, spending: Spending): Promise<void> {
  const planned = await spending.most();
  const plan = typeof planned === 'number' ? undefined : planned;
  const most = typeof planned === 'number' ? planned : planned.credits.most;
  const isWhole = plan?.isWhole !== false;
  if (most <= spending.confirmAbove && isWhole) return;
  const cost = isWhole
    ? `This may cost up to ${shownNumber(most)} credits${spending.ofThese === undefined ? '' : `, ${spending.ofThese}`}`
    : `Nobody can tell what this may cost (${plan?.notes.join(' ') ?? ''})`;
  if (terminal.interactive && !terminal.json) {
    if (plan !== undefined) for (const line of planLines(plan)) terminal.note(line);
    if (await saysYes(`${cost}. Go on? [y/N] `)) return;
  }
  throw new CallsheetError(
    'CONFIRMATION_NEEDED',
    isWhole
      ? `${cost}, which is more than confirmAbove (${shownNumber(spending.confirmAbove)}), and nobody confirmed it.`
      : `${cost}, and nobody confirmed it.`,
    {
      details: { credits: plan?.credits ?? { most }, confirmAbove: spending.confirmAbove },
      next: ['Add --yes to spend that.', 'Or add --max-credits <n> to spend at most n.'],
    },
  );
}

/** Asks on the terminal; anything but yes is no. */
export async function saysYes(question: string): Promise<boolean> {
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  const gone = new AbortController();
  asking.once('close', () => gone.abort());
  try {
    return /^y(es)?$/i.test((await asking.question(question, { signal: gone.signal })).trim());
  } catch {
    // Ctrl-C or the end of the input.
    return false;
  } finally {
    asking.close();
  }
}
