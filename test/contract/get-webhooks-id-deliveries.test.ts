import { strangersKey } from '../support/service/portfolio.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';
import {
  answerOf,
  happen,
  makeWebhook,
  runTasks,
  startWebhookService,
  WEBHOOKS,
  type WebhookService,
} from '../support/service/webhooks.ts';

const test = testWith(startWebhookService, closeWithoutFailures);

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
  t.deepEqual(
    t.context.receivers.received.map(({ text }) => text),
    Array(2).fill(t.context.receivers.received[0]?.text),
  );
});

for (const [error, shown] of [
  ['timeout', 'timeout'],
  ['blocked', 'connect'],
] as const)
  test(`an attempt that ended with ${error} shows ${shown} and no status`, async (t) => {
    const { webhook_id } = await makeWebhook(t.context);
    await happen(t.context, [webhook_id]);
    t.context.receivers.answer = () => error;
    await runTasks(t.context);
    t.like((await page(t.context, webhook_id)).deliveries[0], { status_code: null, success: false, error: shown });
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

for (const query of ['limit=0', 'limit=101', 'limit=x', 'cursor=whd_unknown'])
  test(`deliveries with ${query} are refused`, async (t) => {
    const { webhook_id } = await makeWebhook(t.context);
    t.like(await answerOf(t.context, `${WEBHOOKS}/${webhook_id}/deliveries?${query}`), {
      status: 400,
      body: { error: 'invalid_parameter' },
    });
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
