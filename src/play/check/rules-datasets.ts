import { chainOf, ctxCall, inRow, inTool, isStepsChain, methodOf, stepCalls } from './ctx-calls.ts';
import { type Finding, finding } from './finding.ts';
import { bindingOf, nameOf, type Placed, type Sources, staticText } from './names.ts';
import { type Counts, type DatasetText, datasetCallUnder, datasetTexts, keyOf } from './plan.ts';
import {
  ancestors,
  child,
  isFunction,
  lineOf,
  list,
  propertyName,
  type SourceText,
  type Syntax,
  within,
} from './syntax.ts';
import { globalUse } from './unrepeatable.ts';

export function datasetFindings(sources: Sources, counts: Counts): Finding[] {
  const datasets = datasetTexts(sources, counts);
  return [
    ...duplicateKeys(datasets),
    ...datasets.flatMap((dataset) => duplicateColumns(dataset)),
    ...datasets.flatMap((dataset) => unstableKeys(sources, dataset)),
    ...datasets.filter((dataset) => inRow(dataset.source, dataset.call)).map(nested),
    ...[...sources.values()].flatMap((source) => [
      ...duplicateSteps(sources, source, counts),
      ...usedAsArray(source, counts),
    ]),
  ];
}

const placeOf = (source: SourceText, node: Syntax) => ({ file: source.shownAs, line: lineOf(source, node) });

function duplicateKeys(datasets: readonly DatasetText[]): Finding[] {
  return datasets.flatMap((dataset, index) => {
    const twin = datasets
      .slice(0, index)
      .find(
        (other) => other.key !== undefined && other.key.trim() === dataset.key?.trim() && !exclusive(other, dataset),
      );
    if (twin === undefined) return [];
    return finding('DATASET_KEY_DUPLICATE', placeOf(dataset.source, dataset.call), {
      message: `The dataset key '${dataset.key}' is also used in ${twin.source.shownAs}:${lineOf(twin.source, twin.call)}.`,
      next: 'Give each dataset of a play a key of its own.',
    });
  });
}

/** Whether two datasets stand in different branches, of which a run takes one. */
function exclusive(a: DatasetText, b: DatasetText): boolean {
  if (a.source !== b.source) return false;
  const above = [...ancestors(a.source, a.call)];
  for (const common of ancestors(b.source, b.call))
    if (above.includes(common)) return /^(IfStatement|ConditionalExpression|SwitchStatement)$/.test(common.type);
  return false;
}

function duplicateColumns(dataset: DatasetText): Finding[] {
  return dataset.columns.flatMap((column, index) => {
    const twin = dataset.columns.slice(0, index).find((other) => other.name === column.name);
    // Where the chain goes on from a variable, only one of the two may ever be added.
    if (twin === undefined || !chainOf(column.call).includes(twin.call)) return [];
    return finding('COLUMN_DUPLICATE', placeOf(dataset.source, endOf(column.call)), {
      message: `The dataset has two columns named '${column.name}'.`,
      next: 'Rename one of them, or give the later one the earlier value in one resolver.',
    });
  });
}

/** A chain's call starts where the chain starts; its name stands where people look. */
function endOf(call: Syntax): Syntax {
  return child(child(call, 'callee'), 'property') ?? call;
}

function duplicateSteps(sources: Sources, source: SourceText, counts: Counts): Finding[] {
  const programs = source.nodes.filter(
    (node) => counts(source, node) && isStepsChain(node) && methodOf(node) === 'return',
  );
  return programs.flatMap((program) => {
    const seen = new Set<string>();
    return stepCalls(program).flatMap((call) => {
      const node = list(call, 'arguments')[0];
      const name = node && staticText(sources, { source, node })?.trim();
      if (name === undefined || !seen.has(name)) {
        if (name !== undefined) seen.add(name);
        return [];
      }
      return finding('COLUMN_DUPLICATE', placeOf(source, endOf(call)), {
        message: `The steps() program has two steps named '${name}'.`,
        next: 'Rename one of them.',
      });
    });
  });
}

function unstableKeys(sources: Sources, dataset: DatasetText): Finding[] {
  const key = keyOf(sources, dataset);
  if (key === undefined || !isFunction(key.node)) return [];
  const next = 'Make the key of what is in the row: a field, a list of fields, or a function of them.';
  return within(key.source, key.node).flatMap((node) => {
    const place = placeOf(key.source, node);
    const use = globalUse(key.source, node);
    if (use?.kind === 'CHANCE')
      return finding('ROW_KEY_UNSTABLE', place, {
        message: `The key function uses ${use.what}; a row's key must always be the same.`,
        next,
      });
    if (use?.kind === 'CLOCK')
      return finding('ROW_KEY_FROM_CLOCK', place, {
        message: `The key function reads ${use.what}; a row's key must always be the same.`,
        next,
      });
    if (changesOuter(key, node))
      return finding('ROW_KEY_UNSTABLE', place, {
        message: 'The key function counts its own calls; it is called more than once for a row.',
        next,
      });
    return [];
  });
}

function changesOuter(key: Placed, node: Syntax): boolean {
  if (node.type !== 'UpdateExpression' && node.type !== 'AssignmentExpression') return false;
  const target = child(node, node.type === 'UpdateExpression' ? 'argument' : 'left');
  if (target?.type !== 'Identifier') return false;
  const at = bindingOf(key.source, nameOf(target), target)?.at;
  return at !== undefined && (at.start < key.node.start || at.end > key.node.end);
}

function nested(dataset: DatasetText): Finding {
  return finding('DATASET_NESTED', placeOf(dataset.source, dataset.call), {
    message: 'A dataset is made inside a row, which is refused when it runs.',
    next: 'Make the dataset in the play itself, with a row for each inner item, or call ctx.runPlay there.',
  });
}

const INSTEAD: Readonly<Record<string, string>> = {
  length: 'await rows.count()',
  slice: 'await rows.peek(n)',
  find: 'await (await rows.filter(async (row) => …)).first()',
  forEach: 'for await (const row of rows) { … }',
};
const ARRAY_ONLY: ReadonlySet<string> = new Set(
  'length slice find findIndex forEach reduce some every includes indexOf push pop shift sort reverse join flatMap concat flat entries keys values splice'.split(
    ' ',
  ),
);

function usedAsArray(source: SourceText, counts: Counts): Finding[] {
  return source.nodes.flatMap((node) => {
    if (node.type !== 'Identifier' || !counts(source, node) || inTool(source, node)) return [];
    const parent = source.parents.get(node);
    const use = parent && arrayUse(source, node, parent);
    if (use === undefined || !isDataset(source, node)) return [];
    const name = nameOf(node);
    const instead = (INSTEAD[use.member] ?? 'await rows.materialize()').replaceAll('rows', name);
    return finding(use.certain ? 'DATASET_AS_ARRAY' : 'DATASET_SYNC_CALLBACK', placeOf(source, node), {
      message: `${name} is a dataset, not an array: ${use.what.replaceAll('rows', name)} does not work on it.`,
      next: use.certain ? `Use ${instead}` : `Give it an async callback: ${name}.${use.member}(async (row) => …)`,
    });
  });
}

interface ArrayUse {
  readonly member: string;
  readonly what: string;
  readonly certain: boolean;
}

function arrayUse(source: SourceText, node: Syntax, parent: Syntax): ArrayUse | undefined {
  const sure = (member: string, what: string): ArrayUse => ({ member, what, certain: true });
  if (parent.type === 'MemberExpression' && child(parent, 'object') === node) {
    const index = child(parent, 'property');
    if (parent.computed === true && index?.type === 'Literal' && typeof index.value === 'number')
      return { ...sure('at', `rows[${index.value}]`) };
    const member = propertyName(parent);
    if (member === undefined) return undefined;
    if (ARRAY_ONLY.has(member)) return sure(member, `.${member}`);
    const call = source.parents.get(parent);
    const callback = call?.type === 'CallExpression' ? list(call, 'arguments')[0] : undefined;
    if ((member === 'map' || member === 'filter') && callback && isSurelySync(callback))
      return { member, what: `.${member} with a callback that isn't async`, certain: false };
    return undefined;
  }
  if (parent.type === 'SpreadElement' && source.parents.get(parent)?.type !== 'ObjectExpression')
    return sure('spread', '...rows');
  if (parent.type === 'ForOfStatement' && child(parent, 'right') === node && parent.await !== true)
    return sure('forEach', 'for (… of rows) without await');
  if (parent.type === 'VariableDeclarator' && child(parent, 'id')?.type === 'ArrayPattern')
    return sure('destructuring', 'const […] = rows');
  if (parent.type === 'CallExpression' && /^Array\.(from|isArray)$/.test(calleeText(source, parent)))
    return sure('from', `${calleeText(source, parent)}(rows)`);
  return undefined;
}

function calleeText(source: SourceText, call: Syntax): string {
  const callee = child(call, 'callee');
  return callee === undefined ? '' : source.text.slice(callee.start, callee.end);
}

function isSurelySync(callback: Syntax): boolean {
  if (!isFunction(callback) || callback.async === true) return false;
  const body = child(callback, 'body');
  // An expression such as a call may well be a promise.
  return body !== undefined && !/^(BlockStatement|CallExpression|Identifier|NewExpression)$/.test(body.type);
}

/** Whether a name holds what `await ctx.csv(…)` or `await ctx.dataset(…)….run()` gave. */
function isDataset(source: SourceText, name: Syntax): boolean {
  const value = bindingOf(source, nameOf(name), name)?.value;
  const call = value?.type === 'AwaitExpression' ? child(value, 'argument') : undefined;
  if (call === undefined) return false;
  if (ctxCall(source, call)?.method === 'csv') return true;
  return methodOf(call) === 'run' && datasetCallUnder(source, call) !== undefined;
}
