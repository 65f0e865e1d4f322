import { allOf, isNone, NO_CALLS, type ShownCalls } from './call-sums.ts';
import { CallCounter } from './count-calls.ts';
import { chainOf, ctxCall, isStepsChain, methodOf, stepCalls } from './ctx-calls.ts';
import { evaluated } from './given.ts';
import { bindingOf, followed, nameOf, type Placed, type Sources, staticText } from './names.ts';
import { child, isFunction, lineOf, list, propertyOf, type SourceText, type Syntax, textOf } from './syntax.ts';

/** What a play will do, as far as its text tells. Names that are computed are shown as `(their text)`. */
export interface PlayPlan {
  readonly datasets: readonly PlannedDataset[];
  readonly tools: readonly string[];
  readonly secrets: readonly string[];
  readonly csv: readonly PlannedCsv[];
}

export interface PlannedDataset {
  readonly key: string;
  /** The fields of the row key; 'function' where a function makes it, 'content' where none is given. */
  readonly keyFields: readonly string[] | 'function' | 'content';
  readonly columns: readonly PlannedColumn[];
  readonly file: string;
  readonly line: number;
}

export interface PlannedColumn {
  readonly name: string;
  /** In the order in which they are tried; what a plain resolver, or a program's own `return`, does is a leg of the column's name. */
  readonly legs: readonly PlannedLeg[];
}

export interface PlannedLeg {
  readonly name: string;
  readonly tools: readonly string[];
  /** The most that a row calls there. */
  readonly calls: ShownCalls;
}

export interface PlannedCsv {
  /** The path where it is written out; else null, and `from` is the expression. */
  readonly path: string | null;
  readonly from: string;
  readonly required: readonly string[];
  readonly file: string;
  readonly line: number;
}

/** A dataset with the nodes that its findings point to. */
export interface DatasetText {
  readonly source: SourceText;
  readonly call: Syntax;
  readonly columns: readonly { readonly name: string; readonly call: Syntax }[];
  readonly run: Syntax | undefined;
  readonly key: string | undefined;
}

/** Which nodes belong to the play that is checked; other plays of the file don't. */
export type Counts = (source: SourceText, node: Syntax) => boolean;

export function datasetTexts(sources: Sources, counts: Counts): DatasetText[] {
  const found: DatasetText[] = [];
  for (const source of sources.values()) {
    const calls = source.nodes.filter((node) => node.type === 'CallExpression' && counts(source, node));
    for (const call of calls) {
      const made = ctxCall(source, call);
      if (made?.method !== 'dataset') continue;
      const links = calls.filter((link) => link !== call && datasetCallUnder(source, link) === call);
      const columns = links
        .filter((link) => methodOf(link) === 'withColumn')
        .sort((a, b) => a.end - b.end)
        .map((link) => ({ name: nameText(sources, { source, node: list(link, 'arguments')[0] }), call: link }));
      const first = made.args[0];
      const key = first === undefined ? undefined : staticText(sources, { source, node: first });
      found.push({ source, call, columns, run: links.find((link) => methodOf(link) === 'run'), key });
    }
  }
  return found;
}

/** The `ctx.dataset(…)` call that a chain stands on, also where the chain goes on from a variable. */
export function datasetCallUnder(source: SourceText, link: Syntax, depth = 8): Syntax | undefined {
  const chain = chainOf(link);
  const onDataset = chain.find((call) => ctxCall(source, call)?.method === 'dataset');
  if (onDataset !== undefined || depth === 0) return onDataset;
  const callee = child(chain[0], 'callee');
  const root = callee?.type === 'MemberExpression' ? child(callee, 'object') : undefined;
  if (root?.type !== 'Identifier') return undefined;
  const value = bindingOf(source, nameOf(root), root)?.value;
  return value?.type === 'CallExpression' ? datasetCallUnder(source, value, depth - 1) : undefined;
}

export function planOf(sources: Sources, counts: Counts, declaredSecrets: readonly string[]): PlayPlan {
  const tools = new Set<string>();
  const secrets = new Set(declaredSecrets);
  const csv: PlannedCsv[] = [];
  for (const source of sources.values())
    for (const node of source.nodes) {
      if (!counts(source, node)) continue;
      const tool = toolOf(sources, { source, node });
      if (tool !== undefined) tools.add(tool.id);
      const secret = secretOf(sources, { source, node });
      if (secret !== undefined) secrets.add(secret);
      const call = ctxCall(source, node);
      if (call?.method === 'csv') csv.push(plannedCsv(sources, source, call.node));
    }
  const datasets = datasetTexts(sources, counts).map((dataset) => plannedDataset(sources, dataset));
  return { datasets, tools: [...tools].sort(), secrets: [...secrets].sort(), csv };
}

/** The tool that a call names in so many words. */
export function toolOf(sources: Sources, at: Placed): { id: string; node: Syntax } | undefined {
  const call = ctxCall(at.source, at.node);
  if (call?.method !== 'tools.execute' && call?.method !== 'tool') return undefined;
  const [first, second] = call.args;
  const request = first && followed(sources, { source: at.source, node: first });
  const positional = second !== undefined;
  const node = positional ? second : propertyOf(request?.node, 'tool');
  if (node === undefined) return undefined;
  const source = positional ? at.source : (request?.source ?? at.source);
  const id = staticText(sources, { source, node });
  return id === undefined ? undefined : { id, node };
}

/** The secret that a call names in so many words. */
export function secretOf(sources: Sources, at: Placed): string | undefined {
  const call = ctxCall(at.source, at.node);
  const positions: Record<string, number> = { 'secrets.get': 0, 'secrets.bearer': 0, 'secrets.header': 1 };
  const node = call?.args[positions[call.method] ?? -1];
  return node === undefined ? undefined : staticText(sources, { source: at.source, node });
}

function plannedCsv(sources: Sources, source: SourceText, call: Syntax): PlannedCsv {
  const [from, given] = list(call, 'arguments');
  const options = given && followed(sources, { source, node: given });
  const required = propertyOf(options?.node, 'required');
  return {
    path: (from && staticText(sources, { source, node: from })) ?? null,
    from: from === undefined ? '' : textOf(source, from),
    required: list(required, 'elements').flatMap(
      (node) => staticText(sources, { source: options?.source ?? source, node }) ?? [],
    ),
    file: source.shownAs,
    line: lineOf(source, call),
  };
}

function plannedDataset(sources: Sources, dataset: DatasetText): PlannedDataset {
  const { source, call } = dataset;
  return {
    key: nameText(sources, { source, node: list(call, 'arguments')[0] }),
    keyFields: keyFields(sources, dataset),
    columns: dataset.columns.map((column) => {
      const resolver = list(column.call, 'arguments')[1];
      const legs = resolver === undefined ? [] : legsOf(sources, { source, node: resolver }, column.name);
      return { name: column.name, legs: legs.flatMap((leg) => plannedLeg(sources, leg, column.name)) };
    }),
    file: source.shownAs,
    line: lineOf(source, call),
  };
}

/** A `return` that calls nothing is no leg. */
function plannedLeg(sources: Sources, { name, at }: LegText, column: string): PlannedLeg | [] {
  const calls = new CallCounter(sources).ofResolver(at);
  return name === null && isNone(calls) ? [] : { name: name ?? column, tools: [...calls.tools.keys()], calls };
}

function keyFields(sources: Sources, dataset: DatasetText): PlannedDataset['keyFields'] {
  const key = keyOf(sources, dataset);
  if (key === undefined) return 'content';
  if (isFunction(key.node)) return 'function';
  const nodes = key.node.type === 'ArrayExpression' ? list(key.node, 'elements') : [key.node];
  return nodes.map((node) => nameText(sources, { source: key.source, node }));
}

/** What `.run({ key })` says. */
export function keyOf(sources: Sources, dataset: DatasetText): Placed | undefined {
  const given = dataset.run && list(dataset.run, 'arguments')[0];
  if (given === undefined) return undefined;
  const options = followed(sources, { source: dataset.source, node: given });
  const key = propertyOf(options.node, 'key');
  return key && followed(sources, { source: options.source, node: key });
}

interface LegText {
  /** Null for what a program's own `return` does. */
  readonly name: string | null;
  /** Its steps; '' for a resolver, and for what a program's own `return` does. */
  readonly path: string;
  readonly at: Placed;
}

function legsOf(sources: Sources, at: Placed, name: string): LegText[] {
  const resolver = evaluated(sources, at);
  if (!isStepsChain(resolver.node)) return [{ name, path: '', at: resolver }];
  const calls = chainOf(resolver.node);
  const steps = stepCalls(resolver.node).flatMap((call) => {
    const [label, body] = list(call, 'arguments');
    const step = nameText(sources, { ...resolver, node: label });
    if (body === undefined) return [];
    const inner = evaluated(sources, { ...resolver, node: body });
    if (!isStepsChain(inner.node)) return [{ name: step, path: step, at: inner }];
    return legsOf(sources, inner, step).map((leg) =>
      leg.name === null ? leg : { ...leg, name: `${step}.${leg.name}`, path: `${step}.${leg.path}` },
    );
  });
  const returns = calls
    .filter((call) => methodOf(call) === 'return')
    .flatMap((call) => list(call, 'arguments')[0] ?? []);
  return [...steps, ...returns.map((node) => ({ name: null, path: '', at: { ...resolver, node } }))];
}

/** Stands for the key of a dataset whose key the text does not tell. */
const ANY_DATASET = '*';

/** The most calls that a row makes, by the dataset's key and the leg's path (`*` where the key is computed). */
export function callsByLeg(sources: Sources, counts: Counts): ReadonlyMap<string, ShownCalls> {
  const calls = new Map<string, ShownCalls>();
  for (const dataset of datasetTexts(sources, counts))
    for (const { name, call } of dataset.columns) {
      const resolver = list(call, 'arguments')[1];
      if (resolver === undefined) continue;
      for (const leg of legsOf(sources, { source: dataset.source, node: resolver }, name)) {
        const path = leg.path === '' ? name : `${name}.${leg.path}`;
        const id = `${dataset.key ?? ANY_DATASET}|${path}`;
        calls.set(id, allOf([calls.get(id) ?? NO_CALLS, new CallCounter(sources).ofResolver(leg.at)]));
      }
    }
  return calls;
}

function nameText(sources: Sources, at: Omit<Placed, 'node'> & { readonly node: Syntax | undefined }): string {
  const { node } = at;
  if (node === undefined) return '(missing)';
  return staticText(sources, { ...at, node })?.trim() ?? `(${textOf(at.source, node, 40)})`;
}
