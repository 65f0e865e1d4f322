import type { JsonValue } from '../sdk/index.ts';
import type { CatalogueTool } from '../tool/index.ts';
import { rawOf } from './answer.ts';
import { PriceAboveMax, readAnswer } from './contract.ts';
import type { Lookup } from './lookup.ts';

/** What a kept answer costs by its tool's own word, where that is more than the declared max; else undefined. */
export async function priceAboveMax(
  lookup: Lookup,
  tool: CatalogueTool,
  kept: { readonly receiptId: number; readonly input: JsonValue },
): Promise<number | undefined> {
  const answer = await lookup.byId(kept.receiptId);
  if (answer === undefined) return undefined;
  try {
    readAnswer(tool, kept.input, rawOf(answer));
  } catch (error) {
    // What else is wrong with the tool's code is told by the call itself.
    if (error instanceof PriceAboveMax) return error.price;
  }
  return undefined;
}
