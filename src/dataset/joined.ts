import type { RowRecord } from '../store/index.ts';
import { type Frame, type FrameSlice, frameSlices, type Range } from './frame-rows.ts';
import { recordRange, recordsAt } from './row-records.ts';

const PIECE_ROWS = 256;

/** Neighbouring rows of a frame with what is recorded of them. Places are within the slice. */
export interface JoinedPiece {
  readonly slice: FrameSlice;
  readonly from: number;
  readonly to: number;
  /** The record whose cells a row shows: its own, or that of the row whose key it repeats. */
  record(index: number): RowRecord | undefined;
}

/** The rows of a range with their records, in order, in pieces that are bounded by rows and by bytes of both sides. */
export async function* joinedPieces(frame: Frame, range: Range): AsyncGenerator<JoinedPiece> {
  const of = { reads: frame.reads, runNo: frame.runNo, datasetNo: frame.record.datasetNo };
  for await (const slice of frameSlices(frame, range)) {
    for (let start = 0; start < slice.length; start += PIECE_ROWS) {
      const from = slice.first + start;
      const to = Math.min(slice.first + slice.length, from + PIECE_ROWS);
      for await (const piece of recordRange(of, { from, to })) {
        const records = new Map(piece.records.map((record) => [record.ordinal, record]));
        const repeated = new Set<number>();
        for (let ordinal = piece.from; ordinal < piece.to; ordinal++) {
          const repeats = slice.repeats[ordinal - slice.first] ?? -1;
          if (repeats >= 0) repeated.add(repeats);
        }
        const firsts = await recordsAt(
          of,
          [...repeated].sort((left, right) => left - right),
        );
        yield {
          slice,
          from: piece.from - slice.first,
          to: piece.to - slice.first,
          record: (index) => {
            const repeats = slice.repeats[index] ?? -1;
            return repeats >= 0 ? firsts.get(repeats) : records.get(slice.first + index);
          },
        };
      }
    }
  }
}
