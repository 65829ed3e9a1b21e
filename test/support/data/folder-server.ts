import { createReadStream, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';
import type { ExecutionContext } from 'ava';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
};

/** A server of folders by the beginning of the path, the first that fits; it answers range requests. Returns its address. */
export async function startFolderServer(
  t: ExecutionContext,
  folders: readonly (readonly [prefix: string, folder: string])[],
): Promise<string> {
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url ?? '', 'http://folder').pathname);
    const [prefix, folder] = folders.find(([each]) => path.startsWith(each)) ?? ['/', '/missing'];
    const file = join(folder, path.slice(prefix.length));
    const bytes = statSync(file, { throwIfNoEntry: false })?.size;
    if (bytes === undefined) return response.writeHead(404).end();
    const [, first, last = ''] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
    const start = Number(first ?? 0);
    const end = Math.min(last === '' ? bytes - 1 : Number(last), bytes - 1);
    response.writeHead(first === undefined ? 200 : 206, {
      'content-type': TYPES[extname(file)] ?? 'application/octet-stream',
      'content-length': end - start + 1,
      ...(first === undefined ? {} : { 'content-range': `bytes ${start}-${end}/${bytes}` }),
    });
    createReadStream(file, { start, end }).pipe(response);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
