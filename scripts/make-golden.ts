/**
 * `node scripts/make-golden.ts [story …]`: the golden journals of this release, below test/golden/<release>/<story>. Made
 * once: what is there is never written over. Each is the home of a workspace with one unfinished run, the play it runs, and
 * `expected.json`: what a resume must come to. test/golden/hashes.txt pins every byte of them.
 */
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { homedir, hostname, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { systemClock } from '../src/scope/index.ts';
import { existingRun, newRun, openWorkspace, type Workspace } from '../src/workspace/index.ts';
import {
  clockAfter,
  goldenJobs,
  goldenTools,
  heldBy,
  playText,
  STORIES,
  type Story,
} from '../test/chaos/golden-stories.ts';
import { crash } from '../test/harness/crash.ts';

const ROOT = join(import.meta.dirname, '..');
const GOLDEN = join(ROOT, 'test/golden');
const HASHES = join(GOLDEN, 'hashes.txt');
const RELEASE = (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version;

const wanted = process.argv.slice(2);
for (const story of STORIES) {
  if (wanted.length > 0 && !wanted.includes(story.name)) continue;
  const folder = join(GOLDEN, RELEASE, story.name);
  if (existsSync(folder)) {
    process.stdout.write(`${relative(ROOT, folder)} is there already, and stays as it is\n`);
    continue;
  }
  await make(story, folder);
  pin(folder);
  process.stdout.write(`${relative(ROOT, folder)} made\n`);
}

async function make(story: Story, folder: string): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), 'golden-'));
  try {
    const play = playText(story);
    for (const [name, text] of Object.entries({ ...story.files, 'golden.play.ts': play }))
      writeFileSync(join(work, name), text);
    const { runId, recorded, madeAt } = await begun(story, work);
    const home = join(work, '.callsheet');
    neutralise(home, work);
    mkdirSync(join(folder, 'home'), { recursive: true });
    for (const part of ['callsheet.db', 'artifacts', 'files'])
      if (existsSync(join(home, part))) cpSync(join(home, part), join(folder, 'home', part), { recursive: true });
    writeFileSync(join(folder, 'play.txt'), play);
    const end = await resumed(story, { folder, runId, madeAt });
    const expected = { release: RELEASE, runId, madeAt, recorded, ...end };
    writeFileSync(join(folder, 'expected.json'), `${JSON.stringify(expected, null, 2)}\n`);
    assertNeutral(folder, work);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** The run up to where it waits or its process dies. */
async function begun(story: Story, work: string) {
  const jobs = await goldenJobs(false);
  const { tools, sent } = goldenTools(jobs);
  const madeAt = systemClock.now();
  const server = createServer((_, response) => response.end(JSON.stringify({ page: 'as it was then' })));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const workspace = await openWorkspace({ cwd: work, dir: work, env: {}, tools });
  const input = { url: `http://127.0.0.1:${port}/page` };
  const { run } = await newRun(workspace, { play: 'golden.play.ts', cwd: work, input });
  if (story.dies === undefined) await attempt(workspace, run.id);
  else await crash(workspace, run.id, story.dies());
  const held = await heldBy(workspace, run.id);
  const missing = story.holds.filter((one) => !held.includes(one));
  if (missing.length > 0) throw new Error(`${story.name} holds ${held.join(', ')}, but not ${missing.join(', ')}`);
  const recorded = [...sent];
  // A dead process does not close: its transactions are complete all the same.
  await workspace.close();
  await new Promise((resolve) => server.close(resolve));
  await jobs.close();
  return { runId: run.id, recorded, madeAt };
}

async function attempt(workspace: Workspace, runId: string): Promise<void> {
  await (await workspace.engine.start(runId)).outcome;
}

/** What this release makes of it, in a copy. */
async function resumed(story: Story, of: { folder: string; runId: string; madeAt: number }) {
  const copy = mkdtempSync(join(tmpdir(), 'golden-'));
  try {
    cpSync(join(of.folder, 'home'), join(copy, '.callsheet'), { recursive: true });
    const jobs = await goldenJobs(true);
    const { tools, sent } = goldenTools(jobs);
    const workspace = await openWorkspace({ cwd: copy, dir: copy, env: {}, tools, clock: clockAfter(of.madeAt) });
    await story.goOn({ workspace, runId: of.runId, attempt: (id = of.runId) => attempt(workspace, id) });
    const run = await existingRun(workspace, of.runId);
    await workspace.close();
    await jobs.close();
    if (run.status !== 'completed') throw new Error(`${story.name} ends ${run.status}: ${run.error}`);
    return { sentAfter: [...sent].sort(), result: JSON.parse(run.result ?? 'null') as unknown };
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Takes the machine out of what was kept: its name, its folders. Nothing that a resume goes by names either. */
function neutralise(home: string, work: string): void {
  for (const file of filesOf(home).filter((path) => path.endsWith('/meta.json')))
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(work, '/callsheet'));
  const db = new DatabaseSync(join(home, 'callsheet.db'));
  db.exec(`UPDATE runs SET owner = 'callsheet|1||1' WHERE owner IS NOT NULL`);
  db.prepare(`UPDATE runs SET options = replace(options, ?, '/callsheet')`).run(work);
  // Where a staged file came from, which is for people.
  db.prepare(`UPDATE boundaries SET value = replace(value, ?, '/callsheet') WHERE kind = 'csv'`).run(work);
  db.exec('VACUUM; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE');
  db.close();
}

function assertNeutral(folder: string, work: string): void {
  for (const file of filesOf(folder)) {
    const bytes = readFileSync(file);
    if (bytes.length > 200_000) throw new Error(`${file} has ${bytes.length} bytes`);
    for (const word of [work, homedir(), `${hostname()}|`, ROOT])
      if (bytes.includes(word)) throw new Error(`${file} holds '${word}'`);
  }
}

function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

function pin(folder: string): void {
  const lines = filesOf(folder).map((file) => {
    const hash = createHash('sha256').update(readFileSync(file)).digest('hex');
    return `${hash}  ${relative(GOLDEN, file)}\n`;
  });
  appendFileSync(HASHES, lines.join(''));
}
