/** The author's code failed on an answer: which part, and how. The answer itself is kept. */
export class ContractBroken extends Error {
  readonly part: 'response' | 'split' | 'extract' | 'cost' | 'output' | 'async.handle';
  constructor(part: ContractBroken['part'], problem: string, cause?: unknown) {
    super(problem, cause === undefined ? undefined : { cause });
    this.part = part;
  }
}

/** An answer costs, by the tool's own word, more than the max that it declares. */
export class PriceAboveMax extends ContractBroken {
  readonly price: number;
  constructor(price: number, max: number) {
    super('cost', `returned ${price} credits, more than its declared max of ${max}`);
    this.price = price;
  }
}
