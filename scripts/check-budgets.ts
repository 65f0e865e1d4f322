/**
 * The budgets of the design, over the syntax of every TypeScript file: lengths of files, functions and classes, numbers
 * of parameters and of interface members, names that say nothing, and marks of unfinished work.
 */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import ts from 'typescript';
import { sourceFiles } from './source-files.ts';

const LIMITS = { file: 400, function: 60, class: 300, parameters: 3, interface: 15 } as const;

/** Lists without logic, which are as long as what they list. */
const DATA_ONLY = [/^src\/sandbox\/data\//, /^test\/requirements-data\.ts$/, /^scripts\/error-help\.ts$/];

/** Names that say nothing about what is in the file. */
const EMPTY_NAMES = /(^|[/-])(utils?|helpers?|common|managers?|misc)([/.-]|$)/;

/** Marks of unfinished work, in comments. Built from parts, so that this file does not match itself. */
const UNFINISHED = new RegExp(`\\b(${['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X'].join('|')})\\b`);

export interface Offence {
  readonly file: string;
  readonly line: number;
  readonly what: string;
  readonly size: number | string;
  readonly limit: number | string;
}

/** The offences of one file. `path` is relative to the root, with forward slashes. */
export function offencesOf(path: string, text: string): Offence[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const isTest = /\.(test|type-test)\.ts$/.test(path) || /conformance/.test(path) || path.startsWith('test/');
  const found: Offence[] = [];
  const lineOf = (position: number): number => source.getLineAndCharacterOfPosition(position).line + 1;
  const lines = (node: ts.Node): number => lineOf(node.getEnd()) - lineOf(node.getStart(source)) + 1;
  const report = (node: ts.Node, what: string, [size, limit]: readonly [number, number]): void => {
    if (size > limit) found.push({ file: path, line: lineOf(node.getStart(source)), what, size, limit });
  };

  const fileLines = text.split('\n').length - 1;
  if (!DATA_ONLY.some((pattern) => pattern.test(path))) report(source, 'file', [fileLines, LIMITS.file]);
  if (EMPTY_NAMES.test(path))
    found.push({ file: path, line: 1, what: 'name', size: path, limit: 'says what it holds' });

  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node) {
      if (!isTest) report(node, `function ${nameOf(node)}`, [lines(node), LIMITS.function]);
      // A function that is handed to another one has the shape that the other one asks for.
      if (!isTest && (!ts.isArrowFunction(node) || !ts.isCallExpression(node.parent)))
        report(node, `parameters of ${nameOf(node)}`, [positional(node), LIMITS.parameters]);
    }
    if (ts.isClassLike(node)) report(node, `class ${node.name?.text ?? ''}`, [lines(node), LIMITS.class]);
    if (ts.isInterfaceDeclaration(node))
      report(node, `methods of ${node.name.text}`, [node.members.filter(isMethod).length, LIMITS.interface]);
    ts.forEachChild(node, visit);
  };
  visit(source);

  for (const [index, line] of text.split('\n').entries())
    if (UNFINISHED.test(line))
      found.push({ file: path, line: index + 1, what: 'mark', size: 'unfinished', limit: 'none' });
  return found;
}

function nameOf(node: ts.SignatureDeclaration): string {
  if (node.name !== undefined) return node.name.getText();
  if (ts.isConstructorDeclaration(node)) return 'constructor';
  const { parent } = node;
  if (parent !== undefined && (ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent)))
    return parent.name.getText();
  return '(anonymous)';
}

/** Parameters without `this` and without an options object in the last place. */
function positional(node: ts.SignatureDeclaration): number {
  const names = node.parameters.map((one) => one.name.getText()).filter((name) => name !== 'this');
  return names.length - (names.at(-1) === 'options' || names.at(-1)?.startsWith('{') ? 1 : 0);
}

function isMethod(member: ts.TypeElement): boolean {
  return (
    ts.isMethodSignature(member) || (ts.isPropertySignature(member) && member.type?.kind === ts.SyntaxKind.FunctionType)
  );
}

function main(): void {
  const root = process.cwd();
  const files = sourceFiles(['src', 'test', 'bench', 'examples', 'scripts']);
  const offences = files.flatMap((file) => offencesOf(relative(root, file), readFileSync(file, 'utf8')));
  offences.sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line);
  for (const { file, line, what, size, limit } of offences)
    process.stdout.write(`${`${file}:${line}`.padEnd(48)} ${what.padEnd(40)} ${String(size).padStart(5)} > ${limit}\n`);
  process.stdout.write(`budgets: ${files.length} files, ${offences.length} over budget\n`);
  process.exitCode = offences.length > 0 ? 1 : 0;
}

if (import.meta.main) main();
