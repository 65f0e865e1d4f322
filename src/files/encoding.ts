import { CallsheetError } from '../sdk/index.ts';
import type { Survey } from './survey.ts';
import type { EncodingFinding } from './types.ts';

/** Tables of Latin letters that differ in few places. */
const LATIN_TABLES = ['windows-1250', 'windows-1254', 'windows-1257', 'windows-1258', 'iso-8859-2'];
const FEW_LETTERS = 12;
const NOT_IN_WINDOWS_1252 = [0x81, 0x8d, 0x8f, 0x90, 0x9d];

interface Guess {
  readonly name: string;
  readonly confidence: number;
}

export interface EncodingChoice {
  readonly finding: EncodingFinding;
  /** Bytes of the byte order mark at the start, to be skipped. */
  readonly bomBytes: number;
  readonly warnings: readonly string[];
}

const BOMS: readonly { readonly name: string; readonly bytes: readonly number[] }[] = [
  { name: 'utf-8', bytes: [0xef, 0xbb, 0xbf] },
  { name: 'utf-16le', bytes: [0xff, 0xfe] },
  { name: 'utf-16be', bytes: [0xfe, 0xff] },
];

/** Spellings that people write and the Encoding Standard does not list. */
const SPELLINGS: Readonly<Record<string, string>> = {
  utf16: 'utf-16le',
  utf16le: 'utf-16le',
  utf16be: 'utf-16be',
  windows1252: 'windows-1252',
  ansi: 'windows-1252',
};

/** Below this, chardet's multi-byte guesses are its floor value and mean nothing. */
const LEAST_CONFIDENCE = 11;

/**
 * Chooses the encoding of a surveyed file: the caller's label, else a byte order mark, the NUL pattern of UTF-16, strict
 * UTF-8 over all bytes, chardet. The pattern comes before UTF-8 because ASCII text in UTF-16 is also valid UTF-8.
 * ISO-8859-1 is read as windows-1252, as the WHATWG Encoding Standard does. Throws FILE_UNDECODABLE.
 */
export async function chooseEncoding(survey: Survey, path: string, label?: string): Promise<EncodingChoice> {
  const bom = BOMS.find((candidate) => candidate.bytes.every((byte, i) => survey.head[i] === byte));
  if (label !== undefined) return chosenByOption(path, label, bom);
  if (bom !== undefined) {
    const utf32 = bom.name === 'utf-16le' && survey.head[2] === 0 && survey.head[3] === 0 && survey.bytes % 4 === 0;
    if (utf32) throw undecodable(path, 'it is UTF-32, which is not supported', survey);
    return choice({ name: bom.name, how: 'bom' }, bom.bytes.length);
  }
  const utf16 = utf16ByNulPattern(survey);
  if (utf16 !== undefined) return choice({ name: utf16, how: 'nul-pattern' }, 0);
  if (survey.utf8) return choice({ name: 'utf-8', how: survey.ascii ? 'ascii' : 'utf-8' }, 0);
  return await detected(survey, path);
}

function choice(finding: EncodingFinding, bomBytes: number, warnings: readonly string[] = []): EncodingChoice {
  return { finding, bomBytes, warnings };
}

function chosenByOption(path: string, label: string, bom: (typeof BOMS)[number] | undefined): EncodingChoice {
  const wanted = label.trim().toLowerCase();
  const name = canonicalName(wanted);
  if (name === undefined) {
    throw new CallsheetError('USAGE', `There is no text encoding called ${JSON.stringify(label)}.`, {
      details: { file: path, encoding: label },
      next: ['Use a label such as utf-8, windows-1252, utf-16le, shift_jis or gb18030.'],
    });
  }
  // "utf-16" alone leaves the byte order open, and a mark in the file settles it.
  const generic = wanted === 'utf-16' || wanted === 'utf16';
  const settled = generic && bom?.name === 'utf-16be' ? 'utf-16be' : name;
  return choice({ name: settled, how: 'option' }, bom?.name === settled ? bom.bytes.length : 0);
}

function canonicalName(label: string): string | undefined {
  try {
    return new TextDecoder(SPELLINGS[label] ?? label).encoding;
  } catch {
    return undefined;
  }
}

/** UTF-16 without a mark: in text of Western letters every other byte is NUL, in other scripts those of delimiters. */
function utf16ByNulPattern(survey: Survey): string | undefined {
  const { nulsAtEven: even, nulsAtOdd: odd, bytes } = survey;
  if (bytes % 2 !== 0 || bytes < 4) return undefined;
  const [more, less] = even > odd ? [even, odd] : [odd, even];
  const units = bytes / 2;
  const share = survey.utf8 ? 0.6 : 0.04;
  if (more < units * share || less > more * 0.02) return undefined;
  return even > odd ? 'utf-16be' : 'utf-16le';
}

async function detected(survey: Survey, path: string): Promise<EncodingChoice> {
  if (looksBinary(survey)) throw undecodable(path, 'it looks like binary data', survey);
  const { analyse } = await import('chardet');
  const guesses = analyse(survey.sample)
    .map((guess) => ({ name: canonicalName(guess.name.toLowerCase()), confidence: guess.confidence }))
    .filter((guess): guess is Guess => guess.name !== undefined && guess.name !== 'utf-8')
    .filter((guess) => guess.confidence > 0 && decodes(guess.name, survey.sample));
  const top = likelier(guesses, survey.sample);
  if (top === undefined) {
    const warning = 'The encoding could not be told from so few letters; the file was read as windows-1252.';
    return choice({ name: 'windows-1252', how: 'detected', confidence: 0 }, 0, [warning]);
  }
  const rivals = guesses.filter((guess) => guess.name !== top.name && guess.confidence >= top.confidence);
  if (top.confidence < LEAST_CONFIDENCE && top.name !== 'windows-1252') {
    throw undecodable(path, `it may be ${guesses.map((guess) => guess.name).join(', ')}`, survey);
  }
  return choice({ name: top.name, how: 'detected', confidence: top.confidence }, 0, [
    ...(rivals.length > 0 ? [`It may also be ${rivals.map((guess) => guess.name).join(' or ')}.`] : []),
    ...(hasUtf8Sequence(survey.sample)
      ? [
          `The file holds UTF-8 letters but is not valid UTF-8 near line ${survey.invalidNearLine}; ` +
            `it was read as ${top.name}, so that some letters may be wrong.`,
        ]
      : []),
  ]);
}

/**
 * chardet's first guess; but on a handful of letters it confuses the Latin tables, and then the commonest is the likelier:
 * a name like Peña alone is "Hungarian" to it.
 */
function likelier(guesses: readonly Guess[], sample: Buffer): Guess | undefined {
  const best = guesses[0];
  if (best === undefined || best.name === 'windows-1252') return best;
  const western = guesses.find((guess) => guess.name === 'windows-1252');
  if (western !== undefined && western.confidence >= best.confidence) return western;
  const latin = LATIN_TABLES.includes(best.name);
  const few = sample.reduce((count, byte) => count + (byte > 127 ? 1 : 0), 0) < FEW_LETTERS;
  const fits = !sample.some((byte) => NOT_IN_WINDOWS_1252.includes(byte));
  return latin && few && fits ? (western ?? { name: 'windows-1252', confidence: 0 }) : best;
}

function looksBinary(survey: Survey): boolean {
  if ((survey.nulsAtEven + survey.nulsAtOdd) / survey.bytes > 0.05) return true;
  const { sample } = survey;
  let controls = 0;
  for (const byte of sample) if (byte < 9 || (byte > 13 && byte < 27) || (byte > 27 && byte < 32)) controls++;
  return controls > sample.length * 0.05;
}

/** A three-byte sequence that starts like UTF-8 punctuation or a two-byte Latin letter: hardly found in other encodings. */
function hasUtf8Sequence(sample: Buffer): boolean {
  for (let i = 0; i + 1 < sample.length; i++) {
    const [lead, next, third] = [sample[i] ?? 0, sample[i + 1] ?? 0, sample[i + 2] ?? 0];
    if (lead === 0xc3 && next >= 0x80 && next <= 0xbf && third < 0x80) return true;
    if (lead === 0xe2 && next === 0x80 && third >= 0x80 && third <= 0xbf) return true;
  }
  return false;
}

function decodes(name: string, sample: Buffer): boolean {
  if (name === 'windows-1252') return true;
  try {
    // `stream`: the sample's end may cut a character.
    new TextDecoder(name, { fatal: true }).decode(sample, { stream: true });
    return true;
  } catch {
    return false;
  }
}

function undecodable(path: string, why: string, survey: Survey): CallsheetError {
  const near = survey.utf8 ? '' : ` (not UTF-8 near line ${survey.invalidNearLine})`;
  return new CallsheetError('FILE_UNDECODABLE', `The text encoding of ${path} cannot be told: ${why}${near}.`, {
    details: { file: path, nearLine: survey.invalidNearLine ?? null },
    next: ['Save the file as UTF-8, or name its encoding, for example `--encoding windows-1252`.'],
  });
}
