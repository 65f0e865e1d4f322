import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type TypeScript from 'typescript';
import { SDK_MODULES } from '../shim.ts';
import { type Finding, finding } from './finding.ts';

export type TypeCheck =
  | { readonly checked: true; readonly typescript: string; readonly findings: readonly Finding[] }
  | { readonly checked: false; readonly why: string; readonly findings: readonly Finding[] };

/** Remarks about Node's own names and modules, which mean nothing where Node's types are not installed. */
const ABOUT_NODE: ReadonlySet<number> = new Set([2580, 2591, 2584, 2304, 2307, 2503]);

/**
 * Type-checks a play with the TypeScript that its folder has, against the SDK that runs it. Where there is none it
 * says so and checks nothing: types are a help, not a need.
 */
export async function checkTypes(file: string): Promise<TypeCheck> {
  if (!/\.[cm]?tsx?$/.test(file)) return { checked: false, why: 'the file is not TypeScript', findings: [] };
  const found = nearestTypeScript(file);
  if (found === undefined)
    return { checked: false, why: `no TypeScript is installed in ${path.dirname(file)} or above`, findings: [] };
  const ts = found as typeof TypeScript;
  if (typeof ts.createProgram !== 'function')
    return { checked: false, why: `TypeScript ${ts.version} has no API that can be used; 5 and 6 have`, findings: [] };
  const own = ownOptions(ts, file);
  const typeRoots = typeRootsOf(file);
  const hasNodeTypes = typeRoots.some((root) => existsSync(path.join(root, 'node')));
  const program = ts.createProgram([path.resolve(file)], { ...own, ...forced(ts, hasNodeTypes), typeRoots });
  const findings = ts
    .getPreEmitDiagnostics(program)
    .filter((item) => item.category === ts.DiagnosticCategory.Error && isAuthors(item.file?.fileName))
    .filter((item) => hasNodeTypes || !isAboutNode(ts, item))
    .map((item) => findingOf(ts, item, file));
  return { checked: true, typescript: ts.version, findings };
}

function nearestTypeScript(file: string): unknown {
  const near = createRequire(path.resolve(file));
  try {
    return near(near.resolve('typescript'));
  } catch {
    return undefined;
  }
}

/** The folders of installed types, nearest first. */
function typeRootsOf(file: string): string[] {
  const roots: string[] = [];
  for (let folder = path.dirname(path.resolve(file)); ; folder = path.dirname(folder)) {
    roots.push(path.join(folder, 'node_modules/@types'));
    if (folder === path.dirname(folder)) return roots.filter((root) => existsSync(root));
  }
}

/** What the author's tsconfig says, where there is one; else strict, but for parameters that have no type yet. */
function ownOptions(ts: typeof TypeScript, file: string): TypeScript.CompilerOptions {
  const config = ts.findConfigFile(path.dirname(path.resolve(file)), ts.sys.fileExists);
  if (config === undefined) return { strict: true, noImplicitAny: false };
  const read = ts.readConfigFile(config, ts.sys.readFile);
  return ts.parseJsonConfigFileContent(read.config ?? {}, ts.sys, path.dirname(config)).options;
}

/** What has to be so for the SDK's types to be found, and for files to be read as the bundler reads them. */
function forced(ts: typeof TypeScript, hasNodeTypes: boolean): TypeScript.CompilerOptions {
  return {
    noEmit: true,
    skipLibCheck: true,
    composite: false,
    incremental: false,
    declaration: false,
    target: ts.ScriptTarget.ES2023,
    lib: hasNodeTypes ? ['lib.esnext.d.ts'] : ['lib.esnext.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    allowImportingTsExtensions: true,
    resolveJsonModule: true,
    paths: Object.fromEntries(SDK_MODULES.map((name) => [name, [sdkTypes()]])),
    ...(hasNodeTypes ? { types: ['node'] } : { types: [] }),
  };
}

/** In the package the SDK's types stand beside its code; in the repository its source is its types. */
function sdkTypes(): string {
  const base = fileURLToPath(new URL('../../sdk/index', import.meta.url));
  return ['.d.ts', '.ts'].map((ending) => base + ending).find((name) => existsSync(name)) ?? `${base}.d.ts`;
}

/** Neither packages nor the SDK are the author's to mend. */
function isAuthors(name: string | undefined): boolean {
  if (name === undefined) return true;
  const sdk = path.dirname(fileURLToPath(new URL('../../sdk/index', import.meta.url)));
  return !name.includes('/node_modules/') && !path.resolve(name).startsWith(sdk + path.sep);
}

function isAboutNode(ts: typeof TypeScript, item: TypeScript.Diagnostic): boolean {
  if (!ABOUT_NODE.has(item.code)) return false;
  return /'(node:[^']*|process|Buffer|NodeJS|require|__dirname|global|fs|path|crypto|os)'/.test(
    ts.flattenDiagnosticMessageText(item.messageText, '\n'),
  );
}

function findingOf(ts: typeof TypeScript, item: TypeScript.Diagnostic, file: string): Finding {
  const line =
    item.file && item.start !== undefined ? item.file.getLineAndCharacterOfPosition(item.start).line + 1 : null;
  const name = item.file?.fileName;
  const folder = path.dirname(file);
  const shown = name === undefined ? file : path.join(folder, path.relative(path.resolve(folder), name));
  return finding(
    'TYPE_ERROR',
    { file: shown, line },
    {
      message: `TS${item.code}: ${ts.flattenDiagnosticMessageText(item.messageText, '\n')}`,
      next: 'Mend the types; the play can be run all the same.',
    },
  );
}
