import { canonicalJson, type Scope } from '../scope/index.ts';
import type { LogOptions } from '../sdk/index.ts';
import type { AttemptContext } from './attempt-context.ts';
import { refuseHandles } from './json-result.ts';

const LEVELS: readonly string[] = ['debug', 'info', 'warn', 'error'];

/** `ctx.log`: a run event that carries the row it comes from. */
export function logEvent(context: AttemptContext, scope: Scope, entry: { message: string; options: LogOptions }): void {
  const { message, options } = entry;
  refuseHandles(message, 'ctx.log');
  refuseHandles(options.context, 'ctx.log: context');
  const inRow = scope.inRow;
  context.emit({
    type: 'log',
    level: LEVELS.includes(options.level ?? 'info') ? (options.level ?? 'info') : 'info',
    message: String(message),
    datasetNo: inRow ? scope.place.datasetNo : null,
    ordinal: inRow ? scope.place.ordinal : null,
    data: options.context === undefined ? null : canonicalJson(options.context),
  });
}
