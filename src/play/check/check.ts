import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { CallsheetError } from '../../sdk/index.ts';
import type { Bundle } from '../bundle.ts';
import { describePlay, type PlayDescription } from '../describe.ts';
import { type LoadedPlay, loadPlay } from '../load.ts';
import type { ShownCalls } from './call-sums.ts';
import { type Finding, finding } from './finding.ts';
import type { Sources } from './names.ts';
import { callsByLeg, type PlayPlan, planOf } from './plan.ts';
import {
  optionFindings,
  type Surroundings,
  secretFindings,
  unknownProviders,
  unknownTools,
} from './rules-catalogue.ts';
import { datasetFindings } from './rules-datasets.ts';
import { replayFindings } from './rules-replay.ts';
import { parseSource, type SourceText } from './syntax.ts';
import { checkTypes } from './types.ts';
import { playText } from './which-play.ts';

export interface CheckOptions extends Surroundings {
  readonly cacheDir?: string | undefined;
  /** False leaves TypeScript out. */
  readonly types?: boolean | undefined;
}

export interface PlayCheck {
  /** No finding is an error. */
  readonly ok: boolean;
  /** Errors first, then by file and line. */
  readonly findings: readonly Finding[];
  /** Null where the play cannot be loaded. */
  readonly play: PlayDescription | null;
  readonly plan: PlayPlan | null;
  /** The most calls that a row makes, by dataset and leg: `<key>|<leg's path>`; `*` where a key is computed. */
  readonly calls: () => ReadonlyMap<string, ShownCalls>;
  /** What was loaded, for callers that go on with it. */
  readonly loaded: LoadedPlay | null;
  readonly types: { readonly checked: boolean; readonly typescript: string | null; readonly why: string | null };
}

/** What a person must choose or mistyped on the command line is no finding about the play. */
const USAGE: ReadonlySet<string> = new Set(['PLAY_FILE_NOT_FOUND', 'PLAY_AMBIGUOUS', 'PLAY_EXPORT_NOT_FOUND']);

/**
 * Checks a play (`file.play.ts` or `file.play.ts#export`) without running it: loads it, reads its text and that of the
 * local files it imports, type-checks it where its folder has TypeScript, and says what it will do. A play that cannot
 * be loaded is a finding. Throws `PLAY_FILE_NOT_FOUND`, `PLAY_AMBIGUOUS`, `PLAY_EXPORT_NOT_FOUND`.
 */
export async function checkPlay(spec: string, options: CheckOptions = {}): Promise<PlayCheck> {
  let loaded: LoadedPlay;
  try {
    loaded = await loadPlay(spec, { cacheDir: options.cacheDir });
  } catch (error) {
    if (!(error instanceof CallsheetError) || USAGE.has(error.code)) throw error;
    return notLoadable(error);
  }
  const sources = await parseInputs(loaded.artifact, path.dirname(loaded.file));
  const text = playText(sources, sources.get(loaded.artifact.entry), loaded.exportName);
  const place = { file: loaded.file, line: text.line };
  const declared = (text.hasChildren ? loaded.plays.map((item) => item.play) : [loaded.play]).flatMap((play) => [
    ...(play.options.secrets ?? []),
  ]);
  const plan = planOf(sources, text.counts, declared);
  const types = options.types === false ? undefined : await checkTypes(loaded.file);
  const findings = [
    ...bundleFindings(loaded.artifact),
    ...optionFindings(loaded.play, place),
    ...(options.toolIds === undefined ? [] : unknownTools(sources, text.counts, options.toolIds)),
    ...(options.providers === undefined ? [] : unknownProviders(options.providers)),
    ...secretFindings(sources, text.counts, { ...options, declared, tools: plan.tools, place }),
    ...datasetFindings(sources, text.counts),
    ...replayFindings(sources, text.counts),
    ...(types?.findings ?? []),
  ];
  return {
    ok: findings.every((item) => item.severity !== 'error'),
    findings: findings.sort(byWeight),
    play: describePlay(loaded),
    plan,
    calls: () => callsByLeg(sources, text.counts),
    loaded,
    types: {
      checked: types?.checked === true,
      typescript: types?.checked === true ? types.typescript : null,
      why: types === undefined ? 'left out' : types.checked ? null : types.why,
    },
  };
}

/** The author's own files; packages are others' business. */
async function parseInputs(artifact: Bundle, folder: string): Promise<Sources> {
  const sources = new Map<string, SourceText>();
  for (const name of artifact.inputs) {
    if (!/\.[cm]?[jt]sx?$/.test(name) || name.split('/').includes('node_modules')) continue;
    const text = await readFile(path.join(artifact.root, name), 'utf8');
    const source = await parseSource(name, path.join(folder, name), text);
    if (source !== undefined) sources.set(name, source);
  }
  return sources;
}

function bundleFindings(artifact: Bundle): Finding[] {
  return artifact.warnings.map((warning) =>
    finding('BUNDLE_WARNING', warning, {
      message: warning.text,
      next: 'Look at the line; it may not do what it says.',
    }),
  );
}

function notLoadable(error: CallsheetError): PlayCheck {
  const { file, line } = error.details;
  const place = {
    file: typeof file === 'string' ? file : null,
    line: typeof line === 'number' ? line : null,
  };
  const one: Finding = { severity: 'error', code: error.code, message: error.message, ...place, next: error.next };
  return {
    ok: false,
    findings: [one],
    play: null,
    plan: null,
    calls: () => new Map(),
    loaded: null,
    types: { checked: false, typescript: null, why: 'the play cannot be loaded' },
  };
}

function byWeight(a: Finding, b: Finding): number {
  if (a.severity !== b.severity) return a.severity === 'error' ? -1 : 1;
  const [left, right] = [a.file ?? '', b.file ?? ''];
  return left === right ? (a.line ?? 0) - (b.line ?? 0) : left < right ? -1 : 1;
}
