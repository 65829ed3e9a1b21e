import { newId } from '../../schemas/ids.ts';
import { ALERTS, CIRCLE, raise, SUBSCRIBE, startAlertService, subscribe } from '../support/service/alerts.ts';
import { changePlan, creditsUsed, strangersKey } from '../support/service/portfolio.ts';
import { type RunningService, SERVICE_NOW_MS } from '../support/service/service.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';
import { answerOf, sending } from '../support/service/webhooks.ts';

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

test('a subscription with a missing, foreign or bad field is refused, and nothing is made or charged', async (t) => {
  for (const [change, pointer] of [
    [{ lat: undefined }, '/lat:'],
    [{ lon: undefined, lng: -97 }, '/lng:'],
    [{ lat: 90.1 }, '/lat:'],
    [{ lat: '35' }, '/lat:'],
    [{ webhook_url: undefined }, '/webhook_url:'],
    [{ webhook_url: 'http://hooks.example.com' }, '/webhook_url: is not https'],
    [{ radius_km: 0.99 }, '/radius_km:'],
    [{ radius_km: 100.1 }, '/radius_km:'],
    [{ min_mesh_mm: 9.9 }, '/min_mesh_mm:'],
    [{ min_size_mm: 200.1 }, '/min_size_mm:'],
    [{ min_mesh_mm: 30, min_size_mm: 31 }, '/min_mesh_mm: differs'],
    [{ name: 7 }, '/name:'],
  ] as const) {
    const answer = await answerOf(t.context, SUBSCRIBE, sending('POST', { ...CIRCLE, ...change }));
    t.like(answer, { status: 400, body: { error: 'bad_request' } });
    t.true(String(answer.body.message).startsWith(pointer), String(answer.body.message));
  }
  t.is(await creditsUsed(t.context), 0);
  t.like(await answerOf(t.context, ALERTS), { body: { count: 0 } });
});

test('the 101st subscription of a business is refused', async (t) => {
  const { id } = await t.context.records.reader.selectFrom('businesses').select('id').executeTakeFirstOrThrow();
  await subscribe(t.context);
  const row = await t.context.records.reader.selectFrom('subscriptions').selectAll().executeTakeFirstOrThrow();
  const more = Array.from({ length: 98 }, () => ({ ...row, id: newId('subscription', SERVICE_NOW_MS) }));
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
  const original = await ask();
  const first = await original.text();
  const again = await ask();
  t.is(again.headers.get('Idempotent-Replay'), 'true');
  const charged = [original, again].map(({ headers }) => headers.get('X-Credits-Charged'));
  t.deepEqual(charged, ['2', '0']);
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

interface Page {
  readonly subscriptions: readonly { readonly id: string; readonly name: string }[];
  readonly count: number;
  readonly next_cursor: string | null;
}

async function pageOf(service: RunningService, query: string): Promise<Page> {
  return (await service.json(`${ALERTS}${query}`)) as Page;
}

test('subscriptions come oldest first, without their secret', async (t) => {
  const ids = [await subscribe(t.context, { name: 'first' }), await subscribe(t.context, { name: 'second' })];
  const page = await pageOf(t.context, '');
  const shown = page.subscriptions.map(({ id }) => id);
  t.deepEqual(shown, ids);
  t.like(page, { count: 2, next_cursor: null });
  t.deepEqual(page.subscriptions[0], {
    id: ids[0] as string,
    name: 'first',
    lat: 35.4676,
    lon: -97.5164,
    radius_km: 25,
    min_size_mm: 25,
    webhook_url: 'https://hooks.example.com/hail',
    status: 'active',
    trigger_count: 0,
    created_at: '2026-05-02T00:55:00.000Z',
    last_triggered_at: null,
  });
});

test('a walk through the pages sees every subscription once, also when the one at a cursor is deleted', async (t) => {
  const ids: string[] = [];
  for (let k = 0; k < 5; k++) ids.push(await subscribe(t.context));
  const first = await pageOf(t.context, '?limit=2');
  t.is(first.next_cursor, ids[1] ?? null);
  await t.context.call(`${ALERTS}/${ids[1]}`, { method: 'DELETE' });
  const second = await pageOf(t.context, `?limit=2&cursor=${first.next_cursor}`);
  const third = await pageOf(t.context, `?limit=2&cursor=${second.next_cursor}`);
  const pages = [first, second, third].map(({ subscriptions }) => subscriptions.map(({ id }) => id));
  t.deepEqual(pages, [ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)]);
  t.is(third.next_cursor, null);
});

test('a list with a limit or cursor that cannot be is refused, and not charged', async (t) => {
  for (const query of ['limit=0', 'limit=101', 'limit=2.5', 'cursor=sub_unknown'])
    t.like(await answerOf(t.context, `${ALERTS}?${query}`), { status: 400, body: { error: 'invalid_parameter' } });
  t.is(await creditsUsed(t.context), 0);
});

test("another business's subscriptions are not listed, and its cursor is unknown", async (t) => {
  const key = await strangersKey(t.context);
  const id = await subscribe(t.context, {}, key);
  t.like(await pageOf(t.context, ''), { count: 0 });
  t.like(await answerOf(t.context, `${ALERTS}?cursor=${id}`), { status: 400 });
});

test('a subscription is read with its alerts, newest first', async (t) => {
  const id = await subscribe(t.context);
  const past = await raise(t.context, id, {
    status: 'resolved',
    open_location: null,
    triggered_at: '2026-05-01T20:40:00.000Z',
    resolved_at: '2026-05-01T21:30:00.000Z',
    track_id: '20260501-t1',
  });
  const open = await raise(t.context, id);
  const { status, body } = await answerOf(t.context, `${ALERTS}/${id}`);
  t.is(status, 200);
  t.like(body, { id, status: 'active', trigger_count: 0 });
  t.false('webhook_secret' in body);
  const common = { estimated_size_mm: 30, max_size_mm: 40, confidence: 0.7, location: { lat: 35.5, lon: -97.5 } };
  t.deepEqual(body.recent_alerts, [
    {
      alert_id: open.id,
      status: 'open',
      threat_level: 'HIGH',
      triggered_at: '2026-05-02T00:55:00Z',
      resolved_at: null,
      ...common,
      track_id: null,
    },
    {
      alert_id: past.id,
      status: 'resolved',
      threat_level: 'CLEAR',
      triggered_at: '2026-05-01T20:40:00Z',
      resolved_at: '2026-05-01T21:30:00Z',
      ...common,
      track_id: '20260501-t1',
    },
  ]);
});

test('a subscription shows its last 20 alerts', async (t) => {
  const id = await subscribe(t.context);
  for (let k = 10; k < 32; k++)
    await raise(t.context, id, { status: 'closed', open_location: null, triggered_at: `2026-05-01T20:${k}:00.000Z` });
  const { body } = await answerOf(t.context, `${ALERTS}/${id}`);
  const recent = body.recent_alerts as { triggered_at: string }[];
  t.is(recent.length, 20);
  t.deepEqual([recent[0]?.triggered_at, recent.at(-1)?.triggered_at], ['2026-05-01T20:31:00Z', '2026-05-01T20:12:00Z']);
});

test("another business's subscription is not found, like one that never was", async (t) => {
  const id = await subscribe(t.context, {}, await strangersKey(t.context));
  const messages = [];
  for (const asked of [id, 'sub_01KAJ3W9QZ6R8V2T4X5Y7A9B0C', 'no%20id']) {
    const { status, body } = await answerOf(t.context, `${ALERTS}/${asked}`);
    t.deepEqual([status, body.error], [404, 'not_found']);
    messages.push(body.message);
  }
  t.is(messages[0], messages[1]);
});

test('only the fields that are sent change, and what is not the caller’s to change is ignored', async (t) => {
  const id = await subscribe(t.context, { name: 'Depot' });
  const before = (await answerOf(t.context, `${ALERTS}/${id}`)).body;
  const { recent_alerts: _, ...resource } = before;
  const fixed = { trigger_count: 7, last_triggered_at: 'x', lat: 1, created_at: null };
  for (const change of [
    { min_mesh_mm: 38, radius_km: 40 },
    { ...before, ...fixed, min_size_mm: 38, radius_km: 40 },
  ])
    t.deepEqual(await answerOf(t.context, `${ALERTS}/${id}`, sending('PATCH', change)), {
      status: 200,
      body: { ...resource, min_size_mm: 38, radius_km: 40 },
    });
  t.like(await answerOf(t.context, `${ALERTS}/${id}`, sending('PATCH', { radius_km: 50, webhook_secret: 'y' })), {
    status: 400,
    body: { error: 'bad_request' },
  });
  t.is(await creditsUsed(t.context), 2 + 1 + 2 + 2);
});

test('pausing closes the open alert silently and drops what was to be sent; active again changes nothing of that', async (t) => {
  const id = await subscribe(t.context);
  await raise(t.context, id);
  const paused = await answerOf(t.context, `${ALERTS}/${id}`, sending('PATCH', { status: 'paused' }));
  t.like(paused, { status: 200, body: { status: 'paused' } });
  const again = await answerOf(t.context, `${ALERTS}/${id}`, sending('PATCH', { status: 'paused' }));
  t.like(again, { status: 200, body: { status: 'paused' } });
  await answerOf(t.context, `${ALERTS}/${id}`, sending('PATCH', { status: 'active' }));
  const { body } = await answerOf(t.context, `${ALERTS}/${id}`);
  t.like(body, { status: 'active' });
  t.like((body.recent_alerts as object[])[0], { status: 'closed', resolved_at: null });
  t.deepEqual(await t.context.records.reader.selectFrom('messages').selectAll().execute(), []);
});

test('an open alert is closed by a change that it no longer meets, and by no other', async (t) => {
  for (const [change, status] of [
    [{ radius_km: 3.9 }, 'closed'],
    [{ min_size_mm: 40.1 }, 'closed'],
    [{ radius_km: 4, min_size_mm: 40 }, 'open'],
    [{ name: 'Roof' }, 'open'],
  ] as const) {
    const id = await subscribe(t.context);
    await raise(t.context, id);
    await answerOf(t.context, `${ALERTS}/${id}`, sending('PATCH', change));
    const { body } = await answerOf(t.context, `${ALERTS}/${id}`);
    t.like((body.recent_alerts as object[])[0], { status });
  }
});

test('a change without fields or with a bad one is refused, changes nothing and is not charged', async (t) => {
  const id = await subscribe(t.context);
  const before = await answerOf(t.context, `${ALERTS}/${id}`);
  const used = await creditsUsed(t.context);
  for (const [change, pointer] of [
    [{ colour: 'red' }, '/colour:'],
    [{ _colour: 'red' }, 'body:'],
    [{}, 'body:'],
    [{ name: ' ' }, '/name:'],
    [{ name: null }, '/name:'],
    [{ radius_km: 0.5 }, '/radius_km:'],
    [{ radius_km: 101 }, '/radius_km:'],
    [{ min_size_mm: 9 }, '/min_size_mm:'],
    [{ min_size_mm: 30, min_mesh_mm: 31 }, '/min_mesh_mm:'],
    [{ status: 'cancelled' }, '/status:'],
    [{ webhook_url: 'http://hooks.example.com' }, '/webhook_url:'],
  ] as const) {
    const answer = await answerOf(t.context, `${ALERTS}/${id}`, sending('PATCH', change));
    t.like(answer, { status: 400, body: { error: 'bad_request' } });
    t.true(String(answer.body.message).startsWith(pointer), String(answer.body.message));
  }
  t.is(await creditsUsed(t.context), used);
  t.deepEqual((await answerOf(t.context, `${ALERTS}/${id}`)).body, before.body);
});

test("another business's subscription is not found by a change, and stays", async (t) => {
  const id = await subscribe(t.context, { name: 'theirs' }, await strangersKey(t.context));
  const answer = await answerOf(t.context, `${ALERTS}/${id}`, sending('PATCH', { name: 'ours' }));
  t.like(answer, { status: 404, body: { error: 'not_found' } });
  const row = await t.context.records.reader.selectFrom('subscriptions').select('name').executeTakeFirst();
  t.deepEqual(row, { name: 'theirs' });
});

const DELETE = { method: 'DELETE' } as const;

test('a deleted subscription is gone for every later call, and its open alert closed', async (t) => {
  const id = await subscribe(t.context);
  await raise(t.context, id);
  t.deepEqual(await answerOf(t.context, `${ALERTS}/${id}`, DELETE), { status: 200, body: { success: true } });
  t.is(await creditsUsed(t.context), 2 + 1);
  for (const init of [undefined, DELETE, sending('PATCH', { status: 'active' })])
    t.like(await answerOf(t.context, `${ALERTS}/${id}`, init), { status: 404, body: { error: 'not_found' } });
  t.like(await answerOf(t.context, ALERTS), { body: { count: 0 } });
  t.like(await t.context.records.reader.selectFrom('alerts').selectAll().executeTakeFirst(), {
    status: 'closed',
    open_location: null,
  });
});

test("another business's subscription is not found by a deletion, and stays", async (t) => {
  const key = await strangersKey(t.context);
  const id = await subscribe(t.context, {}, key);
  t.like(await answerOf(t.context, `${ALERTS}/${id}`, DELETE), { status: 404, body: { error: 'not_found' } });
  t.like(await answerOf(t.context, `${ALERTS}/${id}`, { key }), { status: 200 });
});
