import { EVENT_DATA, EVENT_TYPES } from '../../schemas/webhook-events.ts';
import { departuresOfEvent, describedHeaders } from '../support/data/described-events.ts';
import { creditsUsed, strangersKey } from '../support/service/portfolio.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';
import { answerOf, makeWebhook, sending, startWebhookService, WEBHOOKS } from '../support/service/webhooks.ts';

const test = testWith(startWebhookService, closeWithoutFailures);

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

for (const event of EVENT_TYPES)
  test(`a test of ${event} has the shape of its type, and the body and headers that the description gives it`, async (t) => {
    const { webhook_id } = await makeWebhook(t.context);
    await answerOf(t.context, `${WEBHOOKS}/${webhook_id}/test`, sending('POST', { event }));
    const [received] = t.context.receivers.received;
    t.is(received?.body.event, event);
    t.true(EVENT_DATA[event].safeParse(received?.body.data).success);
    t.deepEqual(departuresOfEvent('current', received?.text ?? ''), []);
    const sent = Object.keys(received?.headers ?? {}).filter((name) => !['Content-Type', 'User-Agent'].includes(name));
    t.deepEqual(sent, describedHeaders('current', event));
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
