#!/usr/bin/env node
// Plain syntax, and nothing imported before the check: this is what an older Node.js gets to see.
const found = process.versions.node;
const [major = 0, minor = 0] = found.split('.').map(Number);

if (major < 22 || (major === 22 && minor < 13)) {
  const code = 'NODE_TOO_OLD';
  const message = `Callsheet needs Node.js 22.13 or newer; this is ${found}.`;
  const next = ['npm ci', 'npx callsheet --help'];
  if (process.argv.includes('--json'))
    process.stdout.write(`${JSON.stringify({ error: { code, message, details: { found }, next } })}\n`);
  else
    process.stderr.write(
      `${code}: ${message} Install a newer one, or start it with npx: npm ci brings Node.js 24, and npx callsheet … runs on it.\n`,
    );
  process.exitCode = 2;
} else {
  const { start } = await import('./main.ts');
  await start();
}
