import { realpath } from 'node:fs/promises';
import path from 'node:path';
import type { BuildOptions, BuildResult, Message } from 'esbuild';
import { hexDigest } from '../scope/index.ts';
import type { ErrorCode } from '../sdk/index.ts';
import { SHIM_NAMESPACE, shimPlugin } from './shim.ts';
import { bundleError, type SourceMessage, sourceMessage } from './syntax-error.ts';

/** A module with everything it imports, as one text that runs in any folder. */
export interface Bundle {
  readonly code: string;
  /** The source map (JSON text); not part of the hash. */
  readonly map: string;
  /** `sha256-` and 64 hexadecimal digits, of `code` alone. */
  readonly hash: string;
  /** The files that went in, relative to `root`, with `/`; sorted. */
  readonly inputs: readonly string[];
  readonly warnings: readonly SourceMessage[];
  /** The entry's name below `root`. */
  readonly entry: string;
  /** The folder that names in `code`, `map` and `inputs` are relative to; absolute, never inside `code`. */
  readonly root: string;
}

export interface BundleOptions {
  /** Default: the file's folder, so that the hash doesn't depend on where the folder lies. */
  readonly root?: string;
  /** The code under which what cannot be bundled is refused; default `PLAY_SYNTAX`. */
  readonly code?: ErrorCode;
}

const PRELUDE =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);";

/**
 * Bundles a TypeScript, JavaScript or JSON module, offline. Local files and packages from a `node_modules` beside it go
 * in; Node's own modules stay imports; `callsheet` and `deepline` stand for the running SDK.
 * Throws `PLAY_SYNTAX` (or the given code) with file, line and column for what cannot be parsed or resolved.
 */
export async function bundleModule(file: string, options: BundleOptions = {}): Promise<Bundle> {
  // A symlinked folder would otherwise show in the names of what lies behind the link.
  const real = await realpath(file);
  const root = await realpath(options.root ?? path.dirname(real));
  const entry = slashes(path.relative(root, real));
  let result = await build(entry, root, { code: options.code ?? 'PLAY_SYNTAX', shownAs: file });
  // Only CommonJS packages that `require` Node's modules need a `require`; the others stay free of it.
  if (textOf(result, '.mjs').includes('Dynamic require of'))
    result = await build(entry, root, { code: options.code ?? 'PLAY_SYNTAX', shownAs: file, prelude: PRELUDE });
  const code = textOf(result, '.mjs');
  return {
    code,
    map: textOf(result, '.map'),
    hash: artifactHash(code),
    inputs: Object.keys(result.metafile.inputs)
      .filter((input) => !input.startsWith(`${SHIM_NAMESPACE}:`))
      .sort(),
    warnings: result.warnings.map((warning) => sourceMessage(warning, folderOf(file, entry))),
    entry,
    root,
  };
}

/** The name under which code is pinned. */
export function artifactHash(code: string): string {
  return `sha256-${hexDigest(code)}`;
}

/** Ends the bundler's process, which otherwise stays beside ours (about 20 MB) until we exit. */
export async function stopBundler(): Promise<void> {
  if (!bundlerStarted) return;
  bundlerStarted = false;
  await (await import('esbuild')).stop();
}

let bundlerStarted = false;

type Built = BuildResult<{ write: false; metafile: true }>;

interface BuildContext {
  readonly code: ErrorCode;
  readonly shownAs: string;
  readonly prelude?: string;
}

async function build(entry: string, root: string, context: BuildContext): Promise<Built> {
  const esbuild = await import('esbuild');
  bundlerStarted = true;
  try {
    return await esbuild.build({
      ...OPTIONS,
      entryPoints: [`./${entry}`],
      absWorkingDir: root,
      outfile: path.join(root, 'artifact.mjs'),
      ...(context.prelude === undefined ? {} : { banner: { js: context.prelude } }),
    });
  } catch (error) {
    const errors = (error as { errors?: readonly Message[] }).errors;
    if (errors === undefined || errors.length === 0) throw error;
    const folder = folderOf(context.shownAs, entry);
    throw bundleError(
      context.code,
      errors.map((message) => sourceMessage(message, folder)),
      folder,
    );
  }
}

const OPTIONS = {
  bundle: true,
  write: false,
  metafile: true,
  format: 'esm',
  platform: 'node',
  target: 'node22',
  sourcemap: 'external',
  charset: 'utf8',
  logLevel: 'silent',
  // A tsconfig above the folder must not change the bytes.
  tsconfigRaw: '{}',
  plugins: [shimPlugin],
} satisfies BuildOptions;

function textOf(result: Built, ending: string): string {
  return result.outputFiles.find((output) => output.path.endsWith(ending))?.text ?? '';
}

/** The root as the person who named the file would write it. */
function folderOf(shownAs: string, entry: string): string {
  const depth = entry.split('/').length;
  return path.join(shownAs, ...Array.from({ length: depth }, () => '..'));
}

function slashes(name: string): string {
  return name.split(path.sep).join('/');
}
