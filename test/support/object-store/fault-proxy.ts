import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { StoreAddress } from '../../../schemas/object-store/client.ts';

/**
 * What happens to a request. A number: that status is answered, and the store sees nothing. `cut`: the answer ends after half of its
 * body. `lose-answer`: the store does its work, and the connection ends without an answer. `silent`: no answer, ever. `stale`: the
 * first answer to the same GET or HEAD is repeated, whatever the store holds by then. `wait_ms`: it comes later.
 */
export type Fault = number | 'cut' | 'lose-answer' | 'silent' | 'stale' | { readonly wait_ms: number };

/** A request that reached the proxy. `key`: its path and query behind the bucket. */
export interface SeenRequest {
  readonly method: string;
  readonly key: string;
}

interface Rule {
  readonly matches: (seen: SeenRequest) => boolean;
  readonly fault: Fault;
  left: number;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A proxy in front of a store that makes faults on demand. */
export interface FaultProxy {
  /** Address of a bucket through the proxy. */
  readonly through: (address: StoreAddress) => StoreAddress;
  /** Every request so far, in order. */
  readonly seen: readonly SeenRequest[];
  /** Has a fault happen to the next `times` requests that match; the earliest rule that matches applies. Returns how to end it. */
  readonly fault: (matches: Rule['matches'], fault: Fault, times?: number) => () => void;
  /** Lets everything through again. */
  readonly heal: () => void;
  readonly stop: () => Promise<void>;
}

/** Starts a proxy in front of the server of an address, on a free port. */
export async function runFaultProxy({ url }: Pick<StoreAddress, 'url'>): Promise<FaultProxy> {
  const target = new URL(url);
  const bucket = `/${target.pathname.split('/')[1]}/`;
  const seen: SeenRequest[] = [];
  const remembered = new Map<string, Answer>();
  let rules: Rule[] = [];

  const faultFor = (one: SeenRequest): Fault | null => {
    const rule = rules.find(({ matches, left }) => left > 0 && matches(one));
    if (rule === undefined) return null;
    rule.left -= 1;
    return rule.fault;
  };

  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const { method = 'GET', url: path = '/' } = incoming;
    const one = { method, key: decodeURIComponent(path.startsWith(bucket) ? path.slice(bucket.length) : path) };
    seen.push(one);
    const fault = faultFor(one);
    const sent = await bodyOf(incoming);
    if (fault === 'silent') return;
    if (typeof fault === 'number') {
      const code = fault === 503 ? 'SlowDown' : 'InternalError';
      outgoing.writeHead(fault, { 'content-type': 'application/xml' });
      outgoing.end(method === 'HEAD' ? undefined : `<Error><Code>${code}</Code></Error>`);
      return;
    }
    if (typeof fault === 'object' && fault !== null) await new Promise((resolve) => setTimeout(resolve, fault.wait_ms));
    const name = `${method} ${path}`;
    const answer = (fault === 'stale' ? remembered.get(name) : undefined) ?? (await forward(target, incoming, sent));
    if (fault === 'stale') remembered.set(name, answer);
    if (fault === 'lose-answer') {
      outgoing.destroy();
      return;
    }
    const tag = incoming.headers['if-none-match'];
    const is_known = fault === 'stale' && tag !== undefined && tag === answer.headers.etag;
    const { 'transfer-encoding': _, ...headers } = answer.headers;
    outgoing.writeHead(is_known ? 304 : answer.status, headers);
    if (fault === 'cut') outgoing.write(answer.body.subarray(0, answer.body.length >> 1), () => outgoing.destroy());
    else outgoing.end(is_known ? undefined : answer.body);
  };

  const server = createServer((incoming, outgoing) => {
    serve(incoming, outgoing).catch(() => outgoing.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    through: (address) => ({ ...address, url: address.url.replace(target.origin, `http://127.0.0.1:${port}`) }),
    seen,
    fault: (matches, fault, times = Number.POSITIVE_INFINITY) => {
      const rule = { matches, fault, left: times };
      rules.push(rule);
      return () => {
        rule.left = 0;
      };
    },
    heal: () => {
      rules = [];
      remembered.clear();
    },
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function bodyOf(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** The store's answer; the name of the host stays the one that was signed. */
async function forward({ hostname, port }: URL, incoming: IncomingMessage, sent: Buffer): Promise<Answer> {
  const { method, url, headers } = incoming;
  const { 'transfer-encoding': _, ...kept } = headers;
  const length = sent.length > 0 || headers['content-length'] !== undefined ? { 'content-length': sent.length } : {};
  const upstream = request({ hostname, port, method, path: url, headers: { ...kept, ...length } });
  // Swift sends a body with its 404 to a HEAD, which Node reports after the answer; `once` throws what comes before one.
  upstream.on('error', () => {});
  upstream.end(sent);
  const [answer] = (await once(upstream, 'response')) as [IncomingMessage];
  return { status: answer.statusCode ?? 502, headers: answer.headers, body: await bodyOf(answer) };
}
