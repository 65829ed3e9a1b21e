import { creditsUsed, strangersKey } from '../support/service/portfolio.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';
import {
  answerOf,
  happen,
  makeWebhook,
  RECEIVER,
  runTasks,
  startWebhookService,
  WEBHOOKS,
} from '../support/service/webhooks.ts';

const test = testWith(startWebhookService, closeWithoutFailures);

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

test('counts attempts that succeeded and failed', async (t) => {
  const { webhook_id } = await makeWebhook(t.context);
  await happen(t.context, [webhook_id]);
  t.context.receivers.answer = () => 500;
  await runTasks(t.context);
  t.like(await answerOf(t.context, `${WEBHOOKS}/${webhook_id}`), {
    body: { success_count: 0, failure_count: 1, consecutive_failures: 1 },
  });
  t.context.receivers.answer = () => 204;
  await runTasks(t.context);
  t.like(await answerOf(t.context, `${WEBHOOKS}/${webhook_id}`), {
    body: { success_count: 1, failure_count: 1, consecutive_failures: 0 },
  });
});
