import path from 'node:path';
import { didYouMean, nearestNames } from '../scope/index.ts';
import { CallsheetError, type ErrorCode, type Play } from '../sdk/index.ts';
import { type Bundle, bundleModule } from './bundle.ts';
import { choosePlay, type ExportedPlay, playsOf } from './choose.ts';
import { isFile, namesIn } from './files.ts';
import { importBundle, type ModuleExports, playsDefinedBy } from './import-code.ts';

export interface LoadedPlay {
  readonly play: Play;
  /** Its export's name in the file: 'default' or a named one. */
  readonly exportName: string;
  /** Every play of the file. */
  readonly plays: readonly ExportedPlay[];
  /** Every play that its code holds, exported or not. */
  readonly all: readonly Play[];
  readonly artifact: Bundle;
  /** The file as it was named. */
  readonly file: string;
}

export interface LoadOptions {
  /** Where imported code is kept under its hash, such as `.callsheet/artifacts`; default a folder of the process. */
  readonly cacheDir?: string | undefined;
}

/**
 * Loads `file.play.ts` or `file.play.ts#export`: bundles it, imports it and picks the play.
 * Throws `PLAY_FILE_NOT_FOUND`, `PLAY_SYNTAX`, `PLAY_LOAD_FAILED`, `PLAY_DEFINITION_INVALID`, `PLAY_MISSING`,
 * `PLAY_AMBIGUOUS` (names each `file#export`) or `PLAY_EXPORT_NOT_FOUND`.
 */
export async function loadPlay(spec: string, options: LoadOptions = {}): Promise<LoadedPlay> {
  const { file, exportName } = await splitSpec(spec);
  const artifact = await bundleModule(file);
  const exports = await importBundle(artifact, {
    cacheDir: options.cacheDir,
    folder: path.dirname(file),
    code: 'PLAY_LOAD_FAILED',
    shownAs: file,
  });
  const plays = playsOf(exports);
  const chosen = choosePlay(plays, { file, wanted: exportName, exported: Object.keys(exports) });
  return { play: chosen.play, exportName: chosen.exportName, plays, all: playsDefinedBy(exports), artifact, file };
}

export interface ModuleOptions extends LoadOptions {
  /** The code under which everything that goes wrong is reported. */
  readonly code: ErrorCode;
  /** What the file is, for messages: 'config file', 'tool file'. */
  readonly label: string;
}

/**
 * Loads a config or tool file (TypeScript, JavaScript or JSON) the way plays are loaded, and returns its exports.
 * A file that did not change since it was last loaded gives the same module. Throws the given code where the file is
 * missing, cannot be bundled or throws; an error of `defineTool` keeps its own code.
 */
export async function loadModule(file: string, options: ModuleOptions): Promise<ModuleExports> {
  if (!(await isFile(file)))
    throw new CallsheetError(options.code, `The ${options.label} ${file} does not exist.`, {
      details: { file },
      next: [`Create ${file}, or name the one that you mean.`],
    });
  const bundle = await bundleModule(file, { code: options.code });
  return importBundle(bundle, {
    cacheDir: options.cacheDir,
    folder: path.dirname(file),
    code: options.code,
    shownAs: file,
  });
}

/** A name with a `#` may be a file of that very name; only what comes after the last one can be an export. */
async function splitSpec(spec: string): Promise<{ file: string; exportName: string | undefined }> {
  if (await isFile(spec)) return { file: spec, exportName: undefined };
  const at = spec.lastIndexOf('#');
  const file = at === -1 ? spec : spec.slice(0, at);
  if (at !== -1 && (await isFile(file))) return { file, exportName: spec.slice(at + 1) || undefined };
  throw await fileNotFound(file);
}

async function fileNotFound(file: string): Promise<CallsheetError> {
  const folder = path.dirname(file);
  const there = (await namesIn(folder)).filter((name) => /\.[cm]?[jt]sx?$/.test(name));
  const plays = there.filter((name) => name.includes('.play.'));
  const close = nearestNames(path.basename(file), there).map((name) => path.join(folder, name));
  const others = plays.slice(0, 10).map((name) => path.join(folder, name));
  const suggestions = close.length > 0 ? close : others;
  const hint = close.length > 0 ? didYouMean(path.join(folder, path.basename(file)), close) : '';
  return new CallsheetError('PLAY_FILE_NOT_FOUND', `There is no play file ${file}.${hint}`, {
    details: { file, nearest: suggestions },
    next:
      suggestions.length > 0
        ? suggestions.map((name) => `callsheet check ${name}`)
        : ['Name the file of a play: callsheet check path/to/name.play.ts'],
  });
}
