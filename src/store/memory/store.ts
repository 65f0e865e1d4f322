import type { CallReads, DatasetReads, ReportReads, RunReads, Store, Unit, UnitOutcome } from '../port.ts';
import { apply } from './apply.ts';
import { callReads, runReads } from './call-and-run-reads.ts';
import { MemoryData } from './data.ts';
import { datasetReads } from './dataset-reads.ts';
import { reportReads } from './report-reads.ts';
import { Undo } from './undo.ts';

/** The memory twin of a store: the same answers, nothing on disk. For tests. */
export class MemoryStore implements Store {
  readonly calls: CallReads;
  readonly runs: RunReads;
  readonly datasets: DatasetReads;
  readonly report: ReportReads;
  readonly #data: MemoryData;

  /** Handles made over the same data see each other's writes. */
  constructor(data = new MemoryData()) {
    this.#data = data;
    this.calls = callReads(data);
    this.runs = runReads(data);
    this.datasets = datasetReads(data);
    this.report = reportReads(data);
  }

  async commit(units: readonly Unit[]): Promise<readonly UnitOutcome[]> {
    return units.map((unit) => this.#commitUnit(unit));
  }

  async probe(): Promise<boolean> {
    return true;
  }

  async close(): Promise<void> {}

  #commitUnit(unit: Unit): UnitOutcome {
    const undo = new Undo();
    try {
      for (const write of unit) apply(this.#data, write, undo);
      return { ok: true };
    } catch (error) {
      undo.rollback();
      return { ok: false, error };
    }
  }
}
