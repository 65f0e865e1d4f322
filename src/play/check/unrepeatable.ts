import { bindingOf, nameOf } from './names.ts';
import { child, list, propertyName, type SourceText, type Syntax, word } from './syntax.ts';

/** What gives something else each time, or reaches outside: what a replayed play must not do outside `ctx.step`. */
export interface GlobalUse {
  readonly kind: 'CLOCK' | 'CHANCE' | 'FILES' | 'NETWORK' | 'ENVIRONMENT' | 'TIMER';
  /** As the author wrote it. */
  readonly what: string;
}

type Kind = GlobalUse['kind'];

const MODULES: Readonly<Record<string, Kind>> = {
  fs: 'FILES',
  'fs/promises': 'FILES',
  child_process: 'FILES',
  http: 'NETWORK',
  https: 'NETWORK',
  net: 'NETWORK',
  timers: 'TIMER',
  'timers/promises': 'TIMER',
};
const CHANCE_OF_CRYPTO: ReadonlySet<string> = new Set(
  'randomUUID randomBytes randomInt randomFillSync getRandomValues'.split(' '),
);

/** What a call, `new` or property read uses of the outside; undefined for all else. Shadowed names don't count. */
export function globalUse(source: SourceText, node: Syntax): GlobalUse | undefined {
  if (node.type === 'CallExpression') return calledUse(source, node);
  if (node.type === 'NewExpression') {
    const callee = child(node, 'callee');
    const isNow = callee && isGlobal(source, callee, 'Date') && list(node, 'arguments').length === 0;
    return isNow ? { kind: 'CLOCK', what: 'new Date()' } : undefined;
  }
  if (node.type === 'MemberExpression' && propertyName(node) === 'env') {
    const object = child(node, 'object');
    if (object && isGlobal(source, object, 'process')) return { kind: 'ENVIRONMENT', what: 'process.env' };
  }
  return undefined;
}

function calledUse(source: SourceText, call: Syntax): GlobalUse | undefined {
  const callee = child(call, 'callee');
  if (callee?.type === 'MemberExpression') return methodUse(source, callee);
  const name = word(callee, 'name');
  if (callee === undefined || name === undefined) return undefined;
  const from = bindingOf(source, name, callee)?.from;
  if (from !== undefined) return moduleUse(from, name);
  if (isGlobal(source, callee, 'fetch')) return { kind: 'NETWORK', what: 'fetch()' };
  if (isGlobal(source, callee, 'Date')) return { kind: 'CLOCK', what: 'Date()' };
  if (/^set(Timeout|Interval|Immediate)$/.test(name) && isGlobal(source, callee, name))
    return { kind: 'TIMER', what: `${name}()` };
  return undefined;
}

function methodUse(source: SourceText, callee: Syntax): GlobalUse | undefined {
  const method = propertyName(callee);
  const object = child(callee, 'object');
  if (method === undefined || object === undefined) return undefined;
  // `fs.promises.readFile`, `process.hrtime.bigint`, `globalThis.fetch`
  const root = object.type === 'MemberExpression' ? (child(object, 'object') ?? object) : object;
  const what = `${source.text.slice(callee.start, callee.end).replace(/\s+/g, '')}()`;
  const from = root.type === 'Identifier' ? bindingOf(source, nameOf(root), root)?.from : undefined;
  if (from !== undefined) return moduleUse({ ...from, name: method }, what.slice(0, -2));
  const clock =
    (isGlobal(source, object, 'Date') && method === 'now') ||
    (isGlobal(source, object, 'performance') && method === 'now') ||
    (isGlobal(source, object, 'process') && method === 'hrtime') ||
    (isGlobal(source, root, 'process') && propertyName(object) === 'hrtime');
  if (clock) return { kind: 'CLOCK', what };
  if (isGlobal(source, object, 'Math') && method === 'random') return { kind: 'CHANCE', what };
  if (isGlobal(source, object, 'crypto') && CHANCE_OF_CRYPTO.has(method)) return { kind: 'CHANCE', what };
  if (isGlobal(source, object, 'globalThis') && method === 'fetch') return { kind: 'NETWORK', what };
  return undefined;
}

function moduleUse(from: { module: string; name: string }, what: string): GlobalUse | undefined {
  const module = from.module.replace(/^node:/, '');
  const shown = what.endsWith(')') ? what : `${what}()`;
  if (module === 'crypto') return CHANCE_OF_CRYPTO.has(from.name) ? { kind: 'CHANCE', what: shown } : undefined;
  if (module === 'perf_hooks') return { kind: 'CLOCK', what: shown };
  const kind = MODULES[module];
  return kind === undefined ? undefined : { kind, what: shown };
}

function isGlobal(source: SourceText, node: Syntax, name: string): boolean {
  return node.type === 'Identifier' && nameOf(node) === name && bindingOf(source, name, node) === undefined;
}
