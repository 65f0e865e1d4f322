import { defineTool, type EventTimeoutMode, type JsonObject, type JsonValue, type Tool } from '../../sdk/index.ts';
import { ON_TIMEOUT_MODE, TIMEOUT } from './timeout-input.ts';

interface Asked {
  /** What somebody is to decide. */
  readonly message: string;
  /** The name that `callsheet signal --event` takes; 'human_approval' if none is given. */
  readonly event?: string;
  readonly timeout?: string | number | null;
  readonly on_timeout_mode?: EventTimeoutMode;
  /** What may be chosen; anything if none is given. */
  readonly choices?: readonly string[];
}

/**
 * Asks somebody and waits; sends nothing. The run event `approval.asked` says what is asked, and
 * `callsheet signal <run> --event human_approval --row <key> --data '{"approved":true}'` answers. Its data are the
 * answer's. With `choices` they are `{ choice, valid }`, beside the fields of an answer that is an object: the answer is
 * one of the choices, or an object with `choice`; another one is `{ choice: null, valid: false }`.
 */
export const humanApproval: Tool = defineTool<Asked>({
  id: 'human_approval',
  provider: 'human',
  description: 'asks somebody, who answers with callsheet signal; sends nothing',
  effect: 'read',
  input: {
    type: 'object',
    required: ['message'],
    additionalProperties: false,
    properties: {
      message: { type: 'string', minLength: 1 },
      event: { type: 'string', pattern: '\\S' },
      timeout: TIMEOUT,
      on_timeout_mode: ON_TIMEOUT_MODE,
      choices: { type: 'array', minItems: 1, uniqueItems: true, items: { type: 'string', minLength: 1 } },
    },
  },
  extract: { approved: 'data.approved', choice: 'data.choice' },
  event: {
    name: ({ event }) => event ?? 'human_approval',
    timeout: ({ timeout }) => timeout,
    mode: ({ on_timeout_mode: mode }) => mode,
    question: ({ message, choices }) => (choices === undefined ? message : `${message} (${choices.join(' / ')})`),
    onEvent: ({ payload, input }) => (input.choices === undefined ? payload : chosen(payload, input.choices)),
  },
});

function chosen(payload: JsonValue, choices: readonly string[]): JsonValue {
  const isObject = typeof payload === 'object' && payload !== null && !Array.isArray(payload);
  const fields: JsonObject = isObject ? (payload as JsonObject) : { choice: payload };
  const choice = choices.find((one) => one === fields.choice) ?? null;
  return { ...fields, choice, valid: choice !== null };
}
