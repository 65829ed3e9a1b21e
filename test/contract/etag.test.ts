import { midnight, NOW_MS, publishedRoot } from '../support/data/world.ts';
import { sampleEndpoints } from '../support/service/sample-endpoints.ts';
import { SERVICE_NOW_MS, startService } from '../support/service/service.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';

const test = testWith(
  async () => {
    const samples = sampleEndpoints();
    const clock = { ms: 0 };
    const service = await startService({
      endpoints: samples.endpoints,
      now: () => SERVICE_NOW_MS + clock.ms,
      app: { clock: { monotonic_ms: () => clock.ms, unix_ms: () => SERVICE_NOW_MS + clock.ms } },
    });
    return { service, samples, clock };
  },
  (t, { service }) => closeWithoutFailures(t, service),
);
const POINT = '/v1/sample/point?lat=1&lon=1';
const VERSION = '/v1/sample/version';

test('market data carry a weak tag and may be kept by the caller alone', async (t) => {
  const { headers } = await t.context.service.call(POINT);
  t.regex(headers.get('ETag') ?? '', /^W\/"[\w-]+"$/);
  t.is(headers.get('Cache-Control'), 'private, no-cache');
});

test('an unchanged answer is 304 without a body, with tag, caching and rate headers', async (t) => {
  const { service } = t.context;
  const tag = (await service.call(POINT)).headers.get('ETag') ?? '';
  const reply = await service.call(POINT, { headers: { 'If-None-Match': tag } });
  t.is(reply.status, 304);
  t.is(await reply.text(), '');
  t.is(reply.headers.get('ETag'), tag);
  t.is(reply.headers.get('Cache-Control'), 'private, no-cache');
  t.truthy(reply.headers.get('X-RateLimit-Remaining'));
  t.is(reply.headers.get('Content-Length'), null);
});

test('a second later the age differs, the tag does not', async (t) => {
  const { service, clock } = t.context;
  const first = await service.call(POINT);
  clock.ms = 1000;
  const second = await service.call(POINT);
  t.not(
    ((await first.json()) as { age_seconds: number }).age_seconds,
    ((await second.json()) as { age_seconds: number }).age_seconds,
  );
  t.is(first.headers.get('ETag'), second.headers.get('ETag'));
});

test('changed data change the tag', async (t) => {
  const { service, samples, clock } = t.context;
  const tag = (await service.call(POINT)).headers.get('ETag') ?? '';
  samples.value = 2;
  clock.ms = 1000;
  const reply = await service.call(POINT, { headers: { 'If-None-Match': tag } });
  t.is(reply.status, 200);
  t.not(reply.headers.get('ETag'), tag);
});

test('defaults written out make the same tag, other parameters another', async (t) => {
  const { service } = t.context;
  const tag = async (query: string) => (await service.call(`/v1/sample/point?${query}`)).headers.get('ETag');
  const usual = await tag('lat=1&lon=1');
  t.is(await tag('lon=1.0&lat=1&radius_km=50'), usual);
  t.not(await tag('lat=1&lon=2'), usual);
});

test('lists and * are understood, other tags are not ours', async (t) => {
  const { service } = t.context;
  const tag = (await service.call(VERSION)).headers.get('ETag') ?? '';
  const status = async (header: string) =>
    (await service.call(VERSION, { headers: { 'If-None-Match': header } })).status;
  t.is(await status(`"other", ${tag}`), 304);
  t.is(await status(tag.replace('W/', '')), 304);
  t.is(await status('*'), 304);
  t.is(await status('"other"'), 200);
});

test('where a version of the data stands for the answer, a 304 makes no answer', async (t) => {
  const { service, samples } = t.context;
  const tag = (await service.call(VERSION)).headers.get('ETag') ?? '';
  samples.made.clear();
  t.is((await service.call(`${VERSION}?format=json`, { headers: { 'If-None-Match': tag } })).status, 304);
  t.is(samples.made.size, 0);
  samples.version = 'v2';
  const changed = await service.call(`${VERSION}?format=json`, { headers: { 'If-None-Match': tag } });
  t.is(changed.status, 200);
  t.deepEqual(await changed.json(), { version: 'v2' });
});

test('an answer is made once per version, and once per second where only its content counts', async (t) => {
  const { service, samples, clock } = t.context;
  for (let n = 0; n < 3; n++) {
    await service.call(VERSION);
    await service.call(POINT);
    clock.ms += 300;
  }
  t.deepEqual([...samples.made.values()], [1, 1]);
  clock.ms += 200;
  await service.call(VERSION);
  await service.call(POINT);
  t.deepEqual(Object.fromEntries(samples.made), { '/v1/sample/version': 1, '/v1/sample/point': 2 });
});

test('a refusal under a tag stays a refusal', async (t) => {
  const reply = await t.context.service.call('/v1/sample/point?lat=x&lon=1', { headers: { 'If-None-Match': '*' } });
  t.is(reply.status, 400);
});

test('data answers say whether the data are simulated, 304 too; others do not', async (t) => {
  const root = await publishedRoot(t, (await midnight()).slice(0, 2));
  const service = await startService({ endpoints: t.context.samples.endpoints, data_root: root, now_ms: NOW_MS });
  const reply = await service.call(VERSION);
  t.is(reply.headers.get('X-Data-Source'), 'simulated');
  const headers = { 'If-None-Match': reply.headers.get('ETag') ?? '' };
  t.is((await service.call(VERSION, { headers })).headers.get('X-Data-Source'), 'simulated');
  t.is((await service.call('/v1/sample/items/known')).headers.get('X-Data-Source'), null);
  await service.close();
});
