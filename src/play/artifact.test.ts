import { appendFileSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { hexDigest, VirtualClock } from '../scope/index.ts';
import { CONTRACT_EDITION, editionOf, loadPlay, openArtifact, readMeta, saveArtifact } from './index.ts';
import { folderWith, rejection } from './temp-folder.test-support.ts';

const SOURCE = `import { definePlay } from 'callsheet';
export const one = definePlay('first', async () => ({ n: 1 }), { description: 'One', billing: { maxCreditsPerRun: 5 }, input: { type: 'object' } });
export const two = definePlay('second', async () => { throw new Error('x'); }, { compatibility: '2026-11', cron: () => 1 });
`;

async function saved(source = SOURCE) {
  const folder = folderWith({ 'x.play.ts': source });
  const artifacts = path.join(folder, '.callsheet/artifacts');
  const clock = new VirtualClock();
  const loaded = await loadPlay(`${path.join(folder, 'x.play.ts')}#one`);
  const meta = await saveArtifact(artifacts, loaded, clock);
  return { folder, artifacts, clock, loaded, meta, hash: loaded.artifact.hash };
}

it('keeps exactly the hashed bytes, the map and a description, for its user only', async () => {
  const { artifacts, hash, meta } = await saved();
  expect(readdirSync(artifacts).sort()).toEqual([`${hash}.json`, `${hash}.mjs`, `${hash}.mjs.map`]);
  expect(hash).toBe(`sha256-${hexDigest(readFileSync(path.join(artifacts, `${hash}.mjs`)))}`);
  for (const name of readdirSync(artifacts)) expect(statSync(path.join(artifacts, name)).mode & 0o777).toBe(0o600);
  expect(meta).toEqual(JSON.parse(readFileSync(path.join(artifacts, `${hash}.json`), 'utf8')));
  expect(meta).toEqual({
    hash,
    entry: 'x.play.ts',
    inputs: ['x.play.ts'],
    created: '2026-01-01T00:00:00.000Z',
    plays: [
      {
        name: 'first',
        exportName: 'one',
        description: 'One',
        edition: CONTRACT_EDITION,
        inputSchema: { type: 'object' },
        options: { description: 'One', billing: { maxCreditsPerRun: 5 } },
      },
      {
        name: 'second',
        exportName: 'two',
        description: null,
        edition: '2026-11',
        inputSchema: null,
        options: { compatibility: '2026-11', cron: '(not JSON: cron is a function)' },
      },
    ],
  });
});

it('keeping it again changes nothing, and mends what was damaged', async () => {
  const { artifacts, hash, loaded, clock } = await saved();
  const before = statSync(path.join(artifacts, `${hash}.mjs`)).mtimeMs;
  await clock.advance(60_000);
  expect((await saveArtifact(artifacts, loaded, clock)).created).toBe('2026-01-01T00:00:00.000Z');
  expect(statSync(path.join(artifacts, `${hash}.mjs`)).mtimeMs).toBe(before);
  appendFileSync(path.join(artifacts, `${hash}.mjs`), '// altered');
  writeFileSync(path.join(artifacts, `${hash}.json`), 'rubbish');
  expect(await readMeta(artifacts, hash)).toBeUndefined();
  expect((await saveArtifact(artifacts, loaded, clock)).created).toBe('2026-01-01T00:01:00.000Z');
  expect((await openArtifact(artifacts, hash, 'one')).play.name).toBe('first');
});

verifies(
  'PLAY-PINNED-1',
  'runs without the file it came from, whatever that says now, and stacks still name its lines',
  async () => {
    const { artifacts, folder, hash } = await saved();
    writeFileSync(path.join(folder, 'x.play.ts'), 'export default 1;');
    const { play, exportName } = await openArtifact(artifacts, hash, 'second');
    expect(exportName).toBe('two');
    const { mapStack } = await import('./index.ts');
    const error = await rejection(Promise.resolve(play(undefined as never, {})));
    expect(mapStack((error as unknown as Error).stack ?? '')).toMatch(/[( ]x\.play\.ts:3:/);
  },
);

it('runs without its map and description', async () => {
  const { artifacts, hash } = await saved();
  rmSync(path.join(artifacts, `${hash}.mjs.map`));
  rmSync(path.join(artifacts, `${hash}.json`));
  expect(await readMeta(artifacts, hash)).toBeUndefined();
  expect((await openArtifact(artifacts, hash, 'one')).play.name).toBe('first');
});

it('must be told which play where it holds several', async () => {
  const { artifacts, hash } = await saved();
  expect(await rejection(openArtifact(artifacts, hash))).toMatchObject({ code: 'PLAY_AMBIGUOUS' });
  expect(await rejection(openArtifact(artifacts, hash, 'three'))).toMatchObject({ code: 'PLAY_EXPORT_NOT_FOUND' });
});

verifies('PLAY-PINNED-1', 'ARTIFACT_MISSING where the code is gone or altered', async () => {
  const { artifacts, hash } = await saved();
  const file = path.join(artifacts, `${hash}.mjs`);
  appendFileSync(file, ' ');
  const altered = await rejection(openArtifact(artifacts, hash, 'one'));
  expect(altered).toMatchObject({ code: 'ARTIFACT_MISSING', details: { artifact: hash, file } });
  expect(altered.message).toContain('altered');
  expect(altered.next.join()).toContain('--code');
  rmSync(file);
  expect((await rejection(openArtifact(artifacts, hash, 'one'))).message).toContain('no longer there');
});

it('takes its edition from `compatibility`, or else the newest', () => {
  expect(editionOf({})).toBe(CONTRACT_EDITION);
  expect(editionOf({}, '2026-12')).toBe('2026-12');
  expect(editionOf({ compatibility: { edition: '2025-01' } })).toBe('2025-01');
  expect(editionOf({ compatibility: { legacy: true } })).toBe(CONTRACT_EDITION);
});
