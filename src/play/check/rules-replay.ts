import { type CtxCall, ctxCall, inParallel, inStep, inTool, onlyUsedInSteps } from './ctx-calls.ts';
import { type Finding, type FindingCode, finding } from './finding.ts';
import { followed, type Sources, staticText } from './names.ts';
import type { Counts } from './plan.ts';
import {
  ancestors,
  child,
  hasSpread,
  isFunction,
  lineOf,
  list,
  propertyName,
  propertyOf,
  type SourceText,
  type Syntax,
  within,
} from './syntax.ts';
import { type GlobalUse, globalUse } from './unrepeatable.ts';

const INSTEAD: Readonly<Record<GlobalUse['kind'], { code: FindingCode; next: string }>> = {
  CLOCK: { code: 'CLOCK_OUTSIDE_STEP', next: "Use await ctx.now('name'), which gives every attempt the same instant." },
  CHANCE: {
    code: 'CHANCE_OUTSIDE_STEP',
    next: "Use ctx.random('name') or ctx.uuid('name'), the same on every attempt.",
  },
  FILES: { code: 'FILES_OUTSIDE_STEP', next: "Read rows with ctx.csv, or do it in ctx.step('name', () => …)." },
  NETWORK: { code: 'NETWORK_OUTSIDE_STEP', next: "Use ctx.fetch('name', url), which is recorded, or a tool." },
  ENVIRONMENT: {
    code: 'ENVIRONMENT_OUTSIDE_STEP',
    next: 'Take it from the input, or from ctx.secrets where it is a secret.',
  },
  TIMER: { code: 'TIMER_OUTSIDE_STEP', next: "Use await ctx.sleep('90s'), which holds no process." },
};

export function replayFindings(sources: Sources, counts: Counts): Finding[] {
  const found: Finding[] = [];
  for (const source of sources.values())
    for (const node of source.nodes) {
      if (!counts(source, node)) continue;
      const use = globalUse(source, node);
      if (use !== undefined && !mayRepeat(source, node)) found.push(outsideStep(source, node, use));
      if (node.type === 'MetaProperty' && source.text.startsWith('import', node.start))
        found.push(importMeta(source, node));
      const call = ctxCall(source, node);
      if (call === undefined) continue;
      found.push(
        ...unkeyed(source, call),
        ...suspensionInStep(source, call),
        ...withoutIdempotencyKey(sources, source, call),
      );
    }
  return found;
}

const placeOf = (source: SourceText, node: Syntax) => ({ file: source.shownAs, line: lineOf(source, node) });

function mayRepeat(source: SourceText, node: Syntax): boolean {
  return inStep(source, node) || inTool(source, node) || onlyUsedInSteps(source, node);
}

function outsideStep(source: SourceText, node: Syntax, use: GlobalUse): Finding {
  const instead = INSTEAD[use.kind];
  return finding(instead.code, placeOf(source, node), {
    message: `${use.what} outside ctx.step: it is done again, and may give something else, whenever the run is resumed.`,
    next: instead.next,
  });
}

function importMeta(source: SourceText, node: Syntax): Finding {
  return finding('IMPORT_META', placeOf(source, node), {
    message: 'import.meta speaks of the artifact in .callsheet/artifacts, not of this file.',
    next: 'Import the data (JSON files can be imported), or take the path from the input.',
  });
}

function unkeyed(source: SourceText, call: CtxCall): Finding[] {
  if (!['now', 'random', 'uuid'].includes(call.method) || call.args.length > 0) return [];
  if (!inParallel(source, call.node)) return [];
  return [
    finding('UNKEYED_IN_PARALLEL', placeOf(source, call.node), {
      message: `ctx.${call.method}() without a key in code that runs side by side: which call gets which value depends on the order.`,
      next: `Give it a key that tells the calls apart: ctx.${call.method}(item.id)`,
    }),
  ];
}

const SUSPENDS: ReadonlySet<string> = new Set(['sleep', 'waitForEvent']);

function suspensionInStep(source: SourceText, call: CtxCall): Finding[] {
  if (!SUSPENDS.has(call.method) || !inStep(source, call.node)) return [];
  const body = stepBody(source, call.node);
  const before = body && within(source, body).some((node) => isEffect(node) && node.end <= call.node.start);
  if (!before) return [];
  return [
    finding('SUSPENSION_IN_STEP', placeOf(source, call.node), {
      message: `ctx.${call.method} inside ctx.step: what stands before it in the step runs again when the wait is over.`,
      next: `Move ctx.${call.method} out of the step.`,
    }),
  ];
}

function stepBody(source: SourceText, node: Syntax): Syntax | undefined {
  let inner = node;
  for (const outer of ancestors(source, node)) {
    if (isFunction(inner) && ctxCall(source, outer)?.method === 'step') return inner;
    inner = outer;
  }
  return undefined;
}

function isEffect(node: Syntax): boolean {
  return /^(CallExpression|NewExpression|AssignmentExpression|UpdateExpression)$/.test(node.type);
}

/** Only what is written out can be told: a method or headers that are computed are left to the run. */
function withoutIdempotencyKey(sources: Sources, source: SourceText, call: CtxCall): Finding[] {
  if (call.method !== 'fetch') return [];
  const given = call.args[2];
  const init = given && followed(sources, { source, node: given });
  const methodNode = propertyOf(init?.node, 'method');
  const method = init && methodNode && staticText(sources, { source: init.source, node: methodNode })?.toUpperCase();
  if (init === undefined || method === undefined || !/^(POST|PUT|PATCH|DELETE)$/.test(method)) return [];
  const headersNode = propertyOf(init.node, 'headers');
  if (headersNode === undefined && hasSpread(init.node)) return [];
  const headers = headersNode && followed(sources, { source: init.source, node: headersNode }).node;
  if (headers !== undefined && (headers.type !== 'ObjectExpression' || hasSpread(headers))) return [];
  const names = list(headers, 'properties').map((property) =>
    property.computed === true && !child(property, 'key')?.value ? '?' : propertyName(property),
  );
  if (names.some((name) => name === '?' || name?.toLowerCase() === 'idempotency-key')) return [];
  return [
    finding('FETCH_WITHOUT_IDEMPOTENCY_KEY', placeOf(source, call.node), {
      message: `ctx.fetch with ${method} and no Idempotency-Key header is refused: after a crash it might be done twice.`,
      next: "Add headers: { 'Idempotency-Key': ctx.uuid('name') }, or make it a tool with effect: 'write'.",
    }),
  ];
}
