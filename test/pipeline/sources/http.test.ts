import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { fetchBytes, openWeb, Unavailable } from '../../../pipeline/sources/http.ts';

const MAX_BYTES = 1000;

async function serve(t: ExecutionContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/page`;
}

const MORNING = 'Fri, 01 May 2026 06:00:00 GMT';
const NOON = 'Fri, 01 May 2026 12:00:00 GMT';

for (const [title, header, condition, first, second] of [
  ['time of change', 'last-modified', 'if-modified-since', MORNING, NOON],
  ['entity tag', 'etag', 'if-none-match', '"a"', '"b"'],
] as const)
  test(`a page is sent again once its ${title} is another, and only then`, async (t) => {
    let version: string = first;
    const url = await serve(t, (request, response) => {
      response.setHeader(header, version);
      if (request.headers[condition] === version) response.writeHead(304).end();
      else response.end(`version ${version}`);
    });
    const web = openWeb('hail-test/1');
    const look = async () => {
      const page = await web.page(url, MAX_BYTES);
      if (typeof page === 'string') return page;
      page.confirm();
      return String(page.bytes);
    };
    t.deepEqual([await look(), await look()], [`version ${first}`, 'unchanged']);
    version = second;
    t.deepEqual([await look(), await look()], [`version ${second}`, 'unchanged']);
  });

test('a page that was not confirmed is sent again', async (t) => {
  const url = await serve(t, (request, response) => {
    response.setHeader('last-modified', MORNING);
    if (request.headers['if-modified-since'] === MORNING) response.writeHead(304).end();
    else response.end('page');
  });
  const web = openWeb('hail-test/1');
  for (const _ of [1, 2]) {
    const page = await web.page(url, MAX_BYTES);
    t.is(typeof page === 'string' ? page : page.modified_ms, Date.parse(MORNING));
  }
});

for (const status of [404, 410])
  test(`a page that its server answers with ${status} is missing`, async (t) => {
    const url = await serve(t, (_, response) => void response.writeHead(status).end('no such page'));
    t.is(await openWeb('hail-test/1').page(url, MAX_BYTES), 'missing');
  });

test('a page over its bound is unavailable, also without an announced length', async (t) => {
  const url = await serve(t, (request, response) => {
    if (request.headers.accept === 'text/plain') response.setHeader('content-length', MAX_BYTES + 1);
    response.end(Buffer.alloc(MAX_BYTES + 1));
  });
  const web = openWeb('hail-test/1');
  await t.throwsAsync(web.page(url, MAX_BYTES), { instanceOf: Unavailable, message: /answer is over 1000 bytes$/ });
  await t.throwsAsync(web.page(url, MAX_BYTES, 'text/plain'), { message: /announces 1001 bytes/ });
});

test('an answer that stalls is given up after its time and asked for again', async (t) => {
  let asked = 0;
  const url = await serve(t, (_, response) => {
    response.writeHead(200, { 'content-length': 5 });
    response.write('ha');
    if (asked++ > 0) response.end('il!');
  });
  const patience = { retries: 1, first_ms: 1, longest_ms: 1 };
  const { bytes } = await fetchBytes(url, { max_bytes: MAX_BYTES, allowed_ms: 300 }, { patience });
  t.deepEqual([String(bytes), asked], ['hail!', 2]);
});
