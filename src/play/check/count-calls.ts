import { allOf, hiddenCalls, isNone, NO_CALLS, oneOf, repeated, type ShownCalls } from './call-sums.ts';
import { chainOf, isCallOf, isCtx, isStepsChain, methodOf, stepCalls } from './ctx-calls.ts';
import { evaluated, givenTo } from './given.ts';
import { bindingOf, followed, memberValue, nameOf, type Placed, type Sources, staticText } from './names.ts';
import {
  child,
  childrenOf,
  isFunction,
  lineOf,
  list,
  propertyName,
  propertyOf,
  type Syntax,
  textOf,
} from './syntax.ts';

const LOOPS = /^(ForStatement|ForInStatement|WhileStatement|DoWhileStatement)$/;
const ITERATES = /^(map|flatMap|forEach|filter|find|findIndex|some|every|reduce|reduceRight)$/;
const ONCE = /^(then|catch|finally|step)$/;
/** What a ctx is asked for that calls tools. */
const CALLING = /^(tools|tool|runPlay|runPlayAsync|runSteps|dataset)$/;
const MOST_NODES = 100_000;

/**
 * Counts the most calls that a resolver makes, in the local functions that it calls too. Whatever it cannot follow to its
 * end counts as hidden or as repeated, so that a count that is finite and hides nothing is a bound.
 */
export class CallCounter {
  readonly #sources: Sources;
  readonly #ctxNames = new Set<Syntax>();
  readonly #running: Syntax[] = [];
  readonly #recursive = new Set<Syntax>();
  #left = MOST_NODES;

  constructor(sources: Sources) {
    this.#sources = sources;
  }

  /** What a resolver or the body of a step does for one row. */
  ofResolver(at: Placed): ShownCalls {
    const value = evaluated(this.#sources, at);
    const run = propertyOf(value.node, 'run');
    const fn = run === undefined ? value : evaluated(this.#sources, { ...value, node: run });
    if (!isFunction(fn.node)) return hiddenCalls(`${textOf(fn.source, fn.node, 40)} is not written out`);
    const [first, second] = list(fn.node, 'params');
    const renamed = list(first, 'properties').find((one) => propertyName(one) === 'ctx');
    const name = child(renamed, 'value');
    return allOf([this.#takesCtx(run === undefined ? second : name), this.#invoke(fn, [])]);
  }

  /** Notes a parameter that holds ctx; one that takes it apart may name what calls as it likes. */
  #takesCtx(param: Syntax | undefined): ShownCalls {
    if (param?.type === 'Identifier') this.#ctxNames.add(param);
    return param?.type === 'ObjectPattern' && !list(param, 'properties').every(isFoundByName)
      ? hiddenCalls('ctx is taken apart')
      : NO_CALLS;
  }

  #count(at: Placed): ShownCalls {
    const { node } = at;
    if (this.#left-- <= 0) return hiddenCalls('its code is too long to follow');
    if (node.type === 'FunctionDeclaration' || node.type === 'ClassDeclaration') return NO_CALLS;
    if (isFunction(node)) return repeated(this.#invoke(at, []), handedOn(at));
    if (LOOPS.test(node.type)) return repeated(this.#inside(at), loop(at));
    switch (node.type) {
      case 'Identifier':
        return this.#value(at);
      case 'MemberExpression':
        return this.#member(at);
      case 'CallExpression':
      case 'NewExpression':
        return this.#call(at);
      case 'Property':
        return this.#part(at, 'value');
      case 'VariableDeclarator':
        return this.#declared(at);
      case 'ForOfStatement':
        return this.#forOf(at);
      case 'IfStatement':
      case 'ConditionalExpression':
        return allOf([this.#part(at, 'test'), oneOf([this.#part(at, 'consequent'), this.#part(at, 'alternate')])]);
      default:
        return this.#inside(at);
    }
  }

  #inside(at: Placed): ShownCalls {
    return allOf(childrenOf(at.node).map((node) => this.#count({ ...at, node })));
  }

  #part(at: Placed, field: string): ShownCalls {
    const node = child(at.node, field);
    return node === undefined ? NO_CALLS : this.#count({ ...at, node });
  }

  /** A name that is handed on: whoever gets a function may call it as often as it likes. */
  #value(at: Placed): ShownCalls {
    if (this.#isCtx(at)) return hiddenCalls('ctx is handed on');
    const value = followed(this.#sources, at);
    if (value.node === at.node) return NO_CALLS;
    if (value.node.type === 'ObjectExpression') return this.#object(value, true);
    return isFunction(value.node) ? repeated(this.#invoke(value, []), handedOn(at)) : NO_CALLS;
  }

  /** What an object that is written out hands on, or else what is done to make it. */
  #object(at: Placed, isHanded: boolean): ShownCalls {
    const values = list(at.node, 'properties').map((one) => child(one, 'value') ?? one);
    const isName = (node: Syntax): boolean => node.type === 'Identifier' || isFunction(node);
    return allOf(values.filter((node) => isName(node) === isHanded).map((node) => this.#count({ ...at, node })));
  }

  #member(at: Placed): ShownCalls {
    const object = child(at.node, 'object');
    if (object === undefined) return NO_CALLS;
    const name = propertyName(at.node) ?? '';
    const holder = { ...at, node: object };
    if (this.#isCtx(at)) return hiddenCalls('ctx is handed on');
    if (this.#isCtx(holder)) return CALLING.test(name) ? hiddenCalls(`ctx.${name} is handed on`) : NO_CALLS;
    if (this.#isTools(holder)) return hiddenCalls('ctx.tools is handed on');
    const value = memberValue(this.#sources, at);
    if (value !== undefined && isFunction(value.node)) return repeated(this.#invoke(value, []), handedOn(at));
    const key = at.node.computed === true ? this.#part(at, 'property') : NO_CALLS;
    return allOf([this.#count(holder), key]);
  }

  #declared(at: Placed): ShownCalls {
    const [to, init] = [child(at.node, 'id'), child(at.node, 'init')];
    if (init === undefined || (isFunction(init) && at.source.parents.get(at.node)?.kind === 'const')) return NO_CALLS;
    const value = { ...at, node: init };
    if (to?.type === 'Identifier' && (this.#isCtx(value) || this.#isTools(value))) return NO_CALLS;
    if (to?.type === 'ObjectPattern' && this.#isCtx(value) && list(to, 'properties').every(isFoundByName))
      return NO_CALLS;
    return this.#count(value);
  }

  #forOf(at: Placed): ShownCalls {
    const [left, right, body] = ['left', 'right', 'body'].map((field) => child(at.node, field));
    const name = child(list(left, 'declarations')[0], 'id');
    const elements = right && this.#elements({ ...at, node: right });
    if (elements === undefined || body === undefined || name?.type !== 'Identifier')
      return repeated(this.#inside(at), loop(at));
    const turns = elements.map((element) => {
      const given = new Map([...(at.given ?? []), [name, element]]);
      return this.#count({ ...at, node: body, given });
    });
    return allOf([this.#part(at, 'right'), ...turns]);
  }

  #call(at: Placed): ShownCalls {
    const callee = child(at.node, 'callee');
    if (callee === undefined) return NO_CALLS;
    const args = list(at.node, 'arguments').map((node): Placed => ({ ...at, node }));
    const site = this.#site(at, callee, args);
    if (site !== undefined) {
      const others = args.filter((arg) => arg !== site.run);
      return allOf([...others.map((arg) => this.#count(arg)), site.calls]);
    }
    const called = { ...at, node: callee };
    const fn = memberValue(this.#sources, called) ?? evaluated(this.#sources, called);
    if (isFunction(fn.node)) return this.#invoke(fn, args);
    const method = callee.type === 'MemberExpression' ? (propertyName(callee) ?? '') : '';
    const object = callee.type === 'MemberExpression' ? child(callee, 'object') : undefined;
    const holder = object && { ...at, node: object };
    const on = holder === undefined || this.#isCtx(holder) ? NO_CALLS : this.#count(holder);
    const isPromise = callee.type === 'Identifier' && nameOf(callee) === 'Promise';
    const elements = holder && ITERATES.test(method) ? this.#elements(holder) : undefined;
    return allOf([on, ...args.map((arg) => this.#argument(arg, { isOnce: isPromise || ONCE.test(method), elements }))]);
  }

  /** What code that the text does not show may do with an argument. */
  #argument(
    arg: Placed,
    { isOnce, elements }: { readonly isOnce: boolean; readonly elements: readonly Placed[] | undefined },
  ): ShownCalls {
    const value = evaluated(this.#sources, arg);
    if (!isFunction(value.node)) return this.#count(arg);
    if (elements !== undefined) return allOf(elements.map((element) => this.#invoke(value, [element])));
    const calls = this.#invoke(value, []);
    return isOnce ? calls : repeated(calls, handedOn(arg));
  }

  /** A call of `ctx` that calls tools; `run` is the argument whose own calls are among its. */
  #site(
    at: Placed,
    callee: Syntax,
    args: readonly Placed[],
  ): { readonly calls: ShownCalls; readonly run?: Placed | undefined } | undefined {
    const object = callee.type === 'MemberExpression' ? child(callee, 'object') : undefined;
    if (object === undefined) return undefined;
    const holder = { ...at, node: object };
    const name = propertyName(callee);
    const ofCtx = this.#isCtx(holder);
    if (ofCtx && name === 'runPlay') return { calls: this.#child(args[1]), run: args[1] };
    if (ofCtx && name === 'runPlayAsync')
      return { calls: hiddenCalls('a run that it starts calls what its own plan tells'), run: args[1] };
    if (ofCtx && name === 'runSteps') return { calls: this.#program(args[0]), run: args[0] };
    if (!(name === 'tool' && ofCtx) && !(name === 'execute' && this.#isTools(holder))) return undefined;
    const ids = this.#toolIds(args);
    if (ids === undefined) return { calls: { ...NO_CALLS, computed: 1 } };
    return { calls: oneOf(ids.map((id) => ({ ...NO_CALLS, tools: new Map([[id, 1]]) }))) };
  }

  /** What an inline child does, where its play is written out: it runs once, in the row. */
  #child(play: Placed | undefined): ShownCalls {
    const value = play && followed(this.#sources, play);
    if (value === undefined || !isCallOf(value.node, 'definePlay'))
      return hiddenCalls('a child play calls what its own plan tells');
    const [first, second] = list(value.node, 'arguments');
    const run = second ?? propertyOf(first, 'run');
    const fn = run && evaluated(this.#sources, { ...value, node: run });
    if (fn === undefined || !isFunction(fn.node)) return hiddenCalls('a child play calls what its own plan tells');
    return allOf([this.#takesCtx(list(fn.node, 'params')[0]), this.#invoke(fn, [])]);
  }

  /** What a steps() program does that is run over one value. */
  #program(program: Placed | undefined): ShownCalls {
    const value = program && evaluated(this.#sources, program);
    if (value === undefined || !isStepsChain(value.node))
      return hiddenCalls('a program that it runs is not written out');
    const bodies = [
      ...stepCalls(value.node).flatMap((step) => list(step, 'arguments')[1] ?? []),
      ...chainOf(value.node).flatMap((call) => (methodOf(call) === 'return' ? (list(call, 'arguments')[0] ?? []) : [])),
    ].map((node) => evaluated(this.#sources, { ...value, node }));
    return allOf(bodies.map((body) => (isStepsChain(body.node) ? this.#program(body) : this.ofResolver(body))));
  }

  #toolIds([first, second]: readonly Placed[]): readonly string[] | undefined {
    const request = first && followed(this.#sources, first);
    const named = propertyOf(request?.node, 'tool');
    const id = second ?? (request && named && { ...request, node: named });
    return id && this.#texts(id);
  }

  /** The texts that an expression may be; undefined where it may be others. */
  #texts(at: Placed): readonly string[] | undefined {
    const value = followed(this.#sources, at);
    const { node } = value;
    const choices =
      node.type === 'ConditionalExpression'
        ? [child(node, 'consequent'), child(node, 'alternate')].flatMap((one) => (one ? [{ ...value, node: one }] : []))
        : this.#choices(value);
    if (choices === undefined) {
      const text = staticText(this.#sources, value);
      return text === undefined ? undefined : [text];
    }
    const texts = choices.map((choice) => this.#texts(choice));
    return texts.every((one) => one !== undefined) ? texts.flat() : undefined;
  }

  /** What `TOOLS[row.kind]` may be, of a table that is written out. */
  #choices(at: Placed): readonly Placed[] | undefined {
    const object = at.node.type === 'MemberExpression' ? child(at.node, 'object') : undefined;
    if (object === undefined || propertyName(at.node) !== undefined) return undefined;
    const holder = followed(this.#sources, { ...at, node: object });
    const nodes =
      holder.node.type === 'ObjectExpression'
        ? list(holder.node, 'properties').map((one) => child(one, 'value') ?? one)
        : holder.node.type === 'ArrayExpression'
          ? list(holder.node, 'elements')
          : undefined;
    return nodes?.map((node) => ({ ...holder, node }));
  }

  #invoke(fn: Placed, args: readonly Placed[]): ShownCalls {
    const { node } = fn;
    if (this.#running.includes(node)) {
      this.#recursive.add(node);
      return NO_CALLS;
    }
    const { given, unbound } = givenTo(fn, args);
    const bound = args.filter((arg) => !unbound.includes(arg));
    const counted = [...unbound.map((arg) => this.#count(arg)), ...bound.map((arg) => this.#bound(arg))];
    this.#running.push(node);
    const body = child(node, 'body');
    const calls = body === undefined ? NO_CALLS : this.#count({ ...fn, node: body, given });
    this.#running.pop();
    const isEndless = this.#recursive.has(node) && !isNone(calls);
    return allOf([...counted, isEndless ? repeated(calls, `what calls itself at ${placeOf(fn)}`) : calls]);
  }

  /** An argument whose use the called function's text shows. */
  #bound(arg: Placed): ShownCalls {
    if (arg.node.type === 'Identifier' || isFunction(arg.node) || this.#isCtx(arg) || this.#isTools(arg))
      return NO_CALLS;
    return arg.node.type === 'ObjectExpression' ? this.#object(arg, false) : this.#count(arg);
  }

  /** The elements of an array that is written out. */
  #elements(at: Placed): readonly Placed[] | undefined {
    const value = followed(this.#sources, at);
    const nodes = list(value.node, 'elements');
    const isWhole = value.node.type === 'ArrayExpression' && nodes.every(({ type }) => type !== 'SpreadElement');
    return isWhole ? nodes.map((node) => ({ ...value, node })) : undefined;
  }

  #isCtx(at: Placed): boolean {
    if (isCtx(at.source, at.node)) return true;
    const value = followed(this.#sources, at);
    if (isCtx(value.source, value.node)) return true;
    const binding = value.node.type === 'Identifier' && bindingOf(value.source, nameOf(value.node), value.node);
    return binding !== undefined && binding !== false && this.#ctxNames.has(binding.at);
  }

  #isTools(at: Placed): boolean {
    if (at.node.type === 'Identifier' && nameOf(at.node) === 'tools') return true;
    const { node } = followed(this.#sources, at);
    return node.type === 'MemberExpression' && propertyName(node) === 'tools';
  }
}

/** `tools` of a ctx, by its own name, is still found where it is called. */
function isFoundByName(property: Syntax): boolean {
  const name = propertyName(property) ?? 'tool';
  return !CALLING.test(name) || (name === 'tools' && nameOf(child(property, 'value') ?? property) === 'tools');
}

function placeOf({ source, node }: Placed): string {
  return `${source.name}:${lineOf(source, node)}`;
}

function loop(at: Placed): string {
  return `the loop at ${placeOf(at)}`;
}

function handedOn(at: Placed): string {
  return `the function at ${placeOf(at)}, which may be called any number of times`;
}
