import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net';
import { afterEach } from 'vitest';

export interface TestRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

const opened: (Server | TcpServer)[] = [];
const sockets = new Set<Socket>();

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await Promise.all(opened.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});

async function listening(server: Server | TcpServer): Promise<string> {
  opened.push(server);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A web server on 127.0.0.1 for one test; `requests` grows with each whole request. */
export async function webServer(
  answer: (response: ServerResponse, request: TestRequest) => void,
): Promise<{ readonly url: string; readonly requests: readonly TestRequest[] }> {
  const requests: TestRequest[] = [];
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const { method = '', url = '', headers } = incoming;
      const request = { method, url, headers, body: Buffer.concat(chunks) };
      requests.push(request);
      answer(response, request);
    });
  });
  return { url: `http://${await listening(server)}`, requests };
}

/** A bare TCP server on 127.0.0.1 for one test. `host` is its address and port. */
export async function tcpServer(
  connected: (socket: Socket) => void,
): Promise<{ readonly host: string; readonly connections: () => number }> {
  let count = 0;
  const server = createTcpServer((socket) => {
    count++;
    connected(socket);
  });
  return { host: await listening(server), connections: () => count };
}

/** Calls `then` once the head of a request has arrived on the socket. */
export function onRequestHead(socket: Socket, then: () => void): void {
  let text = '';
  socket.on('data', (chunk) => {
    const before = text.includes('\r\n\r\n');
    text += chunk.toString('latin1');
    if (!before && text.includes('\r\n\r\n')) then();
  });
}

/** A promise and the function that fulfils it. */
export function signalled(): { readonly done: Promise<void>; readonly signal: () => void } {
  let signal = (): void => {};
  const done = new Promise<void>((resolve) => {
    signal = resolve;
  });
  return { done, signal };
}
