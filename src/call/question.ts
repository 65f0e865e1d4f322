import { canonicalJson, type Digest, digest, IDENTITY_FORMAT, NotJsonError, type Scope } from '../scope/index.ts';
import { CallsheetError, type Effect, type JsonValue, SecretLeakError } from '../sdk/index.ts';
import type { KnownInFamily } from '../store/index.ts';
import { type CatalogueTool, jobStartTool, type Validation } from '../tool/index.ts';
import type { CallRun } from './env.ts';
import type { AskedCall } from './request.ts';

/** A call with its identity: everything that decides where its answer comes from. */
export interface Question {
  readonly scope: Scope;
  readonly label: string;
  readonly tool: CatalogueTool;
  readonly input: JsonValue;
  readonly inputText: string;
  readonly inputDigest: Digest;
  readonly effect: Effect;
  readonly callId: Digest;
  /** The call's place whatever its input: of writes only. */
  readonly site: Digest | undefined;
  readonly receiptKey: Digest;
  /** Keys of compatible older versions, best first; empty for most tools. */
  readonly olderKeys: readonly Digest[];
  /** True for reads that may share an answer with other calls, stored or under way. */
  readonly shared: boolean;
  /** Asked anew on purpose: no stored answer serves. A write is only where whoever started the run named its tool. */
  readonly refreshed: boolean;
  /** Only receipts recorded at or after this instant (ms). */
  readonly notBefore: number | undefined;
  readonly timeoutMs: number;
  /** Of a keyed write that an equal failed call may have done: the key which that one went out under. */
  readonly operationKey?: string;
  /** Of a write: how it stood in the family when it was free to go out. */
  readonly known?: KnownInFamily;
  /** Of a write: what has come of it since proves that it was done, if it was begun. */
  readonly proved?: boolean;
}

/** Validates the input and gives the call its identity. Synchronous where the tool's schema is. */
export function questionOf(run: CallRun, scope: Scope, asked: AskedCall): Question | Promise<Question> {
  const known = run.process.catalogue.get(asked.toolId);
  const tool = asked.startOnly ? startOf(known, asked) : known;
  const validation = known.validateInput(asked.input);
  if (validation instanceof Promise)
    return validation.then((done) => identify(run, scope, { asked, tool, validation: done }));
  return identify(run, scope, { asked, tool, validation });
}

/** A caller that polls a job by hand gets what its start was answered. */
function startOf(tool: CatalogueTool, asked: AskedCall): CatalogueTool {
  const { async: job } = tool.definition;
  if (job !== undefined) return jobStartTool(tool, job);
  throw new CallsheetError(
    'CALL_REQUEST_INVALID',
    `Call '${asked.label}' of ${tool.id}: \`wait: 'caller'\` is for tools with \`async\`, and this one has none.`,
    { details: { tool: tool.id, call: asked.label }, next: ['Leave `wait` out: the call resolves to its answer.'] },
  );
}

interface Validated {
  readonly asked: AskedCall;
  readonly tool: CatalogueTool;
  readonly validation: Validation;
}

function identify(run: CallRun, scope: Scope, { asked, tool, validation }: Validated): Question {
  if (!validation.ok) throw refusedInput(run, { tool, asked }, validation.issues);
  const input = validation.value;
  const inputText = inputCanon(run, { tool, asked }, input);
  const inputDigest = digest(inputText);
  const call = `${JSON.stringify(asked.label)},${JSON.stringify(tool.id)},"${inputDigest}"`;
  const occurrence = scope.occurrence(call);
  const callId = scope.identity('call', `${call},${occurrence}`);
  const effect = tool.effectOf(input);
  const isAskedAnew = effect !== 'write' && (asked.refresh || asked.staleAfterSeconds === 0);
  const refreshed = isAskedAnew || isRefreshed(run, tool, effect);
  const stale = asked.staleAfterSeconds ?? tool.staleAfterSeconds;
  const keyOf = (version: string): Digest => receiptKeyOf({ run, tool, version, inputDigest, callId, effect });
  return {
    scope,
    label: asked.label,
    tool,
    input,
    inputText,
    inputDigest,
    effect,
    callId,
    site: effect === 'write' ? siteOf(scope, asked.label, tool) : undefined,
    receiptKey: keyOf(tool.version),
    olderKeys: tool.versions.length > 1 ? tool.versions.slice(1).map(keyOf) : NO_KEYS,
    shared: effect !== 'write' && tool.reuseScope !== 'never' && !refreshed,
    refreshed,
    notBefore: stale === undefined ? undefined : run.startedAt - stale * 1000,
    timeoutMs: asked.timeoutMs ?? tool.timeoutMs,
  };
}

/** Counts the writes of one label and tool at a scope, whatever is in them: as they are asked for. */
function siteOf(scope: Scope, label: string, tool: CatalogueTool): Digest {
  const site = `${JSON.stringify(label)},${JSON.stringify(tool.id)}`;
  return scope.identity('site', `${site},${scope.occurrence(`"site",${site}`)}`);
}

const NO_KEYS: readonly Digest[] = [];

function isRefreshed(run: CallRun, tool: CatalogueTool, effect: Effect): boolean {
  if (run.refresh === 'all') return effect !== 'write';
  return run.refresh.has(tool.id);
}

/** Keys under which a run of this id has its answer to the question: one for each version that serves. */
export function receiptKeysIn(run: CallRun, question: Question, runId: string): readonly Digest[] {
  const { play } = run;
  return question.tool.versions.map((version) => receiptKeyOf({ ...question, run: { runId, play }, version }));
}

export function receiptKeyOf(parts: {
  run: Pick<CallRun, 'runId' | 'play'>;
  tool: CatalogueTool;
  version: string;
  inputDigest: Digest;
  callId: Digest;
  effect: Effect;
}): Digest {
  const { run, tool, version, inputDigest, callId, effect } = parts;
  let reuse = '"workspace"';
  // The same message sent by another run, or twice on purpose, is another message.
  if (effect === 'write') reuse = `["write","${run.runId}","${callId}"]`;
  else if (tool.reuseScope === 'play') reuse = `["play",${JSON.stringify(run.play)}]`;
  else if (tool.reuseScope === 'run') reuse = `["run","${run.runId}"]`;
  return digest(`${receiptHead(tool, version)},"${inputDigest}",${tool.account.authScope},${reuse}]`);
}

const receiptHeads = new WeakMap<CatalogueTool, Map<string, string>>();

/** How the canonical text of every receipt key of a tool's version begins. */
function receiptHead(tool: CatalogueTool, version: string): string {
  let heads = receiptHeads.get(tool);
  if (heads === undefined) {
    heads = new Map();
    receiptHeads.set(tool, heads);
  }
  let head = heads.get(version);
  if (head === undefined) {
    head = `[${IDENTITY_FORMAT},"receipt",${JSON.stringify(tool.id)},${JSON.stringify(version)}`;
    heads.set(version, head);
  }
  return head;
}

/**
 * What goes out as the provider's idempotency key; the refusal number advances only after a definite refusal of what cannot have
 * been done under the key before. A write that the source of a rerun has begun is the same request there and here.
 */
export function operationKeyOf(run: CallRun, question: Question, refusals: number): string {
  const { scope, callId, effect, refreshed } = question;
  // A definite refusal says that it was not done: what goes out then has a key of its own.
  if (question.operationKey !== undefined && refusals === 0) return question.operationKey;
  const begunBy = effect === 'write' && !refreshed ? run.source?.beganIn(scope.place, callId) : undefined;
  return operationKeyFor(begunBy ?? run.runId, refusals, [subjectOf(question)]);
}

/** What tells an operation from others: for a batch, of all its members in order. */
export function operationKeyFor(runId: string, refusals: number, subjects: readonly Digest[]): string {
  return digest(`[${IDENTITY_FORMAT},"operation","${runId}",${refusals},"${subjects.join('","')}"]`);
}

/** A question that may be shared is the same whoever asks it; any other is its call's own. */
export function subjectOf({ shared, receiptKey, callId }: Pick<Question, 'shared' | 'receiptKey' | 'callId'>): Digest {
  return shared ? receiptKey : callId;
}

interface Refused {
  readonly tool: CatalogueTool;
  readonly asked: AskedCall;
}

function inputCanon(run: CallRun, refused: Refused, input: JsonValue): string {
  try {
    return canonicalJson(input);
  } catch (error) {
    if (!(error instanceof NotJsonError)) throw error;
    const field = error.path.replace(/^\$\.?/, '');
    throw refusedInput(run, refused, [{ path: field, message: `is ${error.found}, which is not JSON` }]);
  }
}

function refusedInput(
  run: CallRun,
  { tool, asked }: Refused,
  issues: readonly { path: string; message: string }[],
): CallsheetError {
  const handle = run.process.findSecretHandle(asked.input);
  if (handle !== undefined) return leak({ tool, asked }, handle.replace(/^\$\.?/, '') || '(the input itself)');
  const list = issues.slice(0, 5).map(({ path, message }) => `${path || 'input'}: ${message}`);
  return new CallsheetError(
    'TOOL_INPUT_INVALID',
    `Call '${asked.label}' of ${tool.id}: the input does not fit the tool. ${list.join('; ')}.`,
    {
      details: { tool: tool.id, call: asked.label, issues: issues.slice(0, 20) },
      next: [`callsheet tools describe ${tool.id}`],
    },
  );
}

function leak({ tool, asked }: Refused, field: string): SecretLeakError {
  return new SecretLeakError(
    `Call '${asked.label}' of ${tool.id}: the input field ${field} holds a secret handle. Tools read their own secrets.`,
    {
      details: { tool: tool.id, call: asked.label, field },
      next: [`Declare the secret in the tool's \`secrets\` and read it in \`request\`.`],
    },
  );
}
