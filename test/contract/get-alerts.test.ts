import { ALERTS, startAlertService, subscribe } from '../support/service/alerts.ts';
import { creditsUsed, strangersKey } from '../support/service/portfolio.ts';
import type { RunningService } from '../support/service/service.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';
import { answerOf } from '../support/service/webhooks.ts';

const test = testWith(startAlertService, closeWithoutFailures);

interface Page {
  readonly subscriptions: readonly { readonly id: string; readonly name: string }[];
  readonly count: number;
  readonly next_cursor: string | null;
}

async function pageOf(service: RunningService, query: string): Promise<Page> {
  return (await service.json(`${ALERTS}${query}`)) as Page;
}

test('subscriptions come oldest first, without their secret', async (t) => {
  const ids = [await subscribe(t.context, { name: 'first' }), await subscribe(t.context, { name: 'second' })];
  const page = await pageOf(t.context, '');
  t.deepEqual(
    page.subscriptions.map(({ id }) => id),
    ids,
  );
  t.like(page, { count: 2, next_cursor: null });
  t.deepEqual(page.subscriptions[0], {
    id: ids[0] as string,
    name: 'first',
    lat: 35.4676,
    lon: -97.5164,
    radius_km: 25,
    min_size_mm: 25,
    webhook_url: 'https://hooks.example.com/hail',
    status: 'active',
    trigger_count: 0,
    created_at: '2026-05-02T00:55:00.000Z',
    last_triggered_at: null,
  });
});

test('a walk through the pages sees every subscription once, also when the one at a cursor is deleted', async (t) => {
  const ids: string[] = [];
  for (let k = 0; k < 5; k++) ids.push(await subscribe(t.context));
  const first = await pageOf(t.context, '?limit=2');
  t.is(first.next_cursor, ids[1] ?? null);
  await t.context.call(`${ALERTS}/${ids[1]}`, { method: 'DELETE' });
  const second = await pageOf(t.context, `?limit=2&cursor=${first.next_cursor}`);
  const third = await pageOf(t.context, `?limit=2&cursor=${second.next_cursor}`);
  t.deepEqual(
    [first, second, third].map(({ subscriptions }) => subscriptions.map(({ id }) => id)),
    [ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)],
  );
  t.is(third.next_cursor, null);
});

for (const [query, what] of [
  ['limit=0', 'a limit of 0'],
  ['limit=101', 'a limit above 100'],
  ['limit=2.5', 'a limit that is not whole'],
  ['cursor=sub_unknown', 'an unknown cursor'],
] as const)
  test(`a list with ${what} is refused, and not charged`, async (t) => {
    t.like(await answerOf(t.context, `${ALERTS}?${query}`), { status: 400, body: { error: 'invalid_parameter' } });
    t.is(await creditsUsed(t.context), 0);
  });

test("another business's subscriptions are not listed, and its cursor is unknown", async (t) => {
  const key = await strangersKey(t.context);
  const id = await subscribe(t.context, {}, key);
  t.like(await pageOf(t.context, ''), { count: 0 });
  t.like(await answerOf(t.context, `${ALERTS}?cursor=${id}`), { status: 400 });
});
