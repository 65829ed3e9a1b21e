import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SecureVersion, TLSSocket } from 'node:tls';
import { selfSigned } from '../../../api/commands/webhook-listen.ts';

/** What a receiver was sent. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The name by which it was called in TLS; false: none. */
  readonly servername: string | false | null;
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>;

interface ReceiverOptions {
  /** Names beside 127.0.0.1 that it proves to be. */
  readonly names?: readonly string[];
  readonly newest_tls?: SecureVersion;
  /** Its key and certificate, PEM; new ones when left out. */
  readonly certificate?: Awaited<ReturnType<typeof selfSigned>>;
  /** A free one when left out. */
  readonly port?: number;
}

/** What ends with a test, or with a bench. */
interface Scope {
  readonly teardown: (end: () => void | Promise<void>) => void;
}

/** A receiver of webhooks on this machine, over TLS. */
export async function startReceiver(t: Scope, options: ReceiverOptions = {}) {
  const { names = [], newest_tls, certificate = await selfSigned(names) } = options;
  const { key, cert } = certificate;
  const folder = await mkdtemp(join(tmpdir(), 'hail-receiver-'));
  const ca_file = join(folder, 'ca.pem');
  writeFileSync(ca_file, cert);
  // Old versions are spoken at the lowest security level only.
  const old =
    newest_tls === undefined
      ? {}
      : { minVersion: 'TLSv1' as const, maxVersion: newest_tls, ciphers: 'DEFAULT@SECLEVEL=0' };
  const server = createServer({ key, cert, ...old });
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket.once('close', () => sockets.delete(socket)));
  });
  server.on('request', (request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  t.teardown(async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
    await rm(folder, { recursive: true, force: true });
  });
  const receiver = {
    port,
    url: `https://127.0.0.1:${port}/hook`,
    /** PEM file of the authority that vouches for it. */
    ca_file,
    /** What a service is set to that may call it. */
    settings: { HAIL_WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8', HAIL_WEBHOOK_CA_FILE: ca_file },
    received: [] as Received[],
    /** Connections that it has accepted. */
    connections: () => connections,
    /** Resets every connection that is open. */
    reset: () => {
      for (const socket of sockets) socket.resetAndDestroy();
    },
    /** Resets the connection of one request: the one beneath TLS, which alone can be reset, has the same port at its other end. */
    resetOf: ({ req }: ServerResponse) => {
      for (const socket of sockets) if (socket.remotePort === req.socket.remotePort) socket.resetAndDestroy();
    },
    /** What it does with the next requests. */
    answer: (_: Received, response: ServerResponse): void => void response.end('thanks'),
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = request;
    const body = (await Array.fromAsync(request as AsyncIterable<Buffer>)).join('');
    const { servername } = request.socket as TLSSocket;
    const received = { method, path, headers, body, servername };
    receiver.received.push(received);
    receiver.answer(received, response);
  }
  return receiver;
}
