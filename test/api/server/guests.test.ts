import test from 'ava';
import { getHealth } from '../../../api/routes/health.ts';
import { ENDPOINTS, GUEST_ENDPOINTS } from '../../../api/routes/index.ts';
import { GUEST_RATE_PER_MINUTE, GUESTS_AT_ONCE } from '../../../api/server/admit.ts';
import { startService } from '../../support/service/service.ts';
import { WHOLE_NOW_MS, wholeRoot } from '../../support/service/whole-service.ts';

const OPEN = [
  '/v1/tiles/scan',
  '/v1/tiles/daily?date=2026-05-01',
  '/v1/events?date_start=2026-05-01&date_end=2026-05-02',
];

async function service(t: { teardown: (end: () => Promise<void>) => void }, is_public = true) {
  const started = await startService({
    endpoints: ENDPOINTS,
    data_root: await wholeRoot(),
    now_ms: WHOLE_NOW_MS,
    app: is_public ? { guestEndpoints: GUEST_ENDPOINTS } : {},
  });
  t.teardown(started.close);
  return started;
}

const used = async ({ json }: { json: (path: string) => Promise<unknown> }) =>
  ((await json('/v1/usage')) as { credits: { used: number } }).credits.used;

test('where the operator opens the map, tiles and hail days are listed without a key, and nobody is charged', async (t) => {
  const opened = await service(t);
  for (const path of OPEN) {
    const [guest, keyed] = [await opened.call(path, { key: null }), await opened.call(path)];
    t.is(guest.status, 200, path);
    t.deepEqual(await guest.json(), await keyed.json(), path);
  }
  const before = await used(opened);
  for (const path of OPEN) await opened.call(path, { key: null });
  t.is(await used(opened), before);
});

test('an answer that a guest has made is charged to the next caller with a key', async (t) => {
  const opened = await service(t);
  const before = await used(opened);
  await opened.call('/v1/tiles/scan', { key: null });
  await opened.call('/v1/tiles/scan');
  t.is((await used(opened)) - before, 3);
});

test('a caller with a wrong key is refused as everywhere, though no key would do', async (t) => {
  const { call } = await service(t);
  t.is((await call('/v1/tiles/scan', { key: 'hs_live_abcdefgh' })).status, 401);
});

test('nothing else is open without a key', async (t) => {
  const { call } = await service(t);
  for (const path of ['/v1/usage', '/v1/storms?lat=35&lon=-97', '/v1/hail/current?lat=35&lon=-97', '/v1/tiles/none'])
    t.is((await call(path, { key: null })).status, 401, path);
  t.is((await call('/v1/tiles/scan', { key: null, method: 'POST' })).status, 401);
});

test('the map is closed without a key unless the operator opens it', async (t) => {
  const { call } = await service(t, false);
  for (const path of OPEN) t.is((await call(path, { key: null })).status, 401, path);
});

test('an address without a key has a rate of its own, and refusals say when it may call again', async (t) => {
  const { call } = await service(t);
  const answers = await Promise.all(
    Array.from({ length: GUEST_RATE_PER_MINUTE + 1 }, () => call('/v1/tiles/scan', { key: null })),
  );
  const refused = answers.filter(({ status }) => status !== 200);
  t.is(refused.length, 1);
  t.is(refused[0]?.status, 429);
  t.regex(refused[0]?.headers.get('Retry-After') ?? '', /^\d+$/);
  t.is(answers[0]?.headers.get('X-RateLimit-Limit'), String(GUEST_RATE_PER_MINUTE));
  t.is((await call('/v1/tiles/scan')).status, 200, 'callers with a key have their own');
});

test('however many guests ask, a caller with a key does not wait for them', async (t) => {
  const gate = Promise.withResolvers<void>();
  let begun = 0;
  const slow = {
    ...getHealth,
    answer: async (question: Parameters<typeof getHealth.answer>[0]) => {
      if (question.caller.business_id !== 'guest') return getHealth.answer(question);
      begun += 1;
      await gate.promise;
      return getHealth.answer(question);
    },
  };
  const { call, close } = await startService({
    endpoints: [slow],
    data_root: await wholeRoot(),
    now_ms: WHOLE_NOW_MS,
    app: { guestEndpoints: [slow] },
  });
  t.teardown(close);
  const guests = Array.from({ length: 10 }, () => call('/v1/health', { key: null }));
  t.is((await call('/v1/health')).status, 200);
  t.is(begun, GUESTS_AT_ONCE);
  gate.resolve();
  for (const answer of await Promise.all(guests)) t.is(answer.status, 200);
});
