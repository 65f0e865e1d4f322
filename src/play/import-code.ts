import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Turnstile } from '../scope/index.ts';
import { CallsheetError, type ErrorCode, type Play } from '../sdk/index.ts';
import type { Bundle } from './bundle.ts';
import { writeWhole } from './files.ts';
import { installSdk } from './shim.ts';
import { authorPlace, mapStack, rememberMap } from './stack.ts';

export type ModuleExports = Readonly<Record<string, unknown>>;

export interface ImportOptions {
  /** Where the code is kept under its hash while it is imported; default a private folder that goes with the process. */
  readonly cacheDir?: string | undefined;
  /** What sources are called in stacks: the bundle's root as the person who named the file writes it. */
  readonly folder: string;
  /** The code of the error for a module that throws. */
  readonly code: ErrorCode;
  /** The file as its user names it. */
  readonly shownAs: string;
}

/**
 * Imports a bundle. Node keeps modules by URL for the life of the process, and the URL is the hash: the same bytes
 * are one module however often they are asked for, and changed bytes are a fresh one.
 */
export async function importBundle(bundle: Bundle, options: ImportOptions): Promise<ModuleExports> {
  const file = path.join(options.cacheDir ?? privateFolder(), `${bundle.hash}.mjs`);
  await writeWhole(file, bundle.code);
  return importCode(file, { ...options, map: bundle.map });
}

/** Imports code that is already in a file. Throws the given error code, or the author's own Callsheet error, placed. */
export async function importCode(
  file: string,
  options: Omit<ImportOptions, 'cacheDir'> & { readonly map: string },
): Promise<ModuleExports> {
  installSdk();
  rememberMap(file, options.map, options.folder);
  try {
    return await imports.pass(() => importNoting(pathToFileURL(file).href));
  } catch (error) {
    throw loadError(error, options);
  }
}

/** One import at a time, so that what it defines can be told from what others do. */
const imports = new Turnstile();
/** Where `definePlay` looks for whoever takes note. */
const DEFINING = Symbol.for('callsheet.defining');
const definedBy = new WeakMap<object, readonly Play[]>();

async function importNoting(url: string): Promise<ModuleExports> {
  const noted: Play[] = [];
  const holder = globalThis as Record<symbol, Play[] | undefined>;
  holder[DEFINING] = noted;
  try {
    const exports = (await import(/* @vite-ignore */ url)) as ModuleExports;
    // Node keeps the module: asked for again, it defines nothing.
    if (!definedBy.has(exports)) definedBy.set(exports, noted);
    return exports;
  } finally {
    delete holder[DEFINING];
  }
}

/** Every play that a module's code defined while it was imported, exported or not. */
export function playsDefinedBy(exports: ModuleExports): readonly Play[] {
  return definedBy.get(exports) ?? [];
}

function loadError(error: unknown, options: Pick<ImportOptions, 'code' | 'shownAs'>): CallsheetError {
  const place = authorPlace(error);
  const where = place === undefined ? options.shownAs : `${place.file}:${place.line}:${place.column}`;
  const details = { file: place?.file ?? options.shownAs, line: place?.line ?? null, column: place?.column ?? null };
  // What `definePlay`, `defineTool` or `steps` refuse is already in words; only the place is missing.
  if (error instanceof CallsheetError)
    return new CallsheetError(error.code, `${where}: ${error.message}`, {
      details: { ...error.details, ...details },
      next: error.next,
      cause: error,
    });
  const name = error instanceof Error ? error.name : 'a value that is no error';
  const message = error instanceof Error ? error.message : String(error);
  const stack = error instanceof Error && error.stack !== undefined ? mapStack(error.stack) : null;
  return new CallsheetError(options.code, `${where}: the file threw while it was loaded: ${name}: ${message}`, {
    details: { ...details, stack },
    next: ['Mend what runs at the top of the file; a file should only define things when it is loaded.'],
    cause: error,
  });
}

let folder: string | undefined;

function privateFolder(): string {
  if (folder === undefined) {
    const made = mkdtempSync(path.join(tmpdir(), 'callsheet-'));
    process.once('exit', () => rmSync(made, { recursive: true, force: true }));
    folder = made;
  }
  return folder;
}
