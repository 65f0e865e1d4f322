import { didYouMean } from '../../scope/index.ts';
import type { Play } from '../../sdk/index.ts';
import { KNOWN_PLAY_OPTIONS } from '../../sdk/index.ts';
import { askedEdition, KNOWN_EDITIONS } from '../edition.ts';
import { type Finding, type FindingPlace, finding } from './finding.ts';
import type { Sources } from './names.ts';
import { type Counts, secretOf, toolOf } from './plan.ts';
import { lineOf } from './syntax.ts';

/** What a play is checked against; what is left out is not checked. */
export interface Surroundings {
  /** The ids of the catalogue. */
  readonly toolIds?: readonly string[] | undefined;
  /** The secrets that a tool of the catalogue needs. */
  readonly toolSecrets?: ((toolId: string) => readonly string[]) | undefined;
  /** The providers that the config has something to say of, and those that tools have. */
  readonly providers?: { readonly configured: readonly string[]; readonly ofTools: readonly string[] } | undefined;
  readonly secretIsSet?: ((name: string) => boolean) | undefined;
}

export function unknownTools(sources: Sources, counts: Counts, toolIds: readonly string[]): Finding[] {
  const known = new Set(toolIds);
  const found: Finding[] = [];
  for (const source of sources.values())
    for (const node of source.nodes) {
      const tool = counts(source, node) ? toolOf(sources, { source, node }) : undefined;
      if (tool === undefined || known.has(tool.id)) continue;
      found.push(
        finding(
          'TOOL_NOT_FOUND',
          { file: source.shownAs, line: lineOf(source, node) },
          {
            message: `No tool '${tool.id}' is in the catalogue.${didYouMean(tool.id, toolIds)}`,
            next: 'callsheet tools list, or define the tool in a file under tools/',
          },
        ),
      );
    }
  return found;
}

/** What the config says of such a provider has no effect: a limit that is written there is not kept. */
export function unknownProviders({ configured, ofTools }: NonNullable<Surroundings['providers']>): Finding[] {
  const known = new Set(ofTools);
  return configured
    .filter((name) => !known.has(name))
    .map((name) =>
      finding(
        'PROVIDER_UNKNOWN',
        { file: null, line: null },
        {
          message: `\`providers\` in the config names '${name}', which is the provider of no tool: it has no effect.${didYouMean(name, known)}`,
          next: 'Mend the name in callsheet.config.ts; callsheet tools list shows the provider of each tool.',
        },
      ),
    );
}

interface SecretsCheck extends Surroundings {
  readonly declared: readonly string[];
  readonly tools: readonly string[];
  readonly place: FindingPlace;
}

export function secretFindings(sources: Sources, counts: Counts, check: SecretsCheck): Finding[] {
  const found: Finding[] = [];
  const needed = new Map<string, string>(check.declared.map((name) => [name, 'the play']));
  for (const source of sources.values())
    for (const node of source.nodes) {
      const name = counts(source, node) ? secretOf(sources, { source, node }) : undefined;
      if (name === undefined || check.declared.includes(name)) continue;
      found.push(
        finding(
          'SECRET_NOT_DECLARED',
          { file: source.shownAs, line: lineOf(source, node) },
          {
            message: `The play asks for the secret ${name}, which its \`secrets\` do not list.`,
            next: `Add it to the play's options: secrets: ['${name}']`,
          },
        ),
      );
    }
  for (const tool of check.tools)
    for (const name of check.toolSecrets?.(tool) ?? []) if (!needed.has(name)) needed.set(name, `tool '${tool}'`);
  for (const [name, who] of needed)
    if (check.secretIsSet?.(name) === false)
      found.push(
        finding('SECRET_MISSING', check.place, {
          message: `The secret ${name}, which ${who} needs, is not set.`,
          next: `callsheet secrets set ${name}`,
        }),
      );
  return found;
}

export function optionFindings(play: Play, place: FindingPlace): Finding[] {
  const found = play.unknownOptions.map((option) =>
    finding('PLAY_OPTION_UNKNOWN', place, {
      message: `definePlay has no option '${option}'; it is kept, and has no effect.${didYouMean(option, KNOWN_PLAY_OPTIONS)}`,
      next: `Options are ${KNOWN_PLAY_OPTIONS.join(', ')}.`,
    }),
  );
  const edition = askedEdition(play.options);
  if (edition !== undefined && !KNOWN_EDITIONS.includes(edition))
    found.push(
      finding('EDITION_UNKNOWN', place, {
        message: `The play asks for the contract edition ${edition}; this release knows ${KNOWN_EDITIONS.join(', ')}.`,
        next: 'Use a release that knows the edition, or leave `compatibility` out.',
      }),
    );
  return found;
}
