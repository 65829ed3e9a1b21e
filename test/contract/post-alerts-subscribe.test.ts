import { ALERTS, CIRCLE, SUBSCRIBE, sending, startAlertService, subscribe } from '../support/service/alerts.ts';
import { changePlan, creditsUsed } from '../support/service/portfolio.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';
import { answerOf } from '../support/service/webhooks.ts';

const test = testWith(startAlertService, closeWithoutFailures);

test('a subscription is made active, with 25 km, 25 mm and no name unless it says otherwise', async (t) => {
  const { status, body } = await answerOf(t.context, SUBSCRIBE, sending('POST', CIRCLE));
  t.is(status, 200);
  const { id, webhook_secret, ...rest } = body;
  t.regex(String(id), /^sub_[0-9A-HJKMNP-TV-Z]{26}$/);
  t.regex(String(webhook_secret), /^whsec_[A-Za-z0-9+/]{43}=$/);
  t.deepEqual(rest, { ...CIRCLE, name: '', radius_km: 25, min_size_mm: 25, status: 'active' });
  t.is(await creditsUsed(t.context), 2);
});

test('the threshold may be called min_mesh_mm or min_size_mm, or both if they agree', async (t) => {
  for (const threshold of [{ min_mesh_mm: 38 }, { min_size_mm: 38 }, { min_mesh_mm: 38, min_size_mm: 38 }])
    t.like(await answerOf(t.context, SUBSCRIBE, sending('POST', { ...CIRCLE, ...threshold })), {
      body: { min_size_mm: 38 },
    });
});

test('a name longer than 100 characters is cut, by code points', async (t) => {
  const answer = await answerOf(t.context, SUBSCRIBE, sending('POST', { ...CIRCLE, name: '🐄'.repeat(101) }));
  t.is(answer.body.name, '🐄'.repeat(100));
});

test('the limits of radius and size are taken, and null is absent', async (t) => {
  for (const [field, value] of [
    ['radius_km', 1],
    ['radius_km', 100],
    ['min_mesh_mm', 10],
    ['min_mesh_mm', 200],
    ['name', null],
  ] as const)
    t.like(await answerOf(t.context, SUBSCRIBE, sending('POST', { ...CIRCLE, [field]: value })), { status: 200 });
});

for (const [what, change, pointer] of [
  ['without lat', { lat: undefined }, '/lat:'],
  ['with lng instead of lon', { lon: undefined, lng: -97 }, '/lon:'],
  ['with a latitude beyond a pole', { lat: 90.1 }, '/lat:'],
  ['with a latitude as text', { lat: '35' }, '/lat:'],
  ['without webhook_url', { webhook_url: undefined }, '/webhook_url:'],
  ['with a webhook_url that is refused', { webhook_url: 'http://hooks.example.com' }, '/webhook_url: is not https'],
  ['with a radius below 1 km', { radius_km: 0.99 }, '/radius_km:'],
  ['with a radius above 100 km', { radius_km: 100.1 }, '/radius_km:'],
  ['with a size below 10 mm', { min_mesh_mm: 9.9 }, '/min_mesh_mm:'],
  ['with a size above 200 mm', { min_size_mm: 200.1 }, '/min_size_mm:'],
  ['with two sizes that differ', { min_mesh_mm: 30, min_size_mm: 31 }, '/min_mesh_mm: differs'],
  ['with a name that is no text', { name: 7 }, '/name:'],
] as const)
  test(`a subscription ${what} is refused, and nothing is made or charged`, async (t) => {
    const answer = await answerOf(t.context, SUBSCRIBE, sending('POST', { ...CIRCLE, ...change }));
    t.like(answer, { status: 400, body: { error: 'bad_request' } });
    t.true(String(answer.body.message).startsWith(pointer), String(answer.body.message));
    t.is(await creditsUsed(t.context), 0);
    t.like(await answerOf(t.context, ALERTS), { body: { count: 0 } });
  });

test('the 101st subscription of a business is refused', async (t) => {
  const { id } = await t.context.records.reader.selectFrom('businesses').select('id').executeTakeFirstOrThrow();
  const first = await subscribe(t.context);
  const row = await t.context.records.reader.selectFrom('subscriptions').selectAll().executeTakeFirstOrThrow();
  const ids = Array.from({ length: 99 }, (_, k) => `${first.slice(0, -3)}${String(k).padStart(3, '0')}`);
  // The first may end in such a number by chance.
  const free = ids.filter((other) => other !== first).slice(0, 98);
  const more = free.map((other) => ({ ...row, id: other }));
  t.is(row.business_id, id);
  await t.context.records.transaction((rows) => rows.insertInto('subscriptions').values(more).execute());
  await subscribe(t.context);
  const answer = await answerOf(t.context, SUBSCRIBE, sending('POST', CIRCLE));
  t.like(answer, { status: 429, body: { error: 'resource_exhausted' } });
  t.regex(String(answer.body.message), /quota of 100 subscriptions/);
});

test('a business without real-time delivery makes no subscription, and may look at those it has', async (t) => {
  await changePlan(t.context, { features: ['exports'] });
  const answer = await answerOf(t.context, SUBSCRIBE, sending('POST', {}));
  t.like(answer, { status: 403, body: { error: 'feature_not_available' } });
  t.like(await answerOf(t.context, ALERTS), { status: 200, body: { count: 0 } });
});

test('the same idempotency key gives the same subscription and secret again, without a charge; neither lies open', async (t) => {
  const ask = () => t.context.call(SUBSCRIBE, sending('POST', CIRCLE, { 'Idempotency-Key': 'one' }));
  const first = await (await ask()).text();
  const again = await ask();
  t.is(again.headers.get('Idempotent-Replay'), 'true');
  t.is(await again.text(), first);
  t.is(await creditsUsed(t.context), 2);
  const { webhook_secret } = JSON.parse(first);
  const stored = [
    ...(await t.context.records.reader.selectFrom('idempotency').selectAll().execute()),
    ...(await t.context.records.reader.selectFrom('subscriptions').selectAll().execute()),
  ];
  t.is(stored.length, 2);
  t.false(JSON.stringify(stored).includes(webhook_secret));
});

test('GET /v1/alerts/subscribe is 405, not a subscription of that name', async (t) => {
  const answer = await t.context.call(SUBSCRIBE);
  t.is(answer.status, 405);
  t.is(answer.headers.get('Allow'), 'POST, OPTIONS');
  await answer.body?.cancel();
});
