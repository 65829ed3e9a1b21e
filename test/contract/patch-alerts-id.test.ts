import { ALERTS, raise, sending, startAlertService, subscribe } from '../support/service/alerts.ts';
import { creditsUsed, strangersKey } from '../support/service/portfolio.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';
import { answerOf } from '../support/service/webhooks.ts';

const test = testWith(startAlertService, closeWithoutFailures);

test('only the fields that are sent change, and what is not the caller’s to change stays', async (t) => {
  const id = await subscribe(t.context, { name: 'Depot' });
  const before = (await answerOf(t.context, `${ALERTS}/${id}`)).body;
  const change = {
    min_mesh_mm: 38,
    radius_km: 40,
    trigger_count: 7,
    last_triggered_at: 'x',
    webhook_secret: 'y',
    lat: 1,
  };
  const { status, body } = await answerOf(t.context, `${ALERTS}/${id}`, sending('PATCH', change));
  t.is(status, 200);
  const { recent_alerts: _, ...resource } = before;
  t.deepEqual(body, { ...resource, min_size_mm: 38, radius_km: 40 });
  t.is(await creditsUsed(t.context), 2 + 1 + 2);
});

test('a merge patch is taken as JSON', async (t) => {
  const id = await subscribe(t.context);
  const patch = {
    method: 'PATCH',
    body: '{"name":"Roof"}',
    headers: { 'Content-Type': 'application/merge-patch+json' },
  };
  t.like(await answerOf(t.context, `${ALERTS}/${id}`, patch), { status: 200, body: { name: 'Roof' } });
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
  t.deepEqual(await t.context.records.reader.selectFrom('pushes').selectAll().execute(), []);
});

for (const [what, change, status] of [
  ['a radius that leaves its hail out', { radius_km: 3.9 }, 'closed'],
  ['a size above its largest', { min_size_mm: 40.1 }, 'closed'],
  ['a radius and a size that it still meets', { radius_km: 4, min_size_mm: 40 }, 'open'],
  ['another name', { name: 'Roof' }, 'open'],
] as const)
  test(`an open alert is ${status} after a change to ${what}`, async (t) => {
    const id = await subscribe(t.context);
    await raise(t.context, id);
    await answerOf(t.context, `${ALERTS}/${id}`, sending('PATCH', change));
    const { body } = await answerOf(t.context, `${ALERTS}/${id}`);
    t.like((body.recent_alerts as object[])[0], { status });
  });

for (const [what, change, pointer] of [
  ['without any known field', { colour: 'red' }, 'body:'],
  ['with an empty body', {}, 'body:'],
  ['with a blank name', { name: ' ' }, '/name:'],
  ['with null for a name', { name: null }, '/name:'],
  ['with a radius of 0.5 km', { radius_km: 0.5 }, '/radius_km:'],
  ['with a radius of 101 km', { radius_km: 101 }, '/radius_km:'],
  ['with a size of 9 mm', { min_size_mm: 9 }, '/min_size_mm:'],
  ['with two sizes that differ', { min_size_mm: 30, min_mesh_mm: 31 }, '/min_mesh_mm:'],
  ['with an unknown status', { status: 'cancelled' }, '/status:'],
  ['with an address that is refused', { webhook_url: 'http://hooks.example.com' }, '/webhook_url:'],
] as const)
  test(`a change ${what} is refused, changes nothing and is not charged`, async (t) => {
    const id = await subscribe(t.context);
    const before = await answerOf(t.context, `${ALERTS}/${id}`);
    const used = await creditsUsed(t.context);
    const answer = await answerOf(t.context, `${ALERTS}/${id}`, sending('PATCH', change));
    t.like(answer, { status: 400, body: { error: 'bad_request' } });
    t.true(String(answer.body.message).startsWith(pointer), String(answer.body.message));
    t.is(await creditsUsed(t.context), used);
    t.deepEqual(await answerOf(t.context, `${ALERTS}/${id}`), before);
  });

test("another business's subscription is not found by a change, and stays", async (t) => {
  const id = await subscribe(t.context, { name: 'theirs' }, await strangersKey(t.context));
  const answer = await answerOf(t.context, `${ALERTS}/${id}`, sending('PATCH', { name: 'ours' }));
  t.like(answer, { status: 404, body: { error: 'not_found' } });
  const row = await t.context.records.reader.selectFrom('subscriptions').select('name').executeTakeFirst();
  t.deepEqual(row, { name: 'theirs' });
});

test('PUT of a subscription is 405', async (t) => {
  const id = await subscribe(t.context);
  const answer = await t.context.call(`${ALERTS}/${id}`, sending('PUT', { name: 'x' }));
  t.is(answer.status, 405);
  t.is(answer.headers.get('Allow'), 'GET, HEAD, PATCH, DELETE, OPTIONS');
  await answer.body?.cancel();
});
