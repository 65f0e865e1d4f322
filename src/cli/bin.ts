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
  if (worksOnRows(process.argv.slice(2))) replaceWithSmallYoungHeap();
  const { start } = await import('./main.ts');
  await start();
}

function worksOnRows(args: readonly string[]): boolean {
  return args.some((arg) => ['run', 'resume', 'plan', 'export'].includes(arg)) && !args.includes('--help');
}

/**
 * Starts this very process anew with a small young generation: V8 sizes it by the machine's memory, and rows that stream
 * through make it grow to its limit (docs/decisions/0008). Same process id, so nothing changes for who watches it.
 */
function replaceWithSmallYoungHeap(): void {
  const flag = '--max-semi-space-size';
  const given = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].some((option) => option.includes(flag));
  if (given || process.platform === 'win32' || typeof process.execve !== 'function') return;
  const { execPath, execArgv, argv, env } = process;
  try {
    process.execve(execPath, [execPath, `${flag}=16`, ...execArgv, ...argv.slice(1)], env as Record<string, string>);
  } catch {
    // It costs memory, not correctness, to go on as we are.
  }
}
