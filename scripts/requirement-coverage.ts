import ts from 'typescript';

/** Where a test says that it verifies a promise. */
export interface Claim {
  readonly id: string;
  readonly file: string;
  readonly line: number;
  readonly test: string;
}

export interface Coverage {
  readonly claims: readonly Claim[];
  /** Required ids that no test names. */
  readonly missing: readonly string[];
  /** Claims of ids that are in no list. */
  readonly unknown: readonly Claim[];
  /** Calls of `verifies` whose ids are not written as literals. */
  readonly unreadable: readonly { readonly file: string; readonly line: number }[];
}

/** Reads the `verifies(…)` calls of test sources and compares them with the lists of promises. */
export function requirementCoverage(
  sources: readonly { readonly path: string; readonly text: string }[],
  lists: { readonly required: readonly string[]; readonly later: readonly string[] },
): Coverage {
  const claims: Claim[] = [];
  const unreadable: { file: string; line: number }[] = [];
  for (const { path, text } of sources) {
    if (!text.includes('verifies(')) continue;
    for (const { line, ids, test } of verifiesCalls(path, text)) {
      if (ids.length === 0) unreadable.push({ file: path, line });
      for (const id of ids) claims.push({ id, file: path, line, test });
    }
  }
  const claimed = new Set(claims.map(({ id }) => id));
  const known = new Set([...lists.required, ...lists.later]);
  return {
    claims,
    missing: lists.required.filter((id) => !claimed.has(id)),
    unknown: claims.filter(({ id }) => !known.has(id)),
    unreadable,
  };
}

function verifiesCalls(path: string, text: string): { line: number; ids: string[]; test: string }[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found: { line: number; ids: string[]; test: string }[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ts.isIdentifier(node.expression) && node.expression.text === 'verifies') {
      const [ids, name] = node.arguments;
      found.push({
        line: source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1,
        ids: ids === undefined ? [] : literals(ids),
        test: name === undefined ? '' : (literals(name)[0] ?? name.getText(source)),
      });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function literals(node: ts.Expression): string[] {
  if (ts.isStringLiteralLike(node)) return [node.text];
  if (!ts.isArrayLiteralExpression(node)) return [];
  const texts = node.elements.map((element) => (ts.isStringLiteralLike(element) ? element.text : undefined));
  return texts.every((text) => text !== undefined) ? texts : [];
}
