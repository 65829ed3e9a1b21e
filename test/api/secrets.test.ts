import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { scratch } from '../support/data/world.ts';
import { sendRaw } from '../support/service/raw-http.ts';
import { startServe } from '../support/service/serve-child.ts';

/** Characters of a key that are secret: what follows the kind and the public id. */
const SECRET_FROM = 'hs_live_'.length + 8;

/** Requests that carry a key where none belongs, and those that carry it where it does. */
function misplaced(key: string): string[] {
  const authorized = `Authorization: Bearer ${key}`;
  const json = 'Content-Type: application/json';
  const request = (line: string, ...headers: string[]) => {
    const [head = '', body = ''] = line.split('\n');
    const length = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
    return `${[`${head} HTTP/1.1`, 'Host: x', 'Connection: close', ...headers, ...length].join('\r\n')}\r\n\r\n${body}`;
  };
  return [
    request('GET /v1/health', authorized),
    request('GET /v1/usage', authorized),
    request(`GET /v1/usage?key=${key}`),
    request(`GET /v1/usage?api_key=${key}`, authorized),
    request(`GET /v1/usage?period=${key}`, authorized),
    request(`GET /v1/hail/current?lat=${key}&lon=1`, authorized),
    request(`GET /v1/portfolio/locations?cursor=${key}`, authorized),
    request(`GET /v1/storms/${key}`, authorized),
    request(`GET /v1/${key}`, authorized),
    request(`GET /${key}`),
    request(`GET /%68s%5flive${key.slice('hs_live'.length)}`),
    request(`GET /tiles/${key}`),
    request(`GET /tiles/daily/${key}.pmtiles`),
    request(`${key} /v1/usage`, authorized),
    request('GET /v1/usage', `X-Api-Key: ${key}`),
    request('GET /v1/usage', `Authorization: ${key}`),
    request('GET /v1/usage', `Authorization: Basic ${key}`),
    request('GET /v1/usage', `Authorization: Bearer ${key}x`),
    request('GET /v1/usage', authorized, authorized),
    request('GET /v1/usage', authorized, `X-Request-Id: ${key}`),
    request('GET /v1/usage', authorized, `Accept: ${key}`),
    request('GET /v1/usage', authorized, `Cookie: key=${key}`),
    request(`POST /v1/portfolio/locations\n{"format":"json","data":"${key}`, authorized, json),
    request(`POST /v1/portfolio/locations\n${key}`, authorized, json),
    request(`POST /v1/portfolio/locations\n{"format":"${key}","data":[]}`, authorized, json),
    request('POST /v1/portfolio/locations\n{"format":"json","data":[]}', authorized, `Content-Type: ${key}`),
    request('POST /v1/portfolio/locations\n{"format":"json","data":[]}', authorized, json, `Content-Encoding: ${key}`),
    request(`GET /v1/usage?a=%${key}`, authorized),
    request(
      'POST /v1/portfolio/locations\n{"format":"json","data":[{"name":"Depot","lat":35,"lon":-97}]}',
      authorized,
      json,
      `Idempotency-Key: ${key}`,
    ),
  ];
}

function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

const SIGNATURE = 'Zq3_'.repeat(11).slice(1);

/** Addresses of files whose question mark a client, or something on its way, wrote in another way. */
const mangled = (signature: string) =>
  ['%3F', '%253F', ';', '/?'].map(
    (mark) => `GET /v1/files/exp_01KAJ4D2M8N6P4R2T0V8X6Z4B2${mark}exp=1&sig=${signature} HTTP/1.1\r\nHost: x\r\n\r\n`,
  );

test('no secret of a key stands in the log, in an answer or in the records, wherever clients put it', async (t) => {
  const folder = await scratch(t);
  const server = await startServe(folder);
  t.teardown(() => server.end('SIGKILL'));
  if (server.keys === null) throw new Error('the first start shows no keys');
  const secrets = Object.values(server.keys).map((key) => key.slice(SECRET_FROM));
  const holds = (text: string) => secrets.some((secret) => text.includes(secret));
  const told: string[] = [];
  for (const key of Object.values(server.keys))
    for (const request of misplaced(key)) {
      const answer = await sendRaw(server.url, request);
      const line = request.split('\r\n')[0]?.replaceAll(key, 'KEY');
      t.true(answer.status >= 200 && answer.status < 500, `${line} is ${answer.status}`);
      if (holds(answer.body) || holds([...answer.headers.values()].join())) told.push(`${line}: ${answer.body}`);
    }
  t.deepEqual(told, [], 'answers');
  for (const request of mangled(SIGNATURE)) t.true((await sendRaw(server.url, request)).status >= 400);
  await server.end('SIGTERM');
  const log = server.log();
  t.true(log.includes('Request:Answer:Sent'));
  t.deepEqual(log.split('\n').filter(holds), [], 'log');
  t.true(log.includes('&sig=…') && !log.includes(SIGNATURE), 'signatures in the log');
  const files = filesUnder(folder);
  t.true(files.some((file) => file.endsWith('hail.sqlite')));
  t.deepEqual(
    files.filter((file) => holds(readFileSync(file, 'latin1'))),
    [],
    'files',
  );
});
