import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** What becomes of a COMMIT on its way to the server. */
type Fate =
  /** It arrives, and so does its answer. */
  | 'passes'
  /** It arrives; the connection is cut before its answer. */
  | 'cut after'
  /** The connection is cut before it arrives. */
  | 'cut before'
  /** It arrives; from then on nothing passes any more, on any connection. */
  | 'silent after'
  /** It is held back; from then on nothing passes any more, on any connection. */
  | 'silent before';

export type PostgresProxy = Awaited<ReturnType<typeof startProxy>>;

/** The simple query `commit` of the protocol: type, length, text, NUL. */
const COMMIT = Buffer.from('Q\0\0\0\u000bcommit\0', 'latin1');

/** Starts a TCP proxy before the PostgreSQL server of a URL, on a port of its own, which may cut or silence connections. */
export async function startProxy(server_url: string) {
  const target = new URL(server_url);
  const sockets = new Set<Socket>();

  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
    return socket;
  };

  const server = createServer((socket) => {
    const client = keep(socket);
    const upstream = keep(connect(Number(target.port), target.hostname));
    client.once('close', () => upstream.destroy());
    upstream.once('close', () => client.destroy());
    let lost: Fate = 'passes';
    client.on('data', (bytes) => {
      if (proxy.silent) return;
      const isCommit = bytes.includes(COMMIT);
      const fate = isCommit ? proxy.commits : 'passes';
      if (isCommit) proxy.commits_seen += 1;
      if (fate === 'cut before') client.destroy();
      else if (fate === 'silent before') proxy.silent = true;
      else {
        lost = fate;
        upstream.write(bytes);
      }
    });
    upstream.on('data', (bytes) => {
      if (proxy.silent) return;
      if (lost === 'passes') client.write(bytes);
      else if (lost === 'cut after') client.destroy();
      else proxy.silent = true;
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(server_url);
  url.port = String((server.address() as AddressInfo).port);
  url.hostname = '127.0.0.1';
  const proxy = {
    /** The address of the database through the proxy. */
    url: url.href,
    /** What becomes of the next commits. */
    commits: 'passes' as Fate,
    /** Commits that have come. */
    commits_seen: 0,
    /** True: nothing passes, on connections that are open and on new ones; false: it does again. */
    silent: false,
    /** Cuts what was silent, as a firewall that has forgotten its connections. */
    cut,
    close: async () => {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
  return proxy;
}
