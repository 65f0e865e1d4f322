import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';

const FILE = join(import.meta.dirname, 'sdk.type-test.ts');

function diagnosticsOf(text: string): string[] {
  const root = join(import.meta.dirname, '../..');
  const config = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, root);
  const host = ts.createCompilerHost(options);
  const readSource = host.getSourceFile.bind(host);
  host.getSourceFile = (name, languageOptions) =>
    name === FILE ? ts.createSourceFile(name, text, languageOptions) : readSource(name, languageOptions);
  const program = ts.createProgram([FILE], options, host);
  return program
    .getSemanticDiagnostics(program.getSourceFile(FILE))
    .map((one) => ts.flattenDiagnosticMessageText(one.messageText, '\n'));
}

verifies(
  'TYPES-WRONG-USE-1',
  'each line of sdk.type-test.ts that must not compile does not, and the rest does',
  () => {
    const text = readFileSync(FILE, 'utf8');
    expect(diagnosticsOf(text)).toEqual([]);
    const marks = text.split('// @ts-expect-error').length - 1;
    expect(marks).toBeGreaterThan(40);
    expect(diagnosticsOf(text.replaceAll('// @ts-expect-error', '//')).length).toBeGreaterThanOrEqual(marks);
  },
  60_000,
);
