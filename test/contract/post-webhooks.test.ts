import { changePlan } from '../support/service/portfolio.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';
import {
  answerOf,
  makeWebhook,
  RECEIVER,
  sending,
  startWebhookService,
  WEBHOOKS,
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

for (const [what, body, pointer] of [
  ['without url', {}, '/url:'],
  ['with a url that is not https', { url: 'http://hooks.example.com' }, '/url:'],
  ['with an empty list of events', { url: RECEIVER, events: [] }, '/events:'],
  ['with an unknown event', { url: RECEIVER, events: ['alert.deleted'] }, '/events/0:'],
  ['with events that are no list', { url: RECEIVER, events: 'alert.created' }, '/events:'],
] as const)
  test(`a webhook ${what} is refused, and nothing is made or charged`, async (t) => {
    const answer = await answerOf(t.context, WEBHOOKS, sending('POST', body));
    t.like(answer, { status: 400, body: { error: 'bad_request' } });
    t.true(String(answer.body.message).startsWith(pointer), String(answer.body.message));
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
