import { creditsUsed, strangersKey } from '../support/service/portfolio.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';
import {
  answerOf,
  happen,
  makeWebhook,
  runTasks,
  sending,
  startWebhookService,
  WEBHOOKS,
  type WebhookService,
} from '../support/service/webhooks.ts';

const test = testWith(startWebhookService, closeWithoutFailures);
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
