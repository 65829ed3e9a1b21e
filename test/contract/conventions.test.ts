import { sendRaw } from '../support/service/raw-http.ts';
import { sampleEndpoints } from '../support/service/sample-endpoints.ts';
import { startService } from '../support/service/service.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';

const test = testWith(
  async () => {
    const samples = sampleEndpoints();
    return { samples, service: await startService({ endpoints: samples.endpoints }) };
  },
  (t, { service }) => closeWithoutFailures(t, service),
);
const POINT = '/v1/sample/point';

/** Status, code and message of an answer. */
async function told(reply: Response): Promise<string> {
  const { error, message } = (await reply.json()) as { error?: string; message?: string };
  return error === undefined ? String(reply.status) : `${reply.status} ${error}: ${message}`;
}

for (const [query, answer] of [
  ['lat=35&lon=-97', '200'],
  ['lat=35&lon=-97&unknown=1&lat2=2', '200'],
  ['lat=3.5e1&lon=-97.0', '200'],
  ['lon=-97', '400 invalid_parameter: lat is required, expected a number from -90 to 90'],
  ['lat=&lon=-97', "400 invalid_parameter: lat is '', expected a number from -90 to 90"],
  ['lat=+35&lon=-97', "400 invalid_parameter: lat is ' 35', expected a number from -90 to 90"],
  ['lat=0x10&lon=-97', "400 invalid_parameter: lat is '0x10', expected a number from -90 to 90"],
  ['lat=35&lat=36&lon=-97', '400 invalid_parameter: lat is given more than once, expected a number from -90 to 90'],
  ['lat=35&lng=-97', '400 invalid_parameter: lon is required, expected a number from -180 to 180 (use lon)'],
  [
    'lat=-97&lon=35',
    "400 invalid_parameter: lat is '-97', expected a number from -90 to 90 (lat and lon look swapped)",
  ],
  ['lat=35&lon=-97&radius_km=0', "400 invalid_parameter: radius_km is '0', expected a number above 0, up to 150"],
  ['lat=35&lon=-97&radius_km=151', "400 invalid_parameter: radius_km is '151', expected a number above 0, up to 150"],
  ['lat=35&lon=-97&radius_km=%FF', "400 invalid_parameter: radius_km is '%FF', expected percent-encoded UTF-8"],
  [
    'lat=35&lon=-97&radius_km=1%E2%80%A8%E2%80%AE%1B2',
    String.raw`400 invalid_parameter: radius_km is '1\u{2028}\u{202e}\u{1b}2', expected a number above 0, up to 150`,
  ],
  ['lat=35&lon=-97&radius_km=%00', "400 invalid_parameter: radius_km is '%00', expected no NUL character"],
  ['lat=35&lon=-97&unknown%00name', "400 invalid_parameter: query holds 'unknown%00name', expected no NUL character"],
  ['lat=35&lon=-97&%', "400 invalid_parameter: query holds '%', expected percent-encoded UTF-8"],
] as const)
  test(`?${query} is ${answer.split(':')[0]}`, async (t) => {
    t.is(await told(await t.context.service.call(`${POINT}?${query}`)), answer);
  });

test('a path id that cannot exist is 404 like one that does not', async (t) => {
  const { service } = t.context;
  const bodies = [];
  for (const id of ['unknown', 'a.b', 'a%20b', 'x'.repeat(65), '%2e%2e'])
    bodies.push(await service.call(`/v1/sample/items/${id}`));
  t.deepEqual(
    bodies.map(({ status }) => status),
    [404, 404, 404, 404, 404],
  );
});

test('a trailing slash is the same route, empty and dot segments are 404', async (t) => {
  const { service } = t.context;
  const raw = (path: string) =>
    sendRaw(
      service.url,
      `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.live_key}\r\nConnection: close\r\n\r\n`,
    );
  t.is((await raw('/v1/sample/items/known/')).status, 200);
  t.is((await raw('http://example.com/v1/sample/items/known')).status, 200);
  for (const path of [
    '/v1//sample/items/known',
    '/v1/sample/./items/known',
    '/v1/x/../sample/items/known',
    '/v1/sample/items/known//',
  ])
    t.is((await raw(path)).status, 404, path);
});

for (const [what, body, answer] of [
  [
    'a place out of range',
    {
      locations: [
        { lat: 1, lon: 1 },
        { lat: 91, lon: 1 },
      ],
    },
    '/locations/1/lat: ',
  ],
  ['a number in quotes', { locations: [{ lat: '1', lon: 1 }] }, '/locations/0/lat: '],
  ['no places', { locations: [] }, '/locations: '],
  ['nothing of what is required', {}, '/locations: '],
] as const)
  test(`a body with ${what} is 400 bad_request, its message beginning with the pointer`, async (t) => {
    const reply = await t.context.service.call('/v1/sample/batch', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    const { error, message } = (await reply.json()) as { error: string; message: string };
    t.deepEqual([reply.status, error], [400, 'bad_request']);
    t.true(message.startsWith(answer), message);
  });

test('swapped coordinates in a body are recognised', async (t) => {
  const reply = await t.context.service.call('/v1/sample/batch', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ locations: [{ lat: -97.5, lon: 35.4 }] }),
  });
  t.regex(await told(reply), /\/locations\/0\/lat: .*\(lat and lon look swapped\)$/);
});

test('null in a POST body means absent, unknown fields are ignored', async (t) => {
  const reply = await t.context.service.call('/v1/sample/batch', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{"locations":[{"lat":1,"lon":2,"id":null,"colour":"red"}],"more":{}}',
  });
  t.is(await told(reply), '200');
});

test('what is null and may not be absent is said to be null', async (t) => {
  const reply = await t.context.service.call('/v1/sample/batch', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{"locations":[{"lat":1,"lon":null}]}',
  });
  t.regex(await told(reply), /\/locations\/0\/lon: expected number, received null$/);
});

test('every answer has its own request id, errors in the body too, and never the client’s', async (t) => {
  const { service } = t.context;
  const headers = { 'X-Request-Id': 'mine' };
  const good = await service.call('/v1/sample/items/known', { headers });
  const bad = await service.call('/v1/nothing', { headers });
  const { request_id } = (await bad.json()) as { request_id: string };
  t.regex(good.headers.get('X-Request-Id') ?? '', /^req_[0-9A-HJKMNP-TV-Z]{26}$/);
  t.is(bad.headers.get('X-Request-Id'), request_id);
  t.not(good.headers.get('X-Request-Id'), request_id);
});

test('answers above 1 KB are compressed when the client takes gzip, and say what they vary by', async (t) => {
  const { service } = t.context;
  const path = (pad: number) => `${POINT}?lat=1&lon=1&pad=${pad}`;
  const large = await service.call(path(5000), { headers: { 'Accept-Encoding': 'gzip' } });
  t.is(large.headers.get('Content-Encoding'), 'gzip');
  t.is(large.headers.get('Vary'), 'Accept-Encoding, Authorization');
  t.true(Number(large.headers.get('Content-Length')) < 500);
  t.is(((await large.json()) as { pad: string }).pad.length, 5000);
  const small = await service.call(path(500), { headers: { 'Accept-Encoding': 'gzip' } });
  t.is(small.headers.get('Content-Encoding'), null);
  const plain = await service.call(path(5000), { headers: { 'Accept-Encoding': 'identity' } });
  t.is(plain.headers.get('Content-Encoding'), null);
  t.is(((await plain.json()) as { pad: string }).pad.length, 5000);
});

test('answers may be read from any page, and are not to be sniffed, framed or run', async (t) => {
  const { headers } = await t.context.service.call('/v1/sample/items/known');
  t.is(headers.get('Access-Control-Allow-Origin'), '*');
  t.regex(
    headers.get('Access-Control-Expose-Headers') ?? '',
    /ETag.*Retry-After.*X-RateLimit-Remaining.*Idempotent-Replay.*X-Request-Id/,
  );
  t.is(headers.get('X-Content-Type-Options'), 'nosniff');
  t.is(headers.get('Content-Security-Policy'), "default-src 'none'; frame-ancestors 'none'");
  t.is(headers.get('Server'), null);
  t.is(headers.get('X-Powered-By'), null);
});

test('what is not market data is not stored by anyone', async (t) => {
  t.is((await t.context.service.call('/v1/sample/items/known')).headers.get('Cache-Control'), 'no-store');
  t.is((await t.context.service.call('/v1/nothing')).headers.get('Cache-Control'), 'no-store');
});

test('a public address of https asks for https from then on', async (t) => {
  const { service, samples } = t.context;
  const secure = await startService({
    endpoints: samples.endpoints,
    app: { services: { ...service.services, base_url: 'https://hail.example/v1' } },
  });
  t.is(
    (await secure.call('/v1/nothing', { key: service.live_key })).headers.get('Strict-Transport-Security'),
    'max-age=31536000',
  );
  await secure.close();
});

test('lng in place of lon in a body gets the hint', async (t) => {
  const reply = await t.context.service.call('/v1/sample/batch', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ locations: [{ lat: 35.4, lng: -97.5 }] }),
  });
  t.regex(await told(reply), /\/locations\/0\/lon: .*\(use lon\)$/);
});
