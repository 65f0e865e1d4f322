import { frameName } from '../dataset/index.ts';
import type { JsonValue } from '../sdk/index.ts';
import type { RunRecord } from '../store/index.ts';
import type { ReportSource } from './reads.ts';
import { iso } from './run-json.ts';

/** A line of `runs events --json`. */
export interface EventJson {
  readonly seq: number;
  readonly at: string;
  readonly type: string;
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly dataset: string | null;
  /** The row's number, from 1. */
  readonly row: number | null;
  readonly data: JsonValue;
}

const PAGE = 1000;

/** The events of a run after `afterSeq`, in order; ends where the record ends. */
export async function* eventsOf(
  source: ReportSource,
  run: RunRecord,
  asked: { readonly afterSeq?: number; readonly type?: string | undefined } = {},
): AsyncGenerator<EventJson> {
  const keys = new Map<number, string>();
  for (let afterSeq = asked.afterSeq ?? 0; ; ) {
    const page = await source.report.events(run.no, { afterSeq, limit: PAGE, type: asked.type });
    const unknown = page.some(({ datasetNo }) => datasetNo !== null && datasetNo > 0 && !keys.has(datasetNo));
    if (unknown) for (const frame of await source.datasets.frames(run.no)) keys.set(frame.datasetNo, frameName(frame));
    for (const event of page) {
      const { seq, type, level, message, datasetNo, ordinal, data } = event;
      yield {
        seq,
        at: iso(event.at) ?? '',
        type,
        level,
        message,
        dataset: datasetNo === null ? null : (keys.get(datasetNo) ?? null),
        row: ordinal === null ? null : ordinal + 1,
        data: data === null ? null : (JSON.parse(data) as JsonValue),
      };
    }
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    afterSeq = last.seq;
  }
}
