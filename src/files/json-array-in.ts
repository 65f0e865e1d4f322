import { type JsonFindings, type JsonInOptions, type JsonSink, ObjectReader, tooLarge } from './json-in.ts';
import { MAX_ROW_BYTES, malformed } from './malformed.ts';

const QUOTE = 34;
const BACKSLASH = 92;
const COMMA = 44;
const OPEN = [91, 123];
const CLOSE = [93, 125];
const LF = 10;
const SPACES = [9, 10, 13, 32];

/** Reads one UTF-8 JSON array of objects, an element at a time. Throws FILE_MALFORMED naming the element's line. */
export async function readJsonArray(
  chunks: AsyncIterable<Buffer>,
  options: JsonInOptions,
  sink: JsonSink,
): Promise<JsonFindings> {
  const objects = new ObjectReader(options.path);
  const elements = new ElementSplitter(options.path);
  const mostRows = options.limit ?? Number.POSITIVE_INFINITY;
  for await (const chunk of chunks) {
    for (const { text, line } of elements.add(chunk)) {
      if (objects.rows === mostRows) {
        await sink(objects.take());
        return objects.findings({ blankLines: 0, cutAtLimit: true });
      }
      objects.add(text, line);
      if (objects.full) await sink(objects.take());
    }
  }
  elements.end();
  await sink(objects.take());
  return objects.findings({ blankLines: 0, cutAtLimit: false });
}

interface Element {
  readonly text: string;
  readonly line: number;
}

type Place = 'before' | 'first-element' | 'element' | 'after-element' | 'after';

/**
 * Cuts the text of one array into the texts of its elements. It knows brackets, strings and commas only: whether an
 * element is JSON is for JSON.parse to say.
 */
class ElementSplitter {
  readonly #path: string;
  #place: Place = 'before';
  #depth = 0;
  #inString = false;
  #escaped = false;
  #line = 1;
  #elementLine = 1;
  #parts: Buffer[] = [];
  #partBytes = 0;

  constructor(path: string) {
    this.#path = path;
  }

  *add(chunk: Buffer): Generator<Element> {
    // Where the element that is being read begins in this chunk; -1 outside of one.
    let start = this.#inElement() ? 0 : -1;
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i] ?? 0;
      if (byte === LF) this.#line++;
      if (start !== -1 && this.#within(byte)) continue;
      if (start !== -1) {
        yield this.#element(chunk.subarray(start, i));
        start = -1;
      }
      if (this.#between(byte)) {
        start = i;
        this.#elementLine = this.#line;
        this.#within(byte);
      }
    }
    if (start === -1) return;
    this.#parts.push(chunk.subarray(start));
    this.#partBytes += chunk.length - start;
    if (this.#partBytes > MAX_ROW_BYTES) throw tooLarge(this.#path, this.#elementLine);
  }

  end(): void {
    if (this.#place === 'after') return;
    const inElement = this.#inElement();
    throw malformed(
      { path: this.#path, line: inElement ? this.#elementLine : this.#line },
      'the file ends within its array',
      {
        next: ['The file was probably cut off; get it again, whole.'],
      },
    );
  }

  #inElement(): boolean {
    return this.#partBytes > 0;
  }

  #element(last: Buffer): Element {
    const bytes = this.#parts.length === 0 ? last : Buffer.concat([...this.#parts, last]);
    this.#parts = [];
    this.#partBytes = 0;
    this.#place = 'after-element';
    return { text: bytes.toString('utf8'), line: this.#elementLine };
  }

  /** A byte of an element: false if the element ended before it. */
  #within(byte: number): boolean {
    if (this.#inString) {
      if (this.#escaped) this.#escaped = false;
      else if (byte === BACKSLASH) this.#escaped = true;
      else if (byte === QUOTE) this.#inString = false;
      return true;
    }
    if (this.#depth === 0 && (byte === COMMA || CLOSE.includes(byte))) return false;
    if (byte === QUOTE) this.#inString = true;
    else if (OPEN.includes(byte)) this.#depth++;
    else if (CLOSE.includes(byte)) this.#depth--;
    return true;
  }

  /** A byte outside elements: true if an element begins with it. */
  #between(byte: number): boolean {
    if (SPACES.includes(byte)) return false;
    const place = this.#place;
    if (place === 'before' && byte === OPEN[0]) this.#place = 'first-element';
    else if (place === 'first-element' && byte === CLOSE[0]) this.#place = 'after';
    else if (place === 'first-element' || place === 'element') return this.#begins(byte);
    else if (place === 'after-element' && byte === COMMA) this.#place = 'element';
    else if (place === 'after-element' && byte === CLOSE[0]) this.#place = 'after';
    else throw this.#unexpected(place);
    return false;
  }

  #begins(byte: number): boolean {
    if (byte === COMMA || CLOSE.includes(byte)) throw this.#unexpected('element');
    return true;
  }

  #unexpected(place: Place): Error {
    const what = {
      before: 'an array of objects is expected',
      'first-element': 'an object is expected',
      element: 'an object is expected after the comma',
      'after-element': 'a comma or the end of the array is expected',
      after: 'there is more after the end of the array',
    }[place];
    return malformed({ path: this.#path, line: this.#line }, what, {
      next: ['Give the rows as one JSON array of objects, or as JSON lines in a file that ends in .jsonl.'],
    });
  }
}
