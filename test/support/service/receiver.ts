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

/** A receiver of webhooks on this machine, over TLS. */
export interface Receiver {
  readonly port: number;
  /** `https://127.0.0.1:<port>/hook`. */
  readonly url: string;
  /** PEM file of the authority that vouches for it. */
  readonly ca_file: string;
  readonly received: Received[];
  /** Connections that it has accepted. */
  readonly connections: () => number;
  /** Resets every connection that is open. */
  readonly reset: () => void;
  /** Resets the connection of one request. */
  readonly resetOf: (response: ServerResponse) => void;
  /** What it does with the next requests: answers 200 until it is told otherwise. */
  answer: (request: Received, response: ServerResponse) => void;
}

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

export async function startReceiver(t: Scope, options: ReceiverOptions = {}): Promise<Receiver> {
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
  const receiver: Receiver = {
    port,
    url: `https://127.0.0.1:${port}/hook`,
    ca_file,
    received: [],
    connections: () => connections,
    reset: () => {
      for (const socket of sockets) socket.resetAndDestroy();
    },
    // The one beneath TLS, which alone can be reset, has the same port at its other end.
    resetOf: ({ req }) => {
      for (const socket of sockets) if (socket.remotePort === req.socket.remotePort) socket.resetAndDestroy();
    },
    answer: (_, response) => response.end('thanks'),
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
