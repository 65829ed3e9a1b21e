import { strangersKey } from '../support/service/portfolio.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';
import { answerOf, happen, makeWebhook, runTasks, startWebhookService, WEBHOOKS } from '../support/service/webhooks.ts';

const test = testWith(startWebhookService, closeWithoutFailures);

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
  for (const table of ['pushes', 'deliveries'] as const)
    t.deepEqual(await reader.selectFrom(table).selectAll().execute(), []);
  await t.notThrowsAsync(makeWebhook(t.context));
});

test("another business's webhook cannot be deleted", async (t) => {
  const key = await strangersKey(t.context);
  const { webhook_id } = await makeWebhook(t.context, {}, key);
  t.like(await answerOf(t.context, `${WEBHOOKS}/${webhook_id}`, { method: 'DELETE' }), { status: 404 });
  t.like(await answerOf(t.context, `${WEBHOOKS}/${webhook_id}`, { key }), { status: 200 });
});
