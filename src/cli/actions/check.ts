import {
  checkInWorkspace,
  costOfCalls,
  costOfRow,
  type Finding,
  type PlayCheck,
  type RowCost,
  type Workspace,
} from '../../workspace/index.ts';
import type { Invocation } from '../invocation.ts';
import { counted } from '../table.ts';
import { withWorkspace } from '../with-workspace.ts';

export interface CheckFlags {
  readonly types: boolean;
}

const NOT_VALID = 3;

/** `check`: findings and plan of a play that is not run. */
export async function check(call: Invocation<CheckFlags>): Promise<number> {
  const { terminal, args, flags } = call;
  return withWorkspace(call, async (workspace) => {
    const checked = await checkInWorkspace(workspace, { play: args[0] ?? '', cwd: terminal.cwd, types: flags.types });
    const { ok, findings, play, plan, types } = checked;
    if (terminal.json) {
      await terminal.document({ ok, findings, play, plan: plan && withCosts(workspace, plan), types });
      return ok ? 0 : NOT_VALID;
    }
    for (const finding of findings) for (const line of findingLines(finding)) terminal.note(line);
    if (!types.checked && types.why !== null) terminal.note(`types were not checked: ${types.why}`);
    for (const line of planText(workspace, checked)) await terminal.line(line);
    const errors = findings.filter((finding) => finding.severity === 'error').length;
    const warnings = findings.length - errors;
    terminal.note(
      `${ok ? 'The play can be run' : 'The play is not valid'}: ${counted(errors, 'error')}, ${counted(warnings, 'warning')}.`,
    );
    return ok ? 0 : NOT_VALID;
  });
}

function findingLines({ severity, code, message, file, line, next }: Finding): string[] {
  const place = file === null ? '' : `${file}${line === null ? '' : `:${line}`}: `;
  return [`${severity}: ${place}${code}: ${message}`, ...next.map((step) => `  → ${step}`)];
}

type Plan = NonNullable<PlayCheck['plan']>;

/** The most that one call of a tool costs; null for one that is not in the catalogue. */
function mostOf(workspace: Workspace, tool: string): number | null {
  return workspace.catalogue.has(tool) ? workspace.catalogue.get(tool).maxCredits : null;
}

/** The plan with what each leg, and a row of each dataset, may cost. */
function withCosts(workspace: Workspace, plan: Plan) {
  return {
    ...plan,
    datasets: plan.datasets.map((dataset) => {
      const { most, counted: countedCreditsPerRow, unbounded } = costOfRow(workspace, dataset);
      return {
        ...dataset,
        mostCreditsPerRow: most,
        countedCreditsPerRow,
        unbounded,
        columns: dataset.columns.map((column) => ({
          ...column,
          legs: column.legs.map(({ name, tools, calls }) => {
            const cost = costOfCalls(workspace, calls);
            return { name, tools, mostCredits: cost.most, unbounded: cost.unbounded };
          }),
        })),
      };
    }),
  };
}

function rowCostText({ most, counted: sum, unbounded }: RowCost): string {
  if (most !== null) return `at most ${counted(most, 'credit')} a row`;
  return `${counted(sum, 'credit')} a row with each loop gone through once, and not bounded: ${unbounded.join('; ')}`;
}

function planText(workspace: Workspace, { play, plan }: PlayCheck): string[] {
  if (play === null || plan === null) return [];
  const lines = [`${play.name}${play.description === null ? '' : `: ${play.description}`}`];
  for (const csv of plan.csv) {
    const needs = csv.required.length === 0 ? '' : ` (needs ${csv.required.join(', ')})`;
    lines.push(`  csv ${csv.path ?? csv.from}${needs}`);
  }
  for (const dataset of plan.datasets) {
    const key =
      typeof dataset.keyFields === 'string' ? `by ${dataset.keyFields}` : `by ${dataset.keyFields.join(', ')}`;
    lines.push(`  dataset ${dataset.key}, keyed ${key}; ${rowCostText(costOfRow(workspace, dataset))}`);
    for (const column of dataset.columns)
      for (const leg of column.legs) {
        const name = leg.name === column.name ? column.name : `${column.name}.${leg.name}`;
        const tools = leg.tools.map(
          (tool) => `${tool} (${shownCost(mostOf(workspace, tool))}${shownBatch(workspace, tool)})`,
        );
        lines.push(`    ${name}${tools.length === 0 ? '' : `  ${tools.join(', ')}`}`);
      }
  }
  if (plan.tools.length > 0) lines.push(`  tools ${plan.tools.join(', ')}`);
  if (plan.secrets.length > 0) lines.push(`  secrets ${plan.secrets.join(', ')}`);
  return lines;
}

function shownBatch({ catalogue }: Workspace, tool: string): string {
  const batch = catalogue.has(tool) ? catalogue.get(tool).definition.batch : undefined;
  return batch === undefined ? '' : `, up to ${batch.maxSize} in one request`;
}

function shownCost(credits: number | null): string {
  return credits === null ? 'unknown' : `at most ${counted(credits, 'credit')}`;
}
