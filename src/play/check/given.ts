import { followed, type Placed, type Sources } from './names.ts';
import { child, isFunction, list, propertyName, propertyOf, type Syntax, within, word } from './syntax.ts';

/** What the parameters of a function hold in one call, and the arguments of which the function's text does not tell. */
export interface Given {
  readonly given: ReadonlyMap<Syntax, Placed>;
  readonly unbound: readonly Placed[];
}

/** Holds the arguments of a call against the parameters of the function that it calls. */
export function givenTo(fn: Placed, args: readonly Placed[]): Given {
  const given = new Map(fn.given);
  const params = list(fn.node, 'params');
  const unbound = args.filter((arg, index) => {
    const param = params[index];
    const to = param?.type === 'AssignmentPattern' ? child(param, 'left') : param;
    if (to?.type === 'Identifier' && !isSetAgain(fn, to)) given.set(to, arg);
    else return to?.type !== 'ObjectPattern' || !bindsAll(to, arg, given);
    return false;
  });
  for (const param of params.slice(args.length)) {
    const [to, value] = [child(param, 'left'), child(param, 'right')];
    if (param.type === 'AssignmentPattern' && to?.type === 'Identifier' && value !== undefined)
      given.set(to, { ...fn, node: value });
  }
  return { given, unbound };
}

/** `({ ctx, tool: id })` of an object that is written out. */
function bindsAll(pattern: Syntax, arg: Placed, given: Map<Syntax, Placed>): boolean {
  if (arg.node.type !== 'ObjectExpression') return false;
  const taken = list(pattern, 'properties');
  for (const property of taken) {
    const [to, name] = [child(property, 'value'), propertyName(property)];
    const value = name === undefined ? undefined : propertyOf(arg.node, name);
    if (to?.type !== 'Identifier' || value === undefined) return false;
    given.set(to, { ...arg, node: value });
  }
  return true;
}

function isSetAgain(fn: Placed, param: Syntax): boolean {
  return within(fn.source, fn.node).some((node) => {
    const target = child(node, node.type === 'UpdateExpression' ? 'argument' : 'left');
    if (node.type !== 'UpdateExpression' && node.type !== 'AssignmentExpression') return false;
    return target?.type === 'Identifier' && word(target, 'name') === word(param, 'name');
  });
}

/** What an expression is once names and local functions that only make something are followed: `finder('a')`. */
export function evaluated(sources: Sources, at: Placed, depth = 8): Placed {
  const value = followed(sources, at);
  const callee = value.node.type === 'CallExpression' ? child(value.node, 'callee') : undefined;
  if (depth === 0 || callee?.type !== 'Identifier') return value;
  const fn = followed(sources, { ...value, node: callee });
  const made = isFunction(fn.node) && fn.node.async !== true ? madeBy(fn.node) : undefined;
  if (made === undefined) return value;
  const args = list(value.node, 'arguments').map((node): Placed => ({ ...value, node }));
  const { given } = givenTo(fn, args);
  return evaluated(sources, { source: fn.source, node: made, given }, depth - 1);
}

/** What a function returns that does nothing but name things and return. */
function madeBy(fn: Syntax): Syntax | undefined {
  const body = child(fn, 'body');
  if (body?.type !== 'BlockStatement') return body;
  const statements = list(body, 'body');
  const last = statements.at(-1);
  const isPlain = statements.slice(0, -1).every(({ type }) => /^(VariableDeclaration|FunctionDeclaration)$/.test(type));
  return isPlain && last?.type === 'ReturnStatement' ? child(last, 'argument') : undefined;
}
