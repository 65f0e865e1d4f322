import type { Written } from './csv-out.ts';
import { OutputFile } from './output-file.ts';

export interface JsonlWriter {
  /** JSON objects, one a line. Await each before the next. */
  write(objects: readonly object[]): Promise<void>;
  close(): Promise<Written>;
  abort(): Promise<void>;
}

/** Writes JSON lines in UTF-8. Throws OUTPUT_IS_INPUT, OUTPUT_FOLDER_MISSING, OUTPUT_NOT_WRITABLE. */
export async function openJsonlWriter(
  path: string,
  options: { readonly inputPaths?: readonly string[] } = {},
): Promise<JsonlWriter> {
  const file = await OutputFile.create(path, options.inputPaths ?? []);
  let rows = 0;
  return {
    async write(objects) {
      for (const object of objects) {
        rows++;
        const written = file.add(`${JSON.stringify(object)}\n`);
        if (written !== undefined) await written;
      }
    },
    async close() {
      await file.close();
      return { path, rows, inertCells: 0 };
    },
    abort: () => file.abort(),
  };
}
