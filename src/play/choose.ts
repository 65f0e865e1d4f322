import { didYouMean } from '../scope/index.ts';
import { CallsheetError, isPlay, type Play } from '../sdk/index.ts';

export interface ExportedPlay {
  readonly exportName: string;
  /** Other names under which the same play is exported. */
  readonly aliases: readonly string[];
  readonly play: Play;
}

/** The plays among a module's exports; one that is exported twice counts once, under its named export. */
export function playsOf(exports: Readonly<Record<string, unknown>>): ExportedPlay[] {
  const names = new Map<Play, string[]>();
  for (const [exportName, value] of Object.entries(exports))
    if (isPlay(value)) names.set(value, [...(names.get(value) ?? []), exportName]);
  return [...names].map(([play, exportNames]) => {
    const exportName = exportNames.find((name) => name !== 'default') ?? 'default';
    return { exportName, aliases: exportNames.filter((name) => name !== exportName), play };
  });
}

interface Choice {
  /** The file, for messages. */
  readonly file: string;
  /** An export's name, or else a play's own; undefined takes the only play. */
  readonly wanted: string | undefined;
  /** Everything that the file exports. */
  readonly exported: readonly string[];
}

/** The play that is meant. Throws `PLAY_MISSING`, `PLAY_AMBIGUOUS` or `PLAY_EXPORT_NOT_FOUND`. */
export function choosePlay(plays: readonly ExportedPlay[], choice: Choice): ExportedPlay {
  const { file, wanted, exported } = choice;
  const names = plays.map((item) => `${file}#${item.exportName}`);
  if (plays.length === 0)
    throw new CallsheetError('PLAY_MISSING', `${file} exports no play${listed(exported)}.`, {
      details: { file, exports: exported },
      next: ["Export one: export default definePlay('name', async (ctx, input) => { … })"],
    });
  if (wanted !== undefined) {
    const found =
      plays.find((item) => item.exportName === wanted || item.aliases.includes(wanted)) ??
      plays.find((item) => item.play.name === wanted);
    if (found !== undefined) return found;
    const isOther = exported.includes(wanted) ? `: '${wanted}' is exported, but is no play` : '';
    const close = didYouMean(
      wanted,
      plays.map((item) => item.exportName),
    );
    throw new CallsheetError('PLAY_EXPORT_NOT_FOUND', `${file} has no play '${wanted}'${isOther}.${close}`, {
      details: { file, wanted, plays: names },
      next: names.map((name) => `callsheet check ${name}`),
    });
  }
  const [only, another] = plays;
  if (only !== undefined && another === undefined) return only;
  throw new CallsheetError('PLAY_AMBIGUOUS', `${file} exports ${plays.length} plays; name one: ${names.join(', ')}`, {
    details: { file, plays: names },
    next: names.map((name) => `callsheet check ${name}`),
  });
}

function listed(exported: readonly string[]): string {
  if (exported.length === 0) return '; it exports nothing';
  return ` (it exports ${exported.slice(0, 10).join(', ')})`;
}
