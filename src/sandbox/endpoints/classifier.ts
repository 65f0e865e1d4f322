import { chance, stableId } from '../chance.ts';
import { bodyObject, type Endpoint, listField, RequestRefused, textField } from '../endpoint.ts';

const MOST_LABELS = 50;
const MOST_TEXT = 100_000;
const TOKENS_PER_CREDIT = 500;

/**
 * `{text,labels}` in, `{label,confidence,usage,…}` out. Not a language model: it takes the label that shares most words
 * with the text, and otherwise one by the seed. Costs a credit for each 500 tokens begun.
 */
export const llmClassify: Endpoint = {
  method: 'POST',
  path: '/llm/classify',
  provider: 'llm',
  price: { credits: 'by tokens', per: 'call' },
  prepare: ({ body }) => {
    const record = bodyObject(body);
    const text = textField(record, 'text');
    if (text.length > MOST_TEXT)
      throw new RequestRefused(413, 'text_too_long', `text has ${text.length} characters; at most ${MOST_TEXT}.`);
    const labels = listField(record, 'labels', MOST_LABELS).map((label, index) => {
      if (typeof label === 'string' && label.trim() !== '') return label;
      throw new RequestRefused(422, 'label_invalid', `labels[${index}] must be a string that is not empty.`);
    });
    return {
      question: { labels, text },
      members: 1,
      work: ({ seed }) => {
        const { label, confidence } = classify(seed, text, labels);
        const usage = { input_tokens: tokens(text) + labels.reduce((sum, one) => sum + tokens(one), 0) };
        const output_tokens = tokens(label);
        return {
          status: 200,
          credits: Math.ceil((usage.input_tokens + output_tokens) / TOKENS_PER_CREDIT),
          body: {
            id: `cls_${stableId(seed, text, ...labels)}`,
            model: 'sandbox-classifier-1',
            label,
            confidence,
            usage: { ...usage, output_tokens },
          },
        };
      },
    };
  },
};

function classify(seed: number, text: string, labels: readonly string[]): { label: string; confidence: number } {
  const words = new Set(wordsOf(text));
  let best = { label: '', score: -1 };
  for (const label of labels) {
    const shared = wordsOf(label).filter((word) => words.has(word)).length;
    // Less than one shared word apart: the draw only decides between equals.
    const score = shared + chance(seed, 'label', text, label);
    if (score > best.score) best = { label, score };
  }
  const confidence = Math.min(0.99, 0.5 + best.score / 4);
  return { label: best.label, confidence: Math.round(confidence * 1000) / 1000 };
}

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** Four characters a token: the usual rule of thumb. */
function tokens(text: string): number {
  return Math.ceil(text.length / 4);
}
