import path from 'node:path';
import {
  ancestors,
  child,
  isFunction,
  isSyntax,
  list,
  propertyName,
  propertyOf,
  type SourceText,
  type Syntax,
  word,
} from './syntax.ts';

/** What a name stands for. */
export interface Binding {
  readonly kind: 'import' | 'param' | 'variable' | 'function' | 'class';
  readonly name: string;
  /** The identifier that declares it. */
  readonly at: Syntax;
  /** What it is set to where it is declared, if it is a plain name (`const a = …`) or a function. */
  readonly value?: Syntax | undefined;
  readonly constant?: boolean;
  /** For imports: the module, and the name there ('*' for all of it). */
  readonly from?: { readonly module: string; readonly name: string };
  /** For parameters: whose, and which. */
  readonly of?: { readonly fn: Syntax; readonly index: number };
}

/** Files of a play that were parsed together, by name below the root. */
export type Sources = ReadonlyMap<string, SourceText>;

const scopes = new WeakMap<Syntax, ReadonlyMap<string, Binding>>();

/** What a name means at a place, by the rules of scope; undefined for globals. */
export function bindingOf(source: SourceText, name: string, at: Syntax): Binding | undefined {
  for (const scope of ancestors(source, at)) {
    const found = bindingsIn(scope).get(name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function bindingsIn(scope: Syntax): ReadonlyMap<string, Binding> {
  const known = scopes.get(scope);
  if (known !== undefined) return known;
  const found = new Map<string, Binding>();
  for (const binding of declarations(scope)) found.set(binding.name, binding);
  scopes.set(scope, found);
  return found;
}

function* declarations(scope: Syntax): Generator<Binding> {
  if (isFunction(scope)) {
    for (const [index, param] of list(scope, 'params').entries())
      for (const at of patternNames(param)) yield { kind: 'param', name: nameOf(at), at, of: { fn: scope, index } };
    return;
  }
  if (scope.type === 'CatchClause') {
    for (const at of patternNames(child(scope, 'param'))) yield { kind: 'variable', name: nameOf(at), at };
    return;
  }
  for (const field of ['body', 'init', 'left', 'consequent']) {
    const value = scope[field];
    for (const statement of Array.isArray(value) ? value : [value])
      if (isSyntax(statement)) yield* declaredBy(statement);
  }
}

function* declaredBy(statement: Syntax): Generator<Binding> {
  switch (statement.type) {
    case 'ExportNamedDeclaration':
    case 'ExportDefaultDeclaration': {
      const inner = child(statement, 'declaration');
      if (inner !== undefined) yield* declaredBy(inner);
      return;
    }
    case 'VariableDeclaration':
      for (const declarator of list(statement, 'declarations')) yield* declaredVariables(statement, declarator);
      return;
    case 'FunctionDeclaration':
    case 'ClassDeclaration': {
      const at = child(statement, 'id');
      const kind = statement.type === 'ClassDeclaration' ? 'class' : 'function';
      if (at !== undefined) yield { kind, name: nameOf(at), at, value: statement };
      return;
    }
    case 'ImportDeclaration':
      yield* imported(statement);
      return;
  }
}

function* declaredVariables(statement: Syntax, declarator: Syntax): Generator<Binding> {
  const pattern = child(declarator, 'id');
  const constant = statement.kind === 'const';
  const plain = pattern?.type === 'Identifier';
  for (const at of patternNames(pattern))
    yield { kind: 'variable', name: nameOf(at), at, constant, ...(plain ? { value: child(declarator, 'init') } : {}) };
}

function* imported(statement: Syntax): Generator<Binding> {
  const module = String(child(statement, 'source')?.value ?? '');
  for (const specifier of list(statement, 'specifiers')) {
    const at = child(specifier, 'local');
    if (at === undefined) continue;
    const names: Record<string, string> = { ImportDefaultSpecifier: 'default', ImportNamespaceSpecifier: '*' };
    const name = names[specifier.type] ?? nameOf(child(specifier, 'imported') ?? at);
    yield { kind: 'import', name: nameOf(at), at, from: { module, name } };
  }
}

function patternNames(pattern: Syntax | undefined): Syntax[] {
  switch (pattern?.type) {
    case 'Identifier':
      return [pattern];
    case 'AssignmentPattern':
      return patternNames(child(pattern, 'left'));
    case 'RestElement':
      return patternNames(child(pattern, 'argument'));
    case 'ArrayPattern':
      return list(pattern, 'elements').flatMap(patternNames);
    case 'ObjectPattern':
      return list(pattern, 'properties').flatMap((item) =>
        patternNames(item.type === 'Property' ? child(item, 'value') : item),
      );
    default:
      return [];
  }
}

export function nameOf(identifier: Syntax): string {
  return word(identifier, 'name') ?? (typeof identifier.value === 'string' ? identifier.value : '');
}

/** An expression with the file that it stands in. */
export interface Placed {
  readonly source: SourceText;
  readonly node: Syntax;
  /** What parameters hold there, by the identifier that declares them. */
  readonly given?: ReadonlyMap<Syntax, Placed> | undefined;
}

/** What an expression is once names are followed to where they are set, across files too; itself where that ends. */
export function followed(sources: Sources, at: Placed, depth = 8): Placed {
  if (depth === 0 || at.node.type !== 'Identifier') return at;
  const binding = bindingOf(at.source, nameOf(at.node), at.node);
  const given = binding && at.given?.get(binding.at);
  if (given !== undefined) return followed(sources, given, depth - 1);
  // A `let` may hold something else by the time it is read.
  if (binding?.value !== undefined && binding.constant !== false)
    return followed(sources, { ...at, node: binding.value }, depth - 1);
  if (binding?.from === undefined) return at;
  const there = exported(sources, at.source, binding.from);
  return there === undefined ? at : followed(sources, there, depth - 1);
}

function exported(sources: Sources, from: SourceText, wanted: { module: string; name: string }): Placed | undefined {
  if (!wanted.module.startsWith('.')) return undefined;
  const base = path.posix.join(path.posix.dirname(from.name), wanted.module);
  const names = [
    base,
    base.replace(/\.([cm]?)js$/, '.$1ts'),
    ...['.ts', '.js', '.mts', '/index.ts'].map((end) => base + end),
  ];
  const source = names.map((name) => sources.get(name)).find((item) => item !== undefined);
  return source && exportedValue(source, wanted.name);
}

/** What a file exports under a name. */
export function exportedValue(source: SourceText, name: string): Placed | undefined {
  for (const statement of list(source.program, 'body')) {
    const inner = child(statement, 'declaration');
    if (statement.type === 'ExportDefaultDeclaration' && name === 'default' && inner) return { source, node: inner };
    if (statement.type !== 'ExportNamedDeclaration') continue;
    const declared = inner === undefined ? undefined : [...declaredBy(inner)].find((item) => item.name === name);
    if (declared?.value !== undefined) return { source, node: declared.value };
    for (const specifier of list(statement, 'specifiers')) {
      const local = child(specifier, 'local');
      const shown = child(specifier, 'exported');
      if (local && shown && nameOf(shown) === name && statement.source == null) return { source, node: local };
    }
  }
  return undefined;
}

/** The text that an expression always is, as far as it can be told. */
export function staticText(sources: Sources, at: Placed): string | undefined {
  const value = followed(sources, at);
  const { node } = value;
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : undefined;
  if (node.type === 'TemplateLiteral') {
    const pieces = (node.quasis as { value?: { cooked?: unknown } }[]).map(({ value: piece }) => piece?.cooked);
    const between = list(node, 'expressions').map((inner) => staticText(sources, { ...value, node: inner }));
    return joined(pieces.flatMap((piece, index) => [piece, ...between.slice(index, index + 1)]));
  }
  if (node.type === 'BinaryExpression' && node.operator === '+') {
    const sides = [child(node, 'left'), child(node, 'right')];
    return joined(sides.map((side) => side && staticText(sources, { ...value, node: side })));
  }
  const member = memberValue(sources, value);
  return member === undefined ? undefined : staticText(sources, member);
}

function joined(pieces: readonly unknown[]): string | undefined {
  return pieces.every((piece) => typeof piece === 'string') ? pieces.join('') : undefined;
}

/** What `holder.name` reads, where the holder is written out. */
export function memberValue(sources: Sources, at: Placed): Placed | undefined {
  const object = at.node.type === 'MemberExpression' ? child(at.node, 'object') : undefined;
  const name = propertyName(at.node);
  if (object === undefined || name === undefined) return undefined;
  const holder = followed(sources, { ...at, node: object });
  const node = propertyOf(holder.node, name);
  return node === undefined ? undefined : { ...holder, node };
}
