/** Input fields that all event tools of Callsheet's own have in common, as JSON Schema. */

/** How long an answer is waited for: '30m', '2h', '7d', or milliseconds; null or absent for ever. */
export const TIMEOUT = {
  anyOf: [
    { type: 'string', pattern: '^\\s*\\d+(\\.\\d+)?\\s*(ms|s|m|h|d)\\s*$' },
    { type: 'number', minimum: 0 },
    { type: 'null' },
  ],
} as const;

/** 'null' (default), 'fail' or 'park'. */
export const ON_TIMEOUT_MODE = { enum: ['null', 'fail', 'park'] } as const;
