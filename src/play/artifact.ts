import path from 'node:path';
import type { Clock } from '../scope/index.ts';
import { CallsheetError, type JsonSchema, type JsonValue, type Play } from '../sdk/index.ts';
import { artifactHash } from './bundle.ts';
import { choosePlay, type ExportedPlay, playsOf } from './choose.ts';
import { inputSchemaOf, plainOptions } from './describe.ts';
import { editionOf, KNOWN_EDITIONS } from './edition.ts';
import { readIfThere, writeWhole } from './files.ts';
import { importCode, playsDefinedBy } from './import-code.ts';
import type { LoadedPlay } from './load.ts';

/** What stands beside an artifact's code: `<hash>.json`. For people, but for the edition that a play was built for. */
export interface ArtifactMeta {
  readonly hash: string;
  /** The play file's name; artifacts don't know the folder that they came from. */
  readonly entry: string;
  readonly inputs: readonly string[];
  readonly plays: readonly ArtifactPlay[];
  /** ISO 8601 instant at which it was first kept. */
  readonly created: string;
}

export interface ArtifactPlay {
  readonly name: string;
  readonly exportName: string;
  readonly description: string | null;
  readonly options: Readonly<Record<string, JsonValue>>;
  readonly inputSchema: JsonSchema | null;
  /** The contract between author code and runtime that the play was built for. */
  readonly edition: string;
}

export interface OpenedArtifact {
  readonly play: Play;
  readonly exportName: string;
  readonly plays: readonly ExportedPlay[];
  /** Every play that the code holds: those that it exports, and those that it only imports. */
  readonly all: readonly Play[];
}

/**
 * Keeps an artifact under its hash in `folder` (`.callsheet/artifacts`): `<hash>.mjs` (exactly the hashed bytes),
 * `<hash>.mjs.map` and `<hash>.json`, readable by their user only. Keeping it again changes nothing.
 */
export async function saveArtifact(folder: string, loaded: LoadedPlay, clock: Clock): Promise<ArtifactMeta> {
  const { artifact } = loaded;
  const file = codeFile(folder, artifact.hash);
  const kept = await readMeta(folder, artifact.hash);
  const meta = kept ?? metaOf(loaded, new Date(clock.now()).toISOString());
  await writeWhole(`${file}.map`, artifact.map);
  if (kept === undefined) await writeWhole(metaFile(folder, artifact.hash), `${JSON.stringify(meta, null, 2)}\n`);
  // Last, so that code that is there has its company.
  await writeWhole(file, artifact.code);
  return meta;
}

/**
 * Imports exactly the pinned bytes and returns the play: the one of that export (or name), or the only one; a name may
 * also be that of a play that the code holds and does not export.
 * Throws `ARTIFACT_MISSING` where the code is gone or altered, `EDITION_UNKNOWN` where it was built for a contract that this
 * release does not know, and what `loadPlay` throws for the rest.
 */
export async function openArtifact(folder: string, hash: string, wanted?: string): Promise<OpenedArtifact> {
  const file = codeFile(folder, hash);
  const code = await readIfThere(file);
  if (code === undefined) throw missing(hash, file, 'is no longer there');
  if (artifactHash(code) !== hash) throw missing(hash, file, 'was altered: its bytes do not have that hash');
  const exports = await importCode(file, {
    map: (await readIfThere(`${file}.map`)) ?? '',
    folder: '',
    code: 'PLAY_LOAD_FAILED',
    shownAs: file,
  });
  const plays = playsOf(exports);
  const all = playsDefinedBy(exports);
  await refuseUnknownEditions(folder, hash, all);
  const inner = plays.some((one) => isNamed(one, wanted)) ? undefined : all.find((play) => play.name === wanted);
  if (inner !== undefined) return { play: inner, exportName: inner.name, plays, all };
  const chosen = choosePlay(plays, { file, wanted, exported: Object.keys(exports) });
  return { play: chosen.play, exportName: chosen.exportName, plays, all };
}

function isNamed({ exportName, aliases, play }: ExportedPlay, wanted: string | undefined): boolean {
  return wanted !== undefined && [exportName, ...aliases, play.name].includes(wanted);
}

/** The description kept beside an artifact; undefined where there is none that can be read. */
export async function readMeta(folder: string, hash: string): Promise<ArtifactMeta | undefined> {
  const text = await readIfThere(metaFile(folder, hash));
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as ArtifactMeta;
  } catch {
    // A damaged one is written anew from what the code says itself.
    return undefined;
  }
}

/** What was kept with the code has the say: code that names no edition was built for the newest of its day. */
async function refuseUnknownEditions(folder: string, hash: string, plays: readonly Play[]): Promise<void> {
  const kept = (await readMeta(folder, hash))?.plays ?? [];
  for (const play of plays) {
    const edition = kept.find(({ name }) => name === play.name)?.edition ?? editionOf(play.options);
    if (KNOWN_EDITIONS.includes(edition)) continue;
    throw new CallsheetError(
      'EDITION_UNKNOWN',
      `The play '${play.name}' was built for the contract edition ${edition}; this release knows ${KNOWN_EDITIONS.join(', ')}.`,
      {
        details: { play: play.name, edition, known: KNOWN_EDITIONS, artifact: hash },
        next: ['Go on with the release that started the run, or a newer one.'],
      },
    );
  }
}

function metaOf(loaded: LoadedPlay, created: string): ArtifactMeta {
  return {
    hash: loaded.artifact.hash,
    entry: loaded.artifact.entry,
    inputs: loaded.artifact.inputs,
    plays: loaded.plays.map(({ play, exportName }) => ({
      name: play.name,
      exportName,
      description: play.description ?? null,
      options: plainOptions(play.options),
      inputSchema: inputSchemaOf(play),
      edition: editionOf(play.options),
    })),
    created,
  };
}

function codeFile(folder: string, hash: string): string {
  return path.join(folder, `${hash}.mjs`);
}

function metaFile(folder: string, hash: string): string {
  return path.join(folder, `${hash}.json`);
}

function missing(hash: string, file: string, what: string): CallsheetError {
  return new CallsheetError('ARTIFACT_MISSING', `The code that the run is pinned to (${hash}) ${what}: ${file}.`, {
    details: { artifact: hash, file },
    next: [
      'Restore the file from a backup of .callsheet/artifacts.',
      'callsheet runs resume <run> --code <file.play.ts> (goes on under the code of today)',
      'callsheet run <file.play.ts>   (a new run, which receipts answer)',
    ],
  });
}
