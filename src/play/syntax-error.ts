import path from 'node:path';
import type { Message } from 'esbuild';
import { didYouMean } from '../scope/index.ts';
import { CallsheetError, type ErrorCode } from '../sdk/index.ts';
import { SDK_MODULES, SDK_NAMES } from './shim.ts';

/** What the bundler has to say about a place in a file. Line and column count from 1. */
export interface SourceMessage {
  readonly text: string;
  readonly file: string | null;
  readonly line: number | null;
  readonly column: number | null;
  readonly lineText: string | null;
}

export function sourceMessage(message: Message, folder: string): SourceMessage {
  const at = message.location;
  const missingExport = /^No matching export in "callsheet:sdk" for import "(.*)"$/.exec(message.text)?.[1];
  const text =
    missingExport === undefined
      ? message.text
      : `callsheet exports no '${missingExport}'.${didYouMean(missingExport, SDK_NAMES)}`;
  if (at === null) return { text, file: null, line: null, column: null, lineText: null };
  return {
    text,
    file: at.file === '' ? null : path.join(folder, at.file),
    line: at.line,
    // The bundler counts bytes; people and editors count characters.
    column: Buffer.from(at.lineText).subarray(0, at.column).toString().length + 1,
    lineText: at.lineText,
  };
}

/** The error for files that cannot be bundled: the first message in words, all of them in `details.errors`. */
export function bundleError(code: ErrorCode, messages: readonly SourceMessage[], folder: string): CallsheetError {
  const first = messages[0];
  const place = first?.file == null ? '' : `${first.file}:${first.line}:${first.column}: `;
  const line = first?.lineText == null ? '' : `\n  ${first.lineText.trim()}`;
  const more = messages.length > 1 ? `\n(and ${messages.length - 1} more)` : '';
  return new CallsheetError(code, `${place}${first?.text ?? 'cannot be bundled'}${line}${more}`, {
    details: {
      file: first?.file ?? null,
      line: first?.line ?? null,
      column: first?.column ?? null,
      lineText: first?.lineText ?? null,
      errors: messages,
    },
    next: nextFor(first?.text ?? '', folder),
  });
}

function nextFor(text: string, folder: string): string[] {
  const unresolved = /^Could not resolve "(.*)"$/.exec(text)?.[1];
  if (unresolved === undefined) return ['Mend the file, then run the command again.'];
  if (unresolved.startsWith('.') || path.isAbsolute(unresolved))
    return [`Create the file that ${unresolved} names, or mend the import.`];
  if (SDK_MODULES.some((name) => unresolved.startsWith(`${name}/`)))
    return [`Import from '${unresolved.split('/')[0]}' itself; it has everything a play may use.`];
  const parts = unresolved.split('/');
  const packageName = unresolved.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? unresolved);
  return [`npm install ${packageName} (in ${path.resolve(folder)}), or leave the import out.`];
}
