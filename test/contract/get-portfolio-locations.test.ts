import type { PortfolioLocations } from '../../schemas/resources/portfolio-location.ts';
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

const PLACE = { lat: 35, lon: -97 };

async function list(service: RunningService, query = ''): Promise<PortfolioLocations> {
  return (await service.json(`${LOCATIONS}${query}`)) as PortfolioLocations;
}

test('without locations the list is empty', async (t) => {
  t.deepEqual(await list(t.context), { locations: [], count: 0, next_cursor: null });
});

test('a location has every field, coordinates with 5 decimals and times in UTC', async (t) => {
  const { accepted } = await upload(t.context, [{ name: 'Depot', lat: 35.1234567, lon: -97.9876543 }]);
  t.deepEqual((await list(t.context)).locations, [
    {
      id: accepted[0]?.id ?? '',
      name: 'Depot',
      lat: 35.12346,
      lon: -97.98765,
      address: '',
      tags: [],
      created_at: '2026-05-02T00:55:00.000Z',
      updated_at: '2026-05-02T00:55:00.000Z',
    },
  ]);
});

test('locations come by name in code points, equal names by id', async (t) => {
  const names = ['b', 'Z', 'a', '\u{1F600}', '\uFFFD', 'B', 'a', 'é'];
  const { accepted } = await upload(
    t.context,
    names.map((name) => ({ name, ...PLACE })),
  );
  const { locations } = await list(t.context);
  t.deepEqual(
    locations.map(({ name }) => name),
    ['B', 'Z', 'a', 'a', 'b', 'é', '\uFFFD', '\u{1F600}'],
  );
  t.deepEqual(
    locations.slice(2, 4).map(({ id }) => id),
    [accepted[2]?.id, accepted[6]?.id].sort(),
  );
});

test('pages hold 50 by default and follow each other without an empty last one', async (t) => {
  await upload(t.context, rows(100));
  const first = await list(t.context);
  t.deepEqual([first.count, first.next_cursor], [50, first.locations[49]?.id ?? '']);
  const second = await list(t.context, `?cursor=${first.next_cursor}`);
  t.deepEqual([second.count, second.next_cursor], [50, null]);
});

for (const limit of [1, 7, 200])
  test(`a walk in pages of ${limit} sees every location once, in order`, async (t) => {
    await upload(t.context, rows(15).reverse());
    const pages = await walk(t.context, limit);
    t.is(pages.length, Math.ceil(15 / limit));
    t.deepEqual(
      pages.flatMap(({ locations }) => locations.map(({ name }) => name)),
      rows(15).map(({ name }) => name),
    );
  });

test("a walk goes on after its cursor's location was renamed or deleted", async (t) => {
  const { accepted } = await upload(t.context, rows(6));
  const id = accepted[1]?.id ?? '';
  t.is((await list(t.context, '?limit=2')).next_cursor, id);
  await upload(t.context, [{ id, name: 'zzz', ...PLACE }]);
  t.is((await list(t.context, `?limit=1&cursor=${id}`)).locations[0]?.name, 'place 00002');
  await t.context.call(LOCATIONS, sending('DELETE', { ids: [id] }));
  t.is((await list(t.context, `?limit=1&cursor=${id}`)).locations[0]?.name, 'place 00002');
});

test('the cursor of a deleted location that no page ended with stays valid', async (t) => {
  const { accepted } = await upload(t.context, rows(3));
  const id = accepted[0]?.id ?? '';
  await t.context.call(LOCATIONS, sending('DELETE', { ids: [id] }));
  t.is((await list(t.context, `?cursor=${id}`)).count, 2);
});

test('an unknown, malformed or foreign cursor of the locations is 400 invalid_parameter', async (t) => {
  const key = await strangersKey(t.context);
  const foreign = (await upload(t.context, rows(1), key)).accepted[0]?.id;
  for (const cursor of ['loc_01ARZ3NDEKTSV4RRFFQ69G5FAV', 'a%20b', '', foreign]) {
    const response = await t.context.call(`${LOCATIONS}?cursor=${cursor}`);
    const body = (await response.json()) as { error: string; message: string };
    t.deepEqual([response.status, body.error], [400, 'invalid_parameter']);
    t.true(body.message.startsWith('cursor is '));
  }
  t.is(await creditsUsed(t.context), 0);
});

test('limits from 1 to 200 are taken, others are 400 invalid_parameter', async (t) => {
  for (const limit of ['1', '200', '24.0']) t.is((await t.context.call(`${LOCATIONS}?limit=${limit}`)).status, 200);
  for (const limit of ['0', '201', '1.5', '-1', 'x', '']) {
    const response = await t.context.call(`${LOCATIONS}?limit=${limit}`);
    t.deepEqual([response.status, ((await response.json()) as { error: string }).error], [400, 'invalid_parameter']);
  }
});

test('a business sees its own locations only', async (t) => {
  const key = await strangersKey(t.context);
  await upload(t.context, rows(3), key);
  t.is((await list(t.context)).count, 0);
});

test('costs 1 credit a page, the empty one too, and is never cached', async (t) => {
  const response = await t.context.call(LOCATIONS);
  t.is(response.headers.get('Cache-Control'), 'no-store');
  t.is(response.headers.get('ETag'), null);
  t.is(await creditsUsed(t.context), 1);
});
