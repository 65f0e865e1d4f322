/** One node of a parsed file (ESTree). Fields are read through `child`, `list` and `word`, which check what is there. */
export interface Syntax {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

/** A parsed file: its nodes in the order of the text, types left out, and how they hang together. */
export interface SourceText {
  /** The name below the bundle's root, with `/`. */
  readonly name: string;
  /** The name for messages. */
  readonly shownAs: string;
  readonly text: string;
  readonly program: Syntax;
  readonly nodes: readonly Syntax[];
  readonly parents: ReadonlyMap<Syntax, Syntax>;
}

const TYPE_FIELDS: ReadonlySet<string> = new Set([
  'typeAnnotation',
  'typeParameters',
  'typeArguments',
  'superTypeArguments',
  'returnType',
  'implements',
]);
const TYPE_NODES: ReadonlySet<string> = new Set(['TSInterfaceDeclaration', 'TSTypeAliasDeclaration']);
const WRAPPERS: ReadonlySet<string> = new Set([
  'TSAsExpression',
  'TSSatisfiesExpression',
  'TSNonNullExpression',
  'TSTypeAssertion',
  'TSInstantiationExpression',
  'ParenthesizedExpression',
  'ChainExpression',
]);

/** Parses a file that the bundler has already accepted; undefined where this parser does not. */
export async function parseSource(name: string, shownAs: string, text: string): Promise<SourceText | undefined> {
  const { parseSync } = await import('oxc-parser');
  const parsed = parseSync(name, text, { preserveParens: false, range: false });
  if (parsed.errors.some((error) => error.severity === 'Error')) return undefined;
  const program = parsed.program as unknown as Syntax;
  const nodes: Syntax[] = [];
  const parents = new Map<Syntax, Syntax>();
  const stack: Syntax[] = [program];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    nodes.push(node);
    for (const inner of childrenOf(node)) {
      parents.set(inner, node);
      stack.push(inner);
    }
  }
  nodes.sort((a, b) => a.start - b.start || b.end - a.end);
  return { name, shownAs, text, program, nodes, parents };
}

/** The nodes in a node, types left out. */
export function childrenOf(node: Syntax): Syntax[] {
  const children: Syntax[] = [];
  for (const [field, value] of Object.entries(node)) {
    if (TYPE_FIELDS.has(field)) continue;
    for (const item of Array.isArray(value) ? value : [value])
      if (isSyntax(item) && !TYPE_NODES.has(item.type)) children.push(item);
  }
  return children;
}

export function isSyntax(value: unknown): value is Syntax {
  return typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';
}

/** The node in a field, without the wrappers that only types need. */
export function child(node: Syntax | undefined, field: string): Syntax | undefined {
  const value = node?.[field];
  return isSyntax(value) ? unwrap(value) : undefined;
}

export function list(node: Syntax | undefined, field: string): Syntax[] {
  const value = node?.[field];
  return Array.isArray(value) ? value.filter(isSyntax).map(unwrap) : [];
}

export function word(node: Syntax | undefined, field: string): string | undefined {
  const value = node?.[field];
  return typeof value === 'string' ? value : undefined;
}

function unwrap(node: Syntax): Syntax {
  let inner = node;
  while (WRAPPERS.has(inner.type) && isSyntax(inner.expression)) inner = inner.expression;
  return inner;
}

export function isFunction(node: Syntax | undefined): boolean {
  return node !== undefined && /^(ArrowFunctionExpression|FunctionExpression|FunctionDeclaration)$/.test(node.type);
}

/** The name that a member expression or property reads, where it stands in the text. */
export function propertyName(node: Syntax | undefined): string | undefined {
  const field = node?.type === 'MemberExpression' ? 'property' : 'key';
  const key = child(node, field);
  if (key === undefined) return undefined;
  if (node?.computed !== true && key.type === 'Identifier') return word(key, 'name');
  return key.type === 'Literal' && typeof key.value === 'string' ? key.value : undefined;
}

/** The value of a property of an object literal. */
export function propertyOf(object: Syntax | undefined, name: string): Syntax | undefined {
  if (object?.type !== 'ObjectExpression') return undefined;
  const property = list(object, 'properties').find((item) => item.type === 'Property' && propertyName(item) === name);
  return child(property, 'value');
}

export function hasSpread(object: Syntax | undefined): boolean {
  return list(object, 'properties').some((item) => item.type === 'SpreadElement');
}

/** From the node's parent up to the program. */
export function* ancestors(source: SourceText, node: Syntax): Generator<Syntax> {
  for (let up = source.parents.get(node); up !== undefined; up = source.parents.get(up)) yield up;
}

export function within(source: SourceText, node: Syntax): Syntax[] {
  return source.nodes.filter((other) => other.start >= node.start && other.end <= node.end);
}

/** The node's line, from 1. */
export function lineOf(source: SourceText, node: Syntax): number {
  let line = 1;
  for (let index = source.text.indexOf('\n'); index !== -1 && index < node.start; ) {
    line++;
    index = source.text.indexOf('\n', index + 1);
  }
  return line;
}

export function textOf(source: SourceText, node: Syntax, most = 60): string {
  const text = source.text.slice(node.start, node.end).replace(/\s+/g, ' ');
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
