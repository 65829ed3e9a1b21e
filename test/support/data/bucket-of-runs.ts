import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ModelServer } from '../../../pipeline/forecast/model-download.ts';

/** A request that the server received. */
export interface SeenRequest {
  readonly path: string;
  readonly range: string | undefined;
  readonly headers: IncomingMessage['headers'];
}

/** Answers a request and returns true, or returns false for the answer of the server. */
export type Interception = (seen: SeenRequest, response: ServerResponse, count: number) => boolean;

/** A local bucket of files with byte ranges and entity tags, and the requests that it received. */
export async function startModelServer(files: ReadonlyMap<string, Uint8Array>, intercept: Interception = () => false) {
  const seen: SeenRequest[] = [];
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '').slice(1);
    const asked = { path, range: request.headers.range, headers: request.headers };
    seen.push(asked);
    if (intercept(asked, response, seen.length)) return;
    const file = files.get(path);
    if (file === undefined) return void response.writeHead(404).end('absent');
    const etag = `"${path.length}-${file.length}"`;
    const wanted = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
    if (wanted === null) return void response.writeHead(200, { etag }).end(file);
    const start = Number(wanted[1]);
    const last = wanted[2] === '' ? file.length - 1 : Math.min(Number(wanted[2]), file.length - 1);
    if (start >= file.length) return void response.writeHead(416).end();
    response.writeHead(206, { etag, 'content-range': `bytes ${start}-${last}/${file.length}` });
    response.end(file.subarray(start, last + 1));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const access: ModelServer = {
    base_url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    user_agent: 'hail-test/1',
    network: { patience: { retries: 2, first_ms: 1, longest_ms: 2 }, sleep: async () => {} },
  };
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { access, seen, close };
}
