import { EVENT_DATA, EVENT_TYPES } from '../../schemas/webhook-events.ts';
import { departuresOfEvent, describedHeaders } from '../support/data/described-events.ts';
import { changePlan, creditsUsed, strangersKey } from '../support/service/portfolio.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';
import {
  answerOf,
  happen,
  makeWebhook,
  RECEIVER,
  runTasks,
  sending,
  startWebhookService,
  WEBHOOKS,
  type WebhookService,
} from '../support/service/webhooks.ts';

const test = testWith(startWebhookService, closeWithoutFailures);

test('a webhook is made active, for every event, with a secret of 32 bytes', async (t) => {
  const { status, body } = await answerOf(t.context, WEBHOOKS, sending('POST', { url: RECEIVER, events: null }));
  t.is(status, 200);
  const { webhook_id, secret, ...rest } = body;
  t.regex(String(webhook_id), /^wh_[0-9A-HJKMNP-TV-Z]{26}$/);
  t.regex(String(secret), /^whsec_[A-Za-z0-9+/]{43}=$/);
  t.deepEqual(rest, {
    url: RECEIVER,
    events: ['alert.created', 'alert.updated', 'alert.resolved', 'portfolio.impact_summary', 'webhook.disabled'],
    status: 'active',
  });
});

test('events asked for twice are kept once', async (t) => {
  const events = ['alert.resolved', 'alert.created', 'alert.resolved'];
  const { body } = await answerOf(t.context, WEBHOOKS, sending('POST', { url: RECEIVER, events }));
  t.deepEqual(body.events, ['alert.created', 'alert.resolved']);
});

test('a webhook with a bad url or bad events is refused, and nothing is made or charged', async (t) => {
  for (const [body, pointer] of [
    [{}, '/url:'],
    [{ url: 'http://hooks.example.com' }, '/url:'],
    [{ url: RECEIVER, events: [] }, '/events:'],
    [{ url: RECEIVER, events: ['alert.deleted'] }, '/events/0:'],
    [{ url: RECEIVER, events: 'alert.created' }, '/events:'],
  ] as const) {
    const answer = await answerOf(t.context, WEBHOOKS, sending('POST', body));
    t.like(answer, { status: 400, body: { error: 'bad_request' } });
    t.true(String(answer.body.message).startsWith(pointer), String(answer.body.message));
  }
  t.is(await creditsUsed(t.context), 0);
  t.like(await answerOf(t.context, WEBHOOKS), { body: { count: 0 } });
});

test('the 11th webhook of a business is refused', async (t) => {
  for (let k = 0; k < 10; k++) await makeWebhook(t.context);
  const answer = await answerOf(t.context, WEBHOOKS, sending('POST', { url: RECEIVER }));
  t.like(answer, { status: 429, body: { error: 'resource_exhausted' } });
  t.regex(String(answer.body.message), /quota of 10 webhooks/);
});

test('a business without real-time delivery makes no webhook, and may look at those it has', async (t) => {
  await changePlan(t.context, { features: ['exports'] });
  const answer = await answerOf(t.context, WEBHOOKS, sending('POST', { url: 'no address' }));
  t.like(answer, { status: 403, body: { error: 'feature_not_available' } });
  t.like(await answerOf(t.context, WEBHOOKS), { status: 200, body: { count: 0 } });
});

test('with an Idempotency-Key it is made once, and the replay shows the same secret', async (t) => {
  const init = sending('POST', { url: RECEIVER }, { 'Idempotency-Key': 'k' });
  const first = await t.context.call(WEBHOOKS, init);
  const again = await t.context.call(WEBHOOKS, init);
  t.is(again.headers.get('Idempotent-Replay'), 'true');
  t.is(await again.text(), await first.text());
  t.like(await answerOf(t.context, WEBHOOKS), { body: { count: 1 } });
});

test('neither the records nor the stored answer of a request hold the secret in the clear', async (t) => {
  const init = sending('POST', { url: RECEIVER }, { 'Idempotency-Key': 'k' });
  const { secret } = (await answerOf(t.context, WEBHOOKS, init)).body;
  const { reader } = t.context.records;
  const stored = JSON.stringify([
    await reader.selectFrom('webhooks').selectAll().execute(),
    await reader.selectFrom('idempotency').selectAll().execute(),
  ]);
  t.is(stored.match(/"v1\./g)?.length, 2);
  t.false(stored.includes(String(secret).slice('whsec_'.length)));
});

test('an answer with a secret is neither compressed nor stored by caches, however long', async (t) => {
  const body = { url: `${RECEIVER}?${'x'.repeat(1500)}` };
  const { headers } = await t.context.call(WEBHOOKS, sending('POST', body, { 'Accept-Encoding': 'gzip' }));
  t.is(headers.get('Cache-Control'), 'no-store');
  t.is(headers.get('Content-Encoding'), null);
});

test('lists the webhooks of the business oldest first, their secrets masked', async (t) => {
  const first = await makeWebhook(t.context, { events: ['alert.created'] });
  const second = await makeWebhook(t.context, { url: 'https://other.example.com' });
  await makeWebhook(t.context, {}, await strangersKey(t.context));
  const { body } = await answerOf(t.context, WEBHOOKS);
  t.is(body.count, 2);
  const [one, two] = body.webhooks as Record<string, unknown>[];
  t.deepEqual(one, {
    id: first.webhook_id,
    url: RECEIVER,
    secret: `whsec_****${first.secret.slice(-4)}`,
    events: ['alert.created'],
    status: 'active',
    success_count: 0,
    failure_count: 0,
    consecutive_failures: 0,
  });
  t.like(two, { id: second.webhook_id, url: 'https://other.example.com' });
});

test('one webhook is shown as the list shows it', async (t) => {
  const { webhook_id } = await makeWebhook(t.context);
  const { body } = await answerOf(t.context, WEBHOOKS);
  t.deepEqual(await answerOf(t.context, `${WEBHOOKS}/${webhook_id}`), {
    status: 200,
    body: (body.webhooks as Record<string, unknown>[])[0] ?? {},
  });
  t.is(await creditsUsed(t.context), 2 + 1 + 1);
});

test('a webhook of another business, an unknown one and an id that cannot be one answer alike', async (t) => {
  const foreign = await makeWebhook(t.context, {}, await strangersKey(t.context));
  const answers = await Promise.all(
    [foreign.webhook_id, 'wh_01KAJ3W9QZ6R8V2T4X5Y7A9B0C', 'wh_'].map((id) => answerOf(t.context, `${WEBHOOKS}/${id}`)),
  );
  for (const { status, body } of answers) {
    t.is(status, 404);
    t.like(body, { error: 'not_found', message: answers[0]?.body.message });
  }
});

test('changes the fields that are sent, and names them even where they are equal', async (t) => {
  const { webhook_id } = await makeWebhook(t.context, { events: ['alert.created'] });
  const path = `${WEBHOOKS}/${webhook_id}`;
  const change = { url: RECEIVER, events: ['alert.resolved'], status: 'active' };
  t.deepEqual(await answerOf(t.context, path, sending('PUT', change)), {
    status: 200,
    body: { success: true, updated: ['url', 'events', 'status'] },
  });
  t.like(await answerOf(t.context, path), { body: { url: RECEIVER, events: ['alert.resolved'], status: 'active' } });
  const { body: whole } = await answerOf(t.context, path);
  t.is((await answerOf(t.context, path, sending('PUT', { ...whole, success_count: 99 }))).status, 200);
  t.deepEqual((await answerOf(t.context, path)).body, whole);
  t.deepEqual((await answerOf(t.context, path, sending('PUT', { status: 'paused' }))).body.updated, ['status']);
  t.like(await answerOf(t.context, path), { body: { events: ['alert.resolved'], status: 'paused' } });
});

test('a change without fields or with a bad one is refused, and changes nothing', async (t) => {
  const { webhook_id } = await makeWebhook(t.context);
  for (const change of [
    { name: 'x' },
    {},
    { url: 'http://hooks.example.com' },
    { events: [] },
    { status: 'cancelled' },
    { status: null },
  ]) {
    const answer = await answerOf(t.context, `${WEBHOOKS}/${webhook_id}`, sending('PUT', change));
    t.like(answer, { status: 400, body: { error: 'bad_request' } });
  }
  t.like(await answerOf(t.context, `${WEBHOOKS}/${webhook_id}`), { body: { url: RECEIVER, status: 'active' } });
});

test("another business's webhook cannot be changed", async (t) => {
  const key = await strangersKey(t.context);
  const { webhook_id } = await makeWebhook(t.context, {}, key);
  t.like(await answerOf(t.context, `${WEBHOOKS}/${webhook_id}`, sending('PUT', { status: 'paused' })), {
    status: 404,
    body: { error: 'not_found' },
  });
  t.like(await answerOf(t.context, `${WEBHOOKS}/${webhook_id}`, { key }), { body: { status: 'active' } });
});

test('a new url takes over what is being retried', async (t) => {
  const { webhook_id } = await makeWebhook(t.context);
  const [event] = await happen(t.context, [webhook_id]);
  t.context.receivers.answer = () => 500;
  await runTasks(t.context);
  await answerOf(t.context, `${WEBHOOKS}/${webhook_id}`, sending('PUT', { url: 'https://new.example.com' }));
  await runTasks(t.context);
  const deliveries = t.context.receivers.received.map(({ url, body }) => [url, body.id]);
  t.deepEqual(deliveries, [
    [RECEIVER, event],
    ['https://new.example.com', event],
  ]);
});

for (const status of ['paused', 'disabled'])
  test(`${status} drops what is being retried, and nothing is kept for later`, async (t) => {
    const { webhook_id } = await makeWebhook(t.context);
    await happen(t.context, [webhook_id]);
    t.context.receivers.answer = () => 500;
    await runTasks(t.context);
    const path = `${WEBHOOKS}/${webhook_id}`;
    await answerOf(t.context, path, sending('PUT', { status }));
    await happen(t.context, [webhook_id]);
    t.is(await runTasks(t.context), 1);
    t.is(t.context.receivers.received.length, 1);
    await answerOf(t.context, path, sending('PUT', { status: 'active' }));
    t.like(await answerOf(t.context, path), { body: { status: 'active', consecutive_failures: 0, failure_count: 1 } });
    t.is(await runTasks(t.context), 0);
  });

test('a deleted webhook is gone with its history, gets nothing more, and makes room for another', async (t) => {
  const made = [];
  for (let k = 0; k < 10; k++) made.push(await makeWebhook(t.context));
  const [first] = made;
  const path = `${WEBHOOKS}/${first?.webhook_id}`;
  await happen(t.context, [first?.webhook_id ?? '']);
  t.context.receivers.answer = () => 500;
  await runTasks(t.context);
  t.deepEqual(await answerOf(t.context, path, { method: 'DELETE' }), { status: 200, body: { success: true } });
  await runTasks(t.context);
  t.is(t.context.receivers.received.length, 1);
  for (const each of [path, `${path}/deliveries`]) t.like(await answerOf(t.context, each), { status: 404 });
  t.like(await answerOf(t.context, path, { method: 'DELETE' }), { status: 404, body: { error: 'not_found' } });
  const { reader } = t.context.records;
  for (const table of ['messages', 'attempts'] as const)
    t.deepEqual(await reader.selectFrom(table).selectAll().execute(), []);
  await t.notThrowsAsync(makeWebhook(t.context));
});

test("another business's webhook cannot be deleted", async (t) => {
  const key = await strangersKey(t.context);
  const { webhook_id } = await makeWebhook(t.context, {}, key);
  t.like(await answerOf(t.context, `${WEBHOOKS}/${webhook_id}`, { method: 'DELETE' }), { status: 404 });
  t.like(await answerOf(t.context, `${WEBHOOKS}/${webhook_id}`, { key }), { status: 200 });
});

test('sends alert.created with test true, answers the status, and leaves no trace in history and counters', async (t) => {
  const { webhook_id } = await makeWebhook(t.context);
  const path = `${WEBHOOKS}/${webhook_id}`;
  const { status, body } = await answerOf(t.context, `${path}/test`, { method: 'POST' });
  const [received] = t.context.receivers.received;
  t.is(status, 200);
  t.deepEqual(body, { success: true, status_code: 200, delivery_id: received?.body.id.replace('evt_', 'whd_') });
  t.like(received?.body, { schema_version: 1, event: 'alert.created', data: { test: true } });
  t.like(await answerOf(t.context, `${path}/deliveries`), { body: { count: 0 } });
  t.like(await answerOf(t.context, path), { body: { success_count: 0, failure_count: 0 } });
  t.is(await creditsUsed(t.context), 2 + 3 + 1 + 1);
});

test('a test of each type has its shape, and the body and headers that the description gives it', async (t) => {
  const { webhook_id } = await makeWebhook(t.context);
  for (const event of EVENT_TYPES) {
    await answerOf(t.context, `${WEBHOOKS}/${webhook_id}/test`, sending('POST', { event }));
    const received = t.context.receivers.received.at(-1);
    t.is(received?.body.event, event);
    t.true(EVENT_DATA[event].safeParse(received?.body.data).success);
    t.deepEqual(departuresOfEvent('current', received?.text ?? ''), []);
    const sent = Object.keys(received?.headers ?? {}).filter((name) => !['Content-Type', 'User-Agent'].includes(name));
    t.deepEqual(sent, describedHeaders('current', event));
  }
});

test('a paused and a disabled webhook take a test', async (t) => {
  const { webhook_id } = await makeWebhook(t.context);
  for (const status of ['paused', 'disabled']) {
    await answerOf(t.context, `${WEBHOOKS}/${webhook_id}`, sending('PUT', { status }));
    t.like(await answerOf(t.context, `${WEBHOOKS}/${webhook_id}/test`, { method: 'POST' }), {
      body: { success: true },
    });
  }
});

test('an answer that is not 2xx is no success, and shows its status', async (t) => {
  const { webhook_id } = await makeWebhook(t.context);
  t.context.receivers.answer = () => 410;
  const { status, body } = await answerOf(t.context, `${WEBHOOKS}/${webhook_id}/test`, { method: 'POST' });
  t.is(status, 200);
  t.like(body, { success: false, status_code: 410, error: undefined, message: undefined });
});

test('a receiver that cannot be reached is webhook_unreachable in a 200, and a refused address says connect', async (t) => {
  const { webhook_id } = await makeWebhook(t.context);
  t.context.receivers.answer = () => 'blocked';
  const { status, body } = await answerOf(t.context, `${WEBHOOKS}/${webhook_id}/test`, { method: 'POST' });
  t.is(status, 200);
  t.like(body, { success: false, status_code: null, error: 'webhook_unreachable' });
  t.regex(String(body.message), /connect$/);
});

test('an unknown event and a foreign webhook are refused', async (t) => {
  const { webhook_id } = await makeWebhook(t.context);
  const foreign = await makeWebhook(t.context, {}, await strangersKey(t.context));
  t.like(await answerOf(t.context, `${WEBHOOKS}/${webhook_id}/test`, sending('POST', { event: 'hail' })), {
    status: 400,
    body: { error: 'bad_request' },
  });
  t.like(await answerOf(t.context, `${WEBHOOKS}/${foreign.webhook_id}/test`, { method: 'POST' }), { status: 404 });
  t.is(t.context.receivers.received.length, 0);
});

interface Page {
  readonly deliveries: readonly Record<string, unknown>[];
  readonly count: number;
  readonly next_cursor: string | null;
}

async function page(service: WebhookService, webhook_id: string, query = ''): Promise<Page> {
  return (await service.json(`${WEBHOOKS}/${webhook_id}/deliveries${query}`)) as Page;
}

test('every attempt is shown, newest first; the first shares the tail of its event', async (t) => {
  const { webhook_id } = await makeWebhook(t.context);
  const [event = ''] = await happen(t.context, [webhook_id]);
  t.context.receivers.answer = () => 503;
  await runTasks(t.context);
  t.context.receivers.answer = () => 200;
  await runTasks(t.context);
  const { deliveries, count, next_cursor } = await page(t.context, webhook_id);
  t.is(count, 2);
  t.is(next_cursor, null);
  const [second, first] = deliveries;
  t.like(first, {
    id: event.replace('evt_', 'whd_'),
    event_id: event,
    event: 'alert.created',
    attempt: 1,
    status_code: 503,
    success: false,
    error: 'http_status',
    redelivered_from: null,
  });
  t.like(second, { event_id: event, attempt: 2, status_code: 200, success: true, error: null, next_retry_at: null });
  t.regex(String(second?.id), /^whd_[0-9A-HJKMNP-TV-Z]{26}$/);
  t.not(second?.id, first?.id);
  const texts = t.context.receivers.received.map(({ text }) => text);
  t.deepEqual(texts, Array(2).fill(t.context.receivers.received[0]?.text));
});

test('an attempt that ended without an answer shows its class and no status, a blocked one connect', async (t) => {
  const { webhook_id } = await makeWebhook(t.context);
  for (const [error, shown] of [
    ['timeout', 'timeout'],
    ['blocked', 'connect'],
  ] as const) {
    await happen(t.context, [webhook_id]);
    t.context.receivers.answer = () => error;
    await runTasks(t.context);
    t.like((await page(t.context, webhook_id)).deliveries[0], { status_code: null, success: false, error: shown });
  }
});

test('the last 100 attempts are kept, and a walk through their pages sees each once', async (t) => {
  const { webhook_id } = await makeWebhook(t.context);
  const { webhook_id: other } = await makeWebhook(t.context);
  await happen(t.context, [other]);
  await runTasks(t.context);
  const events: string[] = [];
  for (let k = 0; k < 103; k++) events.push(...(await happen(t.context, [webhook_id])));
  await runTasks(t.context);
  const seen: unknown[] = [];
  let query: string | null = '?limit=40';
  while (query !== null) {
    const { deliveries, next_cursor }: Page = await page(t.context, webhook_id, query);
    seen.push(...deliveries.map(({ event_id }) => event_id));
    query = next_cursor === null ? null : `?limit=40&cursor=${next_cursor}`;
  }
  t.is(seen.length, 100);
  t.is(new Set(seen).size, 100);
  t.true(seen.every((id) => events.includes(String(id))));
  t.is((await page(t.context, webhook_id)).count, 25);
  t.is((await page(t.context, other)).count, 1);
});

test('deliveries with a limit or cursor that cannot be are refused', async (t) => {
  const { webhook_id } = await makeWebhook(t.context);
  for (const query of ['limit=0', 'limit=101', 'limit=x', 'cursor=whd_unknown']) {
    const answer = await answerOf(t.context, `${WEBHOOKS}/${webhook_id}/deliveries?${query}`);
    t.like(answer, { status: 400, body: { error: 'invalid_parameter' } });
  }
});

test("another webhook's delivery is no cursor, and another business's webhook has no history", async (t) => {
  const { webhook_id } = await makeWebhook(t.context);
  const { webhook_id: other } = await makeWebhook(t.context);
  const [event = ''] = await happen(t.context, [other]);
  await runTasks(t.context);
  const cursor = event.replace('evt_', 'whd_');
  t.like(await answerOf(t.context, `${WEBHOOKS}/${webhook_id}/deliveries?cursor=${cursor}`), { status: 400 });
  const foreign = await makeWebhook(t.context, {}, await strangersKey(t.context));
  t.like(await answerOf(t.context, `${WEBHOOKS}/${foreign.webhook_id}/deliveries`), { status: 404 });
});

const POST = { method: 'POST' } as const;

/** A webhook that was sent one event, and the event. */
async function delivered(service: WebhookService, key = service.live_key) {
  const { webhook_id } = await makeWebhook(service, {}, key);
  const [event_id = ''] = await happen(service, [webhook_id]);
  await runTasks(service);
  const delivery_id = event_id.replace('evt_', 'whd_');
  const path = (id: string) => `${WEBHOOKS}/${webhook_id}/deliveries/${id}/redeliver`;
  return { webhook_id, event_id, delivery_id, path };
}

test('sends the same event and data under a new id, and records it', async (t) => {
  const { webhook_id, delivery_id, path } = await delivered(t.context);
  const { status, body } = await answerOf(t.context, path(delivery_id), POST);
  const [first, second] = t.context.receivers.received.map(({ body }) => body);
  t.is(status, 200);
  t.deepEqual(body, {
    success: true,
    status_code: 200,
    delivery_id: second?.id.replace('evt_', 'whd_'),
    redelivered_from: delivery_id,
  });
  t.not(second?.id, first?.id);
  t.deepEqual({ ...second, id: first?.id }, { ...first });
  const history = await answerOf(t.context, `${WEBHOOKS}/${webhook_id}/deliveries`);
  t.like((history.body.deliveries as unknown[])[0], {
    id: body.delivery_id,
    attempt: 1,
    redelivered_from: delivery_id,
  });
  t.like(await answerOf(t.context, `${WEBHOOKS}/${webhook_id}`), { body: { success_count: 2 } });
  t.is(await creditsUsed(t.context), 2 + 3 + 1 + 1);
});

test('a redelivery under an Idempotency-Key is sent and charged once; the key is of that delivery alone', async (t) => {
  const { path, delivery_id, event_id } = await delivered(t.context);
  const init = { method: 'POST', headers: { 'Idempotency-Key': 'again' } };
  const first = await answerOf(t.context, path(delivery_id), init);
  t.deepEqual((await answerOf(t.context, path(delivery_id), init)).body, first.body);
  t.is(t.context.receivers.received.length, 2);
  t.is(await creditsUsed(t.context), 2 + 3);
  t.like(await answerOf(t.context, path(event_id), init), { status: 400, body: { error: 'invalid_idempotency_key' } });
});

test('takes the id of the event, too', async (t) => {
  const { event_id, delivery_id, path } = await delivered(t.context);
  t.like(await answerOf(t.context, path(event_id), POST), { status: 200, body: { redelivered_from: delivery_id } });
});

test('what fails counts as a distinct event, is not retried, and leaves the retries of its source alone', async (t) => {
  const { webhook_id } = await makeWebhook(t.context);
  const [event_id = ''] = await happen(t.context, [webhook_id]);
  t.context.receivers.answer = () => 500;
  await runTasks(t.context);
  const path = `${WEBHOOKS}/${webhook_id}/deliveries/${event_id}/redeliver`;
  t.like(await answerOf(t.context, path, POST), { status: 200, body: { success: false, status_code: 500 } });
  t.like(await answerOf(t.context, `${WEBHOOKS}/${webhook_id}`), {
    body: { failure_count: 2, consecutive_failures: 2 },
  });
  const history = (await answerOf(t.context, `${WEBHOOKS}/${webhook_id}/deliveries`)).body.deliveries;
  t.like((history as unknown[])[0], { next_retry_at: null });
  t.is(await runTasks(t.context), 1);
  t.is(t.context.receivers.received.at(-1)?.body.id, event_id);
});

for (const status of ['paused', 'disabled'])
  test(`is refused while the webhook is ${status}, and nothing is sent or charged`, async (t) => {
    const { webhook_id, delivery_id, path } = await delivered(t.context);
    await answerOf(t.context, `${WEBHOOKS}/${webhook_id}`, sending('PUT', { status }));
    const before = await creditsUsed(t.context);
    t.like(await answerOf(t.context, path(delivery_id), POST), { status: 409, body: { error: 'webhook_not_active' } });
    t.is(t.context.receivers.received.length, 1);
    t.is(await creditsUsed(t.context), before);
  });

test('a delivery that left the last 100 attempts is said to be no longer kept, by either of its ids', async (t) => {
  const { webhook_id, event_id, delivery_id, path } = await delivered(t.context);
  for (let k = 0; k < 100; k++) await happen(t.context, [webhook_id]);
  await runTasks(t.context);
  const sent = t.context.receivers.received.length;
  const message = 'the delivery is no longer kept: the last 100 attempts of a webhook can be sent again';
  for (const id of [delivery_id, event_id])
    t.like(await answerOf(t.context, path(id), POST), { status: 404, body: { error: 'not_found', message } });
  t.is(t.context.receivers.received.length, sent);
  const other = await makeWebhook(t.context);
  const elsewhere = `${WEBHOOKS}/${other.webhook_id}/deliveries/${delivery_id}/redeliver`;
  t.like(await answerOf(t.context, elsewhere, POST), { status: 404, body: { message: 'no such delivery' } });
});

test('an unknown delivery, that of another webhook and that of another business answer alike', async (t) => {
  const { path } = await delivered(t.context);
  const other = await delivered(t.context);
  const foreign = await delivered(t.context, await strangersKey(t.context));
  const sent = t.context.receivers.received.length;
  const answers = await Promise.all(
    ['whd_unknown', other.delivery_id, foreign.delivery_id].map((id) => answerOf(t.context, path(id), POST)),
  );
  for (const { status, body } of answers) {
    t.is(status, 404);
    t.like(body, { error: 'not_found', message: answers[0]?.body.message });
  }
  t.like(await answerOf(t.context, foreign.path(foreign.delivery_id), POST), { status: 404 });
  t.is(t.context.receivers.received.length, sent);
});
