import type { Failure } from './port.ts';

type NetworkKind = NonNullable<Failure['networkKind']>;

export interface NetworkFailure {
  readonly networkKind: NetworkKind;
  /** What happened, in words that follow a request: 'could not be sent: connection refused'. */
  readonly said: string;
}

const KINDS: Readonly<Record<string, NetworkKind>> = {
  ENOTFOUND: 'dns',
  ECONNREFUSED: 'refused',
  EHOSTUNREACH: 'refused',
  EHOSTDOWN: 'refused',
  ENETUNREACH: 'refused',
  ENETDOWN: 'refused',
  EADDRNOTAVAIL: 'refused',
  EACCES: 'refused',
  EPERM: 'refused',
  ETIMEDOUT: 'timeout',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'truncated',
  UND_ERR_HEADERS_OVERFLOW: 'truncated',
  EPROTO: 'tls',
};

const WORDS: Readonly<Record<NetworkKind, string>> = {
  dns: 'the host name is not known',
  refused: 'the connection was refused',
  tls: 'no secure connection could be made',
  reset: 'the connection was reset',
  timeout: 'the connection timed out',
  truncated: 'the answer is damaged or was cut off',
};

/** What a socket's or undici's error means. `answering` is true once the head of an answer has arrived. */
export function networkFailure(error: unknown, answering: boolean): NetworkFailure {
  const code = codeOf(error);
  const kind = kindOf(code);
  // Whatever breaks a connection in the middle of an answer, what was received is a part.
  const networkKind = answering && kind === 'reset' ? 'truncated' : kind;
  return { networkKind, said: code === undefined ? WORDS[networkKind] : `${WORDS[networkKind]} (${code})` };
}

function kindOf(code: string | undefined): NetworkKind {
  if (code === undefined) return 'reset';
  const known = KINDS[code];
  if (known !== undefined) return known;
  if (code.startsWith('EAI_')) return 'dns';
  if (code.startsWith('HPE_')) return 'truncated';
  // OpenSSL's verification results (`SELF_SIGNED_CERT_IN_CHAIN`, `UNABLE_TO_VERIFY_LEAF_SIGNATURE` …) and Node's own.
  if (/^ERR_(TLS|SSL)_|CERT|^UNABLE_TO_|CRL|^INVALID_(CA|PURPOSE)|HOSTNAME_MISMATCH/.test(code)) return 'tls';
  return 'reset';
}

/** Node tries several addresses of a host and then reports all failures in one AggregateError. */
function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { code, errors } = error as { code?: unknown; errors?: unknown };
  if (typeof code === 'string') return code;
  return Array.isArray(errors) ? codeOf(errors[0]) : undefined;
}
