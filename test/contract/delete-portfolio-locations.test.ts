import {
  creditsUsed,
  LOCATIONS,
  PORTFOLIO,
  rows,
  sending,
  strangersKey,
  upload,
  walk,
} from '../support/service/portfolio.ts';
import { type RunningService, startService } from '../support/service/service.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';

const test = testWith(() => startService({ endpoints: PORTFOLIO }), closeWithoutFailures);

async function uploaded(service: RunningService, count: number, key = service.live_key): Promise<string[]> {
  return (await upload(service, rows(count), key)).accepted.map(({ id }) => id);
}

test('deletes locations and lists what was found and what was not, in the order asked', async (t) => {
  const [a = '', b = '', c = ''] = await uploaded(t.context, 3);
  const answer = await t.context.json(LOCATIONS, sending('DELETE', { ids: ['loc_none', c, 'area_1', a, 'not an id'] }));
  t.deepEqual(answer, {
    deleted_count: 2,
    not_found_count: 3,
    deleted: [c, a],
    not_found: ['loc_none', 'area_1', 'not an id'],
  });
  t.deepEqual(
    (await walk(t.context, 50))[0]?.locations.map(({ id }) => id),
    [b],
  );
});

test('a deleted location gives its quota back', async (t) => {
  const ids = await uploaded(t.context, 3);
  await t.context.call(LOCATIONS, sending('DELETE', { ids }));
  t.is((await upload(t.context, [])).quota.point_locations_before, 0);
});

test('repeated ids count once, and a second deletion finds nothing', async (t) => {
  const [id = ''] = await uploaded(t.context, 1);
  const first = await t.context.json(LOCATIONS, sending('DELETE', { ids: [id, id, 'x', 'x'] }));
  t.like(first, { deleted_count: 1, not_found_count: 1 });
  t.like(await t.context.json(LOCATIONS, sending('DELETE', { ids: [id] })), { deleted_count: 0, not_found: [id] });
});

test("another business's id is not found, and stays", async (t) => {
  const key = await strangersKey(t.context);
  const ids = await uploaded(t.context, 1, key);
  t.like(await t.context.json(LOCATIONS, sending('DELETE', { ids })), { deleted_count: 0, not_found: ids });
  t.is((await walk(t.context, 50, key))[0]?.count, 1);
});

test('an id with a NUL is 400 in the query as in the body, deletes nothing and costs nothing', async (t) => {
  const ids = await uploaded(t.context, 1);
  const before = await creditsUsed(t.context);
  const inQuery = await t.context.call(`${LOCATIONS}?ids=${ids[0]}&ids=a%00b`, { method: 'DELETE' });
  t.deepEqual([inQuery.status, ((await inQuery.json()) as { error: string }).error], [400, 'invalid_parameter']);
  t.is((await t.context.call(LOCATIONS, sending('DELETE', { ids: [...ids, 'a\0b'] }))).status, 400);
  t.is(await creditsUsed(t.context), before);
  t.is((await walk(t.context, 50))[0]?.count, 1);
});

test('ids come as repeated query parameters too', async (t) => {
  const [a, b] = await uploaded(t.context, 2);
  t.like(await t.context.json(`${LOCATIONS}?ids=${a}&ids=${b}&ids=${a}`, { method: 'DELETE' }), { deleted: [a, b] });
  const [c] = await uploaded(t.context, 1);
  t.like(await t.context.json(`${LOCATIONS}?ids=${c}`, { method: 'DELETE' }), { deleted: [c] });
});

for (const [what, query, init] of [
  ['neither body nor query', '', { method: 'DELETE' }],
  ['both body and query', '?ids=loc_1', sending('DELETE', { ids: ['loc_1'] })],
  ['a body without ids', '', sending('DELETE', {})],
  ['ids that are no list', '', sending('DELETE', { ids: 'loc_1' })],
  ['an id that is no text', '', sending('DELETE', { ids: ['loc_1', 7] })],
] as const)
  test(`refuses ${what} with 400 bad_request, and charges nothing`, async (t) => {
    const response = await t.context.call(`${LOCATIONS}${query}`, init);
    t.deepEqual([response.status, ((await response.json()) as { error: string }).error], [400, 'bad_request']);
    t.is(await creditsUsed(t.context), 0);
  });

test('takes 2000 ids and refuses 2001', async (t) => {
  const ids = await uploaded(t.context, 2000);
  const refused = await t.context.call(LOCATIONS, sending('DELETE', { ids: [...ids, 'one more'] }));
  t.deepEqual([refused.status, ((await refused.json()) as { error: string }).error], [400, 'bad_request']);
  t.like(await t.context.json(LOCATIONS, sending('DELETE', { ids })), { deleted_count: 2000, not_found_count: 0 });
});

test('an empty list of ids is a 200 with zeros', async (t) => {
  t.like(await t.context.json(LOCATIONS, sending('DELETE', { ids: [] })), { deleted_count: 0, not_found_count: 0 });
});

test('costs 5 credits, also when nothing was found', async (t) => {
  await t.context.call(LOCATIONS, sending('DELETE', { ids: ['loc_none'] }));
  t.is(await creditsUsed(t.context), 5);
});

test('Idempotency-Key is ignored: a repeated deletion is done again', async (t) => {
  const ids = await uploaded(t.context, 1);
  const init = sending('DELETE', { ids }, { 'Idempotency-Key': 'k' });
  t.like(await t.context.json(LOCATIONS, init), { deleted_count: 1 });
  t.like(await t.context.json(LOCATIONS, init), { deleted_count: 0 });
});
