/** The author's code failed on an answer: which part, and how. The answer itself is kept. */
export class ContractBroken extends Error {
  readonly part: 'response' | 'split' | 'extract' | 'cost' | 'output' | 'async.handle';
  constructor(part: ContractBroken['part'], problem: string, cause?: unknown) {
    super(problem, cause === undefined ? undefined : { cause });
    this.part = part;
  }
}
