import type { Plugin } from 'esbuild';
import * as sdk from '../sdk/index.ts';

/**
 * How `callsheet` and `deepline` reach author code: never bundled, always the SDK of the process that runs it, so
 * that an artifact's `instanceof`, brands and errors are ours. The bundle reads it from a global symbol.
 */
const SDK_SYMBOL = 'callsheet.sdk';

/** What an author may import from `callsheet`, besides types. */
export const SDK_NAMES: readonly string[] = Object.keys(sdk).sort();

/** The modules that stand for the SDK in author code. */
export const SDK_MODULES = ['callsheet', 'deepline'] as const;

export const SHIM_NAMESPACE = 'callsheet';

/** Puts the running SDK where bundles look for it. Doing it again changes nothing. */
export function installSdk(): void {
  Object.defineProperty(globalThis, Symbol.for(SDK_SYMBOL), { value: sdk, configurable: true, writable: true });
}

/**
 * Names an artifact uses and nothing else end up in it (esbuild drops pure initialisers that nobody reads), so an
 * SDK that grows changes no hash.
 */
const SHIM_CODE = [
  `const sdk = globalThis[Symbol.for('${SDK_SYMBOL}')];`,
  `const take = (name) => {`,
  `  if (sdk === undefined) throw new Error('This file is a Callsheet artifact; only Callsheet can run it.');`,
  `  if (!(name in sdk)) throw new Error('This release of Callsheet has no ' + name + '.');`,
  `  return sdk[name];`,
  `};`,
  ...SDK_NAMES.map((name) => `export const ${name} = /* @__PURE__ */ take('${name}');`),
].join('\n');

export const shimPlugin: Plugin = {
  name: 'callsheet-sdk',
  setup(build) {
    build.onResolve({ filter: new RegExp(`^(${SDK_MODULES.join('|')})$`) }, () => ({
      path: 'sdk',
      namespace: SHIM_NAMESPACE,
      sideEffects: false,
    }));
    build.onLoad({ filter: /.*/, namespace: SHIM_NAMESPACE }, () => ({ contents: SHIM_CODE, loader: 'js' }));
  },
};
