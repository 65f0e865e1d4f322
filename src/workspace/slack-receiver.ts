import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CallsheetError, type JsonObject } from '../sdk/index.ts';
import { StoreConflict } from '../store/index.ts';
import { ALREADY_ANSWERED, type Interaction, readInteraction, type SlackReplies, slackReplies } from '../tool/index.ts';
import type { Workspace } from './open.ts';

export interface SlackReceiverOptions {
  /** 0 for a free one. */
  readonly port: number;
  /** A name beside those of loopback that requests may be for: the one of the tunnel that Slack comes through. */
  readonly host?: string | undefined;
  /** Told what people should know: what was answered, refused, or could not be replied. */
  readonly note?: (message: string) => void;
}

export interface SlackReceiver {
  /** What Slack's "Request URL" has to lead to. */
  readonly url: string;
  close(): Promise<void>;
}

type Served = Pick<Workspace, 'committer' | 'clock' | 'secrets'>;

interface Receiving {
  readonly workspace: Served;
  readonly signingSecret: string;
  readonly replies: SlackReplies;
  readonly mayAsk: (host: string) => boolean;
  readonly note: (message: string) => void;
  readonly underWay: Set<Promise<void>>;
}

const ADDRESS = '127.0.0.1';
const PATH = '/slack/interactions';
const MOST_BODY_BYTES = 1024 * 1024;
const LOOPBACK = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i;

/**
 * Listens on loopback for what people press in Slack and answers the waits: an answer is durable before Slack is told so.
 * Throws SECRET_MISSING without SLACK_SIGNING_SECRET, and PORT_TAKEN.
 */
export async function startSlackReceiver(workspace: Served, options: SlackReceiverOptions): Promise<SlackReceiver> {
  const signingSecret = workspace.secrets.read('SLACK_SIGNING_SECRET') ?? '';
  if (signingSecret === '')
    throw new CallsheetError('SECRET_MISSING', 'SLACK_SIGNING_SECRET is not set, so nobody could tell who asks.', {
      details: { secret: 'SLACK_SIGNING_SECRET' },
      next: ['callsheet secrets set SLACK_SIGNING_SECRET'],
    });
  const receiving: Receiving = {
    workspace,
    signingSecret,
    replies: slackReplies({ clock: workspace.clock }),
    mayAsk: (host) => LOOPBACK.test(host) || (options.host !== undefined && isHost(host, options.host)),
    note: options.note ?? (() => {}),
    underWay: new Set(),
  };
  const server = createServer((request, response) => take(receiving, request, response));
  await listen(server, options.port);
  const { port } = server.address() as AddressInfo;
  let closed: Promise<void> | undefined;
  return {
    url: `http://${ADDRESS}:${port}${PATH}`,
    close() {
      closed ??= close(server, receiving);
      return closed;
    },
  };
}

/** Whatever port the name is asked at. */
function isHost(host: string, allowed: string): boolean {
  return host.replace(/:\d+$/, '').toLowerCase() === allowed.replace(/:\d+$/, '').toLowerCase();
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      if (cause.code !== 'EADDRINUSE' && cause.code !== 'EACCES') return reject(cause);
      const problem = cause.code === 'EADDRINUSE' ? 'is in use' : 'may not be used by this user';
      const message = `The receiver for Slack can't listen: port ${port} ${problem}.`;
      const next = ['callsheet slack --port 0'];
      reject(new CallsheetError('PORT_TAKEN', message, { details: { port }, next, cause }));
    });
    server.listen(port, ADDRESS, resolve);
  });
}

async function close(server: Server, { underWay, replies }: Receiving): Promise<void> {
  const ended = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  await ended;
  await Promise.all(underWay);
  await replies.close();
}

function take(receiving: Receiving, request: IncomingMessage, response: ServerResponse): void {
  const refusal = refusalOf(receiving, request);
  if (refusal !== undefined) {
    say(response, refusal.status, refusal.message);
    return;
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= MOST_BODY_BYTES) chunks.push(chunk);
  });
  request.on('end', () => {
    if (bytes > MOST_BODY_BYTES) {
      say(response, 413, `At most ${MOST_BODY_BYTES} bytes.`);
      return;
    }
    const serving = serve(receiving, { request, response, rawBody: Buffer.concat(chunks) });
    receiving.underWay.add(serving);
    void serving.finally(() => receiving.underWay.delete(serving));
  });
}

function refusalOf(
  { mayAsk }: Receiving,
  { headers, url, method }: IncomingMessage,
): { readonly status: number; readonly message: string } | undefined {
  if (!mayAsk(headers.host ?? '')) return { status: 403, message: 'This name is not served here.' };
  if (url?.split('?')[0] !== PATH) return { status: 404, message: `Interactions go to ${PATH}.` };
  return method === 'POST' ? undefined : { status: 405, message: 'Use POST.' };
}

async function serve(
  receiving: Receiving,
  { request, response, rawBody }: { request: IncomingMessage; response: ServerResponse; rawBody: Buffer },
): Promise<void> {
  const { workspace, signingSecret, note } = receiving;
  const now = workspace.clock.now();
  const interaction = readInteraction({ headers: request.headers, rawBody, signingSecret, now });
  if (interaction.kind === 'refused') {
    note(`A request was refused: ${interaction.reason}.`);
    say(response, interaction.status, interaction.reason);
    return;
  }
  if (interaction.kind === 'other') {
    say(response, 200, '');
    return;
  }
  try {
    const reply = await deliver(receiving, interaction);
    answer(response, reply);
    await tell(receiving, interaction, reply);
  } catch (error) {
    // Not acknowledged: Slack tells whoever pressed, who may press again.
    note(
      `An answer to ${interaction.runId} could not be kept: ${error instanceof Error ? error.message : String(error)}`,
    );
    say(response, 500, 'The answer could not be kept.');
  }
}

type Answer = Extract<Interaction, { kind: 'answer' }>;

/** Resolves once the answer is durable, or is known to be none any more, to what Slack is told. */
async function deliver(
  { workspace, note }: Receiving,
  { runId, waitNo, payload, accepted }: Answer,
): Promise<JsonObject> {
  const { committer, clock } = workspace;
  const signal = {
    runId,
    event: 'slack',
    rowKey: null,
    waitNo,
    all: false,
    data: JSON.stringify(payload),
    at: clock.now(),
  };
  try {
    await committer.commit([{ kind: 'signal', signal }]);
    note(`${runId}: '${String(payload.selected_option)}' answered wait_${waitNo}.`);
    return accepted;
  } catch (error) {
    if (!(error instanceof StoreConflict)) throw error;
    note(`${runId}: an answer to wait_${waitNo} came too late or twice.`);
    return ALREADY_ANSWERED;
  }
}

/** Slack reads what becomes of a message from the response_url, and not from the acknowledgement, for Block Kit. */
async function tell({ replies, note }: Receiving, { responseUrl, runId }: Answer, reply: JsonObject): Promise<void> {
  if (responseUrl === undefined) return;
  const problem = await replies.send(responseUrl, reply);
  if (problem !== undefined) note(`${runId}: the card could not be changed: ${problem}. The answer is kept.`);
}

function answer(response: ServerResponse, reply: JsonObject): void {
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify(reply));
}

function say(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' });
  response.end(message);
}
