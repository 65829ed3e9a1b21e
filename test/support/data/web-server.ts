import { once } from 'node:events';
import { createReadStream, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';
import type { ExecutionContext } from 'ava';

/** What a path answers: a text, or whatever a function makes of the request. */
export type Answer = string | ((request: IncomingMessage, response: ServerResponse) => unknown);

export type WebServer = Awaited<ReturnType<typeof startWebServer>>;

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
};

/**
 * Answers with the files below folders, by the first beginning of the path that fits: whole or the range that was asked for, to
 * pages of any origin.
 */
export function filesIn(folders: readonly (readonly [prefix: string, folder: string])[]): Answer {
  return (request, response) => {
    const path = normalize(new URL(request.url ?? '', 'http://folder').pathname);
    const [prefix, folder] = folders.find(([each]) => path.startsWith(each)) ?? ['/', '/missing'];
    const file = join(folder, path.slice(prefix.length));
    const bytes = statSync(file, { throwIfNoEntry: false })?.size;
    if (bytes === undefined) return response.writeHead(404).end();
    const [, first, last = ''] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
    const start = Number(first ?? 0);
    const end = Math.min(last === '' ? bytes - 1 : Number(last), bytes - 1);
    response.writeHead(first === undefined ? 200 : 206, {
      'access-control-allow-origin': '*',
      'access-control-allow-headers': 'Range',
      'access-control-expose-headers': 'ETag',
      etag: `"${bytes}"`,
      'content-type': TYPES[extname(file)] ?? 'application/octet-stream',
      'content-length': end - start + 1,
      ...(first === undefined ? {} : { 'content-range': `bytes ${start}-${end}/${bytes}` }),
    });
    if (request.method === 'OPTIONS') response.end();
    else createReadStream(file, { start, end }).pipe(response);
  };
}

/** A server of public files; texts carry an entity tag and answer 304 to it. `other` answers the paths without an answer. */
export async function startWebServer(
  t: ExecutionContext,
  answers: Readonly<Record<string, Answer>> = {},
  other: Answer = (_, response) => response.writeHead(404).end('no such page'),
) {
  const known = new Map(Object.entries(answers));
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    const answer = known.get((request.url ?? '').split('?')[0] ?? '') ?? other;
    if (typeof answer === 'function') answer(request, response);
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
  const { port } = server.address() as AddressInfo;
  /** Answers by path, without the query, and paths with queries in the order in which they were asked for. */
  return { url: `http://127.0.0.1:${port}`, answers: known, asked };
}

/** A port of this machine on which nothing listens. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
