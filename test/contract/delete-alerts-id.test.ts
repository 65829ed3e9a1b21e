import { ALERTS, raise, sending, startAlertService, subscribe } from '../support/service/alerts.ts';
import { creditsUsed, strangersKey } from '../support/service/portfolio.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';
import { answerOf } from '../support/service/webhooks.ts';

const test = testWith(startAlertService, closeWithoutFailures);

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
