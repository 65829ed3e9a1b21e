import { strangersKey } from '../support/service/portfolio.ts';
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
} from '../support/service/webhooks.ts';

const test = testWith(startWebhookService, closeWithoutFailures);

test('changes the fields that are sent, and names them even where they are equal', async (t) => {
  const { webhook_id } = await makeWebhook(t.context, { events: ['alert.created'] });
  const path = `${WEBHOOKS}/${webhook_id}`;
  const change = { url: RECEIVER, events: ['alert.resolved'], status: 'active' };
  t.deepEqual(await answerOf(t.context, path, sending('PUT', change)), {
    status: 200,
    body: { success: true, updated: ['url', 'events', 'status'] },
  });
  t.like(await answerOf(t.context, path), { body: { url: RECEIVER, events: ['alert.resolved'], status: 'active' } });
  t.deepEqual((await answerOf(t.context, path, sending('PUT', { status: 'paused' }))).body.updated, ['status']);
  t.like(await answerOf(t.context, path), { body: { events: ['alert.resolved'], status: 'paused' } });
});

for (const [what, change] of [
  ['without any known field', { name: 'x' }],
  ['with a url that is not https', { url: 'http://hooks.example.com' }],
  ['with an empty list of events', { events: [] }],
  ['with an unknown status', { status: 'cancelled' }],
  ['with null', { status: null }],
] as const)
  test(`a change ${what} is refused`, async (t) => {
    const { webhook_id } = await makeWebhook(t.context);
    t.like(await answerOf(t.context, `${WEBHOOKS}/${webhook_id}`, sending('PUT', change)), {
      status: 400,
      body: { error: 'bad_request' },
    });
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
  t.deepEqual(
    t.context.receivers.received.map(({ url, body }) => [url, body.id]),
    [
      [RECEIVER, event],
      ['https://new.example.com', event],
    ],
  );
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
    t.is(await runTasks(t.context), 2);
    t.is(t.context.receivers.received.length, 1);
    await answerOf(t.context, path, sending('PUT', { status: 'active' }));
    t.like(await answerOf(t.context, path), { body: { status: 'active', consecutive_failures: 0, failure_count: 1 } });
    t.is(await runTasks(t.context), 0);
  });
