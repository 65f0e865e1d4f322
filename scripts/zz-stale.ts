import { readFileSync } from 'node:fs';
import ts from 'typescript';

const { MUTATIONS } = await import('./mutations.ts');
for (const m of MUTATIONS) {
  const text = readFileSync(new URL(`../src/${m.file}`, import.meta.url), 'utf8');
  const n = text.split(m.from).length - 1;
  if (n !== 1) {
    console.log(n, m.breaks.join(), m.file, JSON.stringify(m.from).slice(0, 100));
    continue;
  }
  const out = ts.transpileModule(
    text.replace(m.from, () => m.to),
    { reportDiagnostics: true, compilerOptions: { target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext } },
  );
  for (const d of out.diagnostics ?? [])
    console.log('SYNTAX', m.breaks.join(), m.file, ts.flattenDiagnosticMessageText(d.messageText, ' '));
}
console.log(MUTATIONS.length);
