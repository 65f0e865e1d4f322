import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { begin, documentOf, newFolder, removeFolder, typed } from './command-line.ts';

describe('the sandbox command', () => {
  it('prints its address as JSON, answers there, and ends with 0 on a signal', async () => {
    const dir = newFolder();
    const { child, ended } = begin(dir, ['sandbox', '--seed', '7', '--json']);
    const [line] = await once(child.stdout ?? child, 'data');
    const { url } = JSON.parse(String(line)) as { url: string };
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({ exit: 0, stderr: expect.stringContaining('Ledger: 0 operations') });
    removeFolder(dir);
  });

  it('says when its port is taken', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as { port: number };
    const ended = await typed('/', ['sandbox', '--port', String(port), '--json']);
    expect(ended.exit).toBe(1);
    expect(documentOf<{ error: { code: string } }>(ended).error.code).toBe('PORT_TAKEN');
    holder.close();
  });
});
