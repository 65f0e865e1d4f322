/** Values shorter than this are found in any text by chance, so they are left alone. */
const SHORTEST_SECRET = 4;
/** Shorter pieces of a base64 text would be found by chance. */
const SHORTEST_BASE64 = 6;

/** Takes secrets out of what a provider said. */
export interface Redactor {
  text(text: string): string;
  bytes(bytes: Buffer): Buffer;
}

interface Needle {
  readonly find: string;
  readonly put: string;
}

const NOTHING: Redactor = { text: (text) => text, bytes: (bytes) => bytes };

/**
 * A redactor that puts `[secret NAME]` in place of each secret's value, as it is and as JSON, URLs, HTML and base64 write
 * it; base64 also where the secret is only a part of what was encoded, as in `Authorization: Basic`.
 */
export function redactorOf(secrets: ReadonlyMap<string, string> | undefined): Redactor {
  if (secrets === undefined || secrets.size === 0) return NOTHING;
  const needles = [...secrets].flatMap(([name, value]) => needlesOf(name, value));
  if (needles.length === 0) return NOTHING;
  // The longest first, so that a secret inside another leaves no rest of the longer one.
  if (secrets.size > 1) needles.sort((a, b) => b.find.length - a.find.length);
  return new NeedleRedactor(needles);
}

class NeedleRedactor implements Redactor {
  readonly #needles: readonly Needle[];

  constructor(needles: readonly Needle[]) {
    this.#needles = needles;
  }

  text(text: string): string {
    let clean = text;
    for (const { find, put } of this.#needles) if (clean.includes(find)) clean = clean.replaceAll(find, () => put);
    return clean;
  }

  bytes(bytes: Buffer): Buffer {
    let clean = bytes;
    for (const { find, put } of this.#needles) {
      if (!clean.includes(find)) continue;
      // Latin-1 maps bytes and characters one to one, so replacing in it leaves every other byte as it was.
      const bytesAsText = Buffer.from(find).toString('latin1');
      clean = Buffer.from(
        clean.toString('latin1').replaceAll(bytesAsText, () => put),
        'latin1',
      );
    }
    return clean;
  }
}

/** By name, so that a rotated secret takes the place of its old value. Lives as long as the process that read the secret. */
const cache = new Map<string, { readonly value: string; readonly needles: readonly Needle[] }>();

function needlesOf(name: string, value: string): readonly Needle[] {
  const known = cache.get(name);
  if (known?.value === value) return known.needles;
  const put = `[secret ${name}]`;
  const needles = value.length < SHORTEST_SECRET ? [] : spellings(value).map((find) => ({ find, put }));
  cache.set(name, { value, needles });
  return needles;
}

function spellings(value: string): string[] {
  const percent = encodeURIComponent(value.toWellFormed());
  const html = htmlEscaped(value);
  const all = [
    value,
    JSON.stringify(value).slice(1, -1),
    JSON.stringify(value).slice(1, -1).replaceAll('/', '\\/'),
    percent,
    percent.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
    percent.replaceAll('%20', '+'),
    new URLSearchParams([['', value]]).toString().slice(1),
    html,
    html.replaceAll('&#39;', '&#x27;'),
    ...base64Spellings(value),
  ];
  return [...new Set(all)].sort((a, b) => b.length - a.length);
}

function htmlEscaped(value: string): string {
  return value
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

/** The base64 of the value alone, and what is sure to appear of it wherever it starts within an encoded text. */
function base64Spellings(value: string): string[] {
  const bytes = Buffer.from(value);
  const found = [bytes.toString('base64'), bytes.toString('base64url')];
  for (const before of [0, 1, 2]) {
    const whole = Buffer.concat([Buffer.alloc(before), bytes]);
    // The characters that also hold bits of a neighbour are cut off.
    const first = Math.ceil((before * 8) / 6);
    const last = Math.floor((whole.length * 8) / 6);
    found.push(whole.toString('base64').slice(first, last), whole.toString('base64url').slice(first, last));
  }
  return found.filter((text) => text.length >= SHORTEST_BASE64);
}
