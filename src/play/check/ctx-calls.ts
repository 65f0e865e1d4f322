import { bindingOf, nameOf } from './names.ts';
import {
  ancestors,
  child,
  isFunction,
  list,
  propertyName,
  type SourceText,
  type Syntax,
  within,
  word,
} from './syntax.ts';

/** A call of `ctx`: `step`, `tools.execute`, `secrets.get` … */
export interface CtxCall {
  readonly method: string;
  readonly args: readonly Syntax[];
  readonly node: Syntax;
}

const GROUPS: ReadonlySet<string> = new Set(['tools', 'secrets', 'customerDb']);

/** The call of `ctx` that a node is, if it is one. */
export function ctxCall(source: SourceText, node: Syntax): CtxCall | undefined {
  if (node.type !== 'CallExpression') return undefined;
  const callee = child(node, 'callee');
  if (callee?.type !== 'MemberExpression') return undefined;
  const name = propertyName(callee);
  const object = child(callee, 'object');
  if (name === undefined || object === undefined) return undefined;
  const args = list(node, 'arguments');
  if (isCtx(source, object)) return { method: name, args, node };
  const group = object.type === 'MemberExpression' ? propertyName(object) : nameOf(object);
  if (group === undefined || !GROUPS.has(group)) return undefined;
  const owner = object.type === 'MemberExpression' ? child(object, 'object') : undefined;
  const destructured = object.type === 'Identifier' && bindingOf(source, group, object)?.kind !== 'import';
  return (owner && isCtx(source, owner)) || destructured ? { method: `${group}.${name}`, args, node } : undefined;
}

/** Whether an expression is a `ctx`, by its place, its type or its name. */
export function isCtx(source: SourceText, node: Syntax): boolean {
  if (node.type === 'MemberExpression') return propertyName(node) === 'ctx';
  if (node.type !== 'Identifier') return false;
  const name = nameOf(node);
  if (/^(ctx|.*Ctx)$/.test(name)) return true;
  const binding = bindingOf(source, name, node);
  if (binding?.of === undefined) return false;
  const annotation = binding.at.typeAnnotation as Syntax | null | undefined;
  if (annotation && /\b(PlayCtx|RowCtx)\b/.test(source.text.slice(annotation.start, annotation.end))) return true;
  return binding.of.index === ctxPosition(source, binding.of.fn);
}

/** Which parameter of a function is the ctx: the first of a play, the second of a resolver. */
function ctxPosition(source: SourceText, fn: Syntax): number | undefined {
  const parent = source.parents.get(fn);
  if (parent?.type === 'CallExpression') {
    if (isCallOf(parent, 'definePlay')) return 0;
    const method = methodOf(parent);
    return method === 'withColumn' || (method === 'step' && chainRoot(parent) === 'steps') ? 1 : undefined;
  }
  if (parent?.type !== 'Property' || propertyName(parent) !== 'run') return undefined;
  const object = source.parents.get(parent);
  const call = object && source.parents.get(object);
  return call && isCallOf(call, 'definePlay') ? 0 : undefined;
}

export function isCallOf(node: Syntax, name: string): boolean {
  if (node.type !== 'CallExpression') return false;
  const callee = child(node, 'callee');
  return callee?.type === 'MemberExpression' ? propertyName(callee) === name : word(callee, 'name') === name;
}

/** The name of the method that a call calls. */
export function methodOf(call: Syntax): string | undefined {
  const callee = child(call, 'callee');
  return callee?.type === 'MemberExpression' ? propertyName(callee) : undefined;
}

/** The calls of a chain `a().b().c()`, first to last; the first is what the chain stands on. */
export function chainOf(call: Syntax): Syntax[] {
  const calls: Syntax[] = [];
  let node: Syntax | undefined = call;
  while (node?.type === 'CallExpression') {
    calls.unshift(node);
    const callee: Syntax | undefined = child(node, 'callee');
    node = callee?.type === 'MemberExpression' ? child(callee, 'object') : undefined;
  }
  return calls;
}

/** What a chain of calls stands on: a function's name, or the object of its first method. */
function chainRoot(call: Syntax): string | undefined {
  const first = chainOf(call)[0];
  return word(child(first, 'callee'), 'name');
}

export function isStepsChain(call: Syntax): boolean {
  return call.type === 'CallExpression' && chainRoot(call) === 'steps';
}

/** The `.step(…)` calls of a steps() program, in order. */
export function stepCalls(program: Syntax): Syntax[] {
  return chainOf(program).filter((call) => methodOf(call) === 'step');
}

/** Whether a node runs inside `ctx.step`, where it runs once. */
export function inStep(source: SourceText, node: Syntax): boolean {
  let inner = node;
  for (const outer of ancestors(source, node)) {
    if (isFunction(inner) && ctxCall(source, outer)?.method === 'step') return true;
    inner = outer;
  }
  return false;
}

/** Whether a node belongs to a tool's definition, whose code may do as it likes. */
export function inTool(source: SourceText, node: Syntax): boolean {
  for (const outer of ancestors(source, node)) if (isCallOf(outer, 'defineTool')) return true;
  return false;
}

/** Whether a node runs for a row: in a column's resolver or a step of a program. */
export function inRow(source: SourceText, node: Syntax): boolean {
  let inner = node;
  for (const outer of ancestors(source, node)) {
    if (outer.type === 'CallExpression' && inner !== child(outer, 'callee') && methodOf(outer) === 'withColumn')
      return true;
    inner = outer;
  }
  return false;
}

/** Whether a node runs beside others of its scope: under `Promise.all` and its kin, or in a callback over an array. */
export function inParallel(source: SourceText, node: Syntax): boolean {
  let inner = node;
  for (const outer of ancestors(source, node)) {
    if (outer.type === 'CallExpression' && inner !== child(outer, 'callee')) {
      const callee = child(outer, 'callee');
      const method = methodOf(outer);
      if (word(child(callee, 'object'), 'name') === 'Promise' && /^(all|allSettled|race|any)$/.test(method ?? ''))
        return true;
      if (method === 'withColumn' || method === 'step') return false;
      if (isFunction(inner) && /^(map|flatMap|forEach)$/.test(method ?? '')) return true;
    }
    inner = outer;
  }
  return false;
}

/** Whether the function that a node stands in is only ever used inside `ctx.step`, however it gets there. */
export function onlyUsedInSteps(source: SourceText, node: Syntax): boolean {
  for (const outer of ancestors(source, node)) {
    if (!isFunction(outer)) continue;
    const holder = source.parents.get(outer);
    const id = child(outer, 'id') ?? (holder?.type === 'VariableDeclarator' ? child(holder, 'id') : undefined);
    if (id?.type !== 'Identifier') continue;
    const uses = within(source, source.program).filter(
      (other) =>
        other.type === 'Identifier' &&
        other !== id &&
        nameOf(other) === nameOf(id) &&
        bindingOf(source, nameOf(other), other)?.at === id,
    );
    if (uses.length > 0 && uses.every((use) => inStep(source, use) || isStepBody(source, use))) return true;
  }
  return false;
}

function isStepBody(source: SourceText, node: Syntax): boolean {
  const parent = source.parents.get(node);
  return parent !== undefined && ctxCall(source, parent)?.method === 'step';
}
