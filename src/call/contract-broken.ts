/** The author's code failed on an answer: which part, and how. The answer itself is kept. */
export class ContractBroken extends Error {
  readonly part: 'response' | 'split' | 'extract' | 'cost' | 'output' | 'async.handle';
  /** What the answer costs, where the tool could read as much of it. */
  readonly price: number | undefined;
  constructor(
    part: ContractBroken['part'],
    problem: string,
    { price, ...options }: { readonly price?: number; readonly cause?: unknown } = {},
  ) {
    super(problem, options);
    this.part = part;
    this.price = price;
  }
}

/** An answer costs, by the tool's own word, more than the max that it declares. */
export class PriceAboveMax extends ContractBroken {
  declare readonly price: number;
  constructor(price: number, max: number) {
    super('cost', `returned ${price} credits, more than its declared max of ${max}`, { price });
  }
}
