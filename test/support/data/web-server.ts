import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';

/** What a path answers: a text, or whatever a function makes of the request. */
export type Answer = string | ((request: IncomingMessage, response: ServerResponse) => void);

export interface WebServer {
  readonly url: string;
  /** Answers by path, without the query; every other path is 404. */
  readonly answers: Map<string, Answer>;
  /** Paths with queries, in the order in which they were asked for. */
  readonly asked: string[];
}

/** A server of public files; texts carry an entity tag and answer 304 to it. */
export async function startWebServer(
  t: ExecutionContext,
  answers: Readonly<Record<string, Answer>> = {},
): Promise<WebServer> {
  const known = new Map(Object.entries(answers));
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    const answer = known.get((request.url ?? '').split('?')[0] ?? '');
    if (answer === undefined) response.writeHead(404).end('no such page');
    else if (typeof answer === 'function') answer(request, response);
    else {
      const etag = `"${answer.length}-${answer.slice(0, 20).replaceAll(/[^\w]/g, '')}"`;
      if (request.headers['if-none-match'] === etag) response.writeHead(304, { etag }).end();
      else response.writeHead(200, { etag, 'content-length': Buffer.byteLength(answer) }).end(answer);
    }
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, answers: known, asked };
}
