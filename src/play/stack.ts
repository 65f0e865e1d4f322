import { SourceMap } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

interface KnownMap {
  readonly map: string;
  readonly folder: string;
  parsed?: SourceMap;
}

/**
 * Maps of the bundles that this process has imported, by file name. Stacks are mapped when somebody shows one:
 * Node's own `setSourceMapsEnabled` would slow every error of the process, and rows throw many.
 */
const known = new Map<string, KnownMap>();

/** Remembers the map of an imported bundle; `folder` is what its sources are relative to, as people write it. */
export function rememberMap(file: string, map: string, folder: string): void {
  if (map !== '') known.set(file, { map, folder });
}

/** Rewrites the frames of a stack that lie in bundles to the author's file, line and column. Others stay. */
export function mapStack(stack: string): string {
  let mapped = stack;
  for (const [file, entry] of known) {
    for (const name of [pathToFileURL(file).href, file]) {
      if (!mapped.includes(name)) continue;
      const frame = new RegExp(`${escaped(name)}:(\\d+):(\\d+)`, 'g');
      mapped = mapped.replace(frame, (whole, line: string, column: string) => {
        const origin = originOf(entry, Number(line), Number(column));
        return origin === undefined ? whole : `${origin.file}:${origin.line}:${origin.column}`;
      });
    }
  }
  return mapped;
}

export interface SourcePlace {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** The innermost frame of an error that lies in an author's file; undefined where none does. */
export function authorPlace(error: unknown): SourcePlace | undefined {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  for (const line of stack.split('\n')) {
    for (const [file, entry] of known) {
      const name = [pathToFileURL(file).href, file].find((candidate) => line.includes(`${candidate}:`));
      if (name === undefined) continue;
      const numbers = /^:(\d+)(?::(\d+))?/.exec(line.slice(line.indexOf(name) + name.length));
      const origin = numbers && originOf(entry, Number(numbers[1]), Number(numbers[2] ?? 1));
      if (origin) return origin;
    }
  }
  return undefined;
}

function originOf(entry: KnownMap, line: number, column: number): SourcePlace | undefined {
  entry.parsed ??= new SourceMap(JSON.parse(entry.map));
  const origin = entry.parsed.findOrigin(line, column);
  if (!('fileName' in origin) || origin.fileName === undefined || origin.fileName.startsWith('callsheet:'))
    return undefined;
  return { file: path.join(entry.folder, origin.fileName), line: origin.lineNumber, column: origin.columnNumber };
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
