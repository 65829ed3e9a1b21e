import type { AreaSummary } from '../../schemas/resources/area.ts';
import {
  AREA_ENDPOINTS,
  AREAS,
  answerOf,
  changeArea,
  listAreas,
  makeArea,
  pointBody,
  polygonBody,
  polygonOf,
  SQUARE,
  SQUARE_SQ_MI,
} from '../support/service/areas.ts';
import { creditsUsed, strangersKey } from '../support/service/portfolio.ts';
import { type RunningService, SERVICE_NOW_MS, startService } from '../support/service/service.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';

interface Moving {
  readonly service: RunningService;
  readonly clock: { now_ms: number };
}

/** A service whose clock goes on by a second with each look at it, so that changes have an order in time. */
async function startMoving(): Promise<Moving> {
  const clock = { now_ms: SERVICE_NOW_MS };
  const service = await startService({ endpoints: AREA_ENDPOINTS, now: () => (clock.now_ms += 1000) });
  return { service, clock };
}

const test = testWith(startMoving, (t, { service }) => closeWithoutFailures(t, service));

async function makePoints(service: RunningService, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let k = 0; k < count; k++) ids.push((await makeArea(service, pointBody({ name: `mast ${k}` }))).id);
  return ids;
}

function idsOf({ areas }: { areas: readonly { id: string }[] }): string[] {
  return areas.map(({ id }) => id);
}

test('without areas the list is empty and nothing is used', async (t) => {
  t.deepEqual(await listAreas(t.context.service), {
    areas: [],
    count: 0,
    next_cursor: null,
    usage: { polygon_count: 0, point_count: 0, real_time_polygon_count: 0, total_area_sq_mi: 0 },
  });
});

test('an area is listed by its summary, the last changed first, and usage counts all of them', async (t) => {
  const { service } = t.context;
  const [a = '', b = ''] = await makePoints(service, 2);
  const { id } = await makeArea(service, polygonBody({ geometry: polygonOf(SQUARE), real_time: true }));
  await changeArea(service, a, { expected_version: 1, name: 'changed' });
  const { areas, usage } = await listAreas(service);
  const point = { kind: 'point', area_sq_mi: 1 } as const;
  t.deepEqual(areas satisfies (typeof AreaSummary)['_output'][], [
    { ...point, id: a, name: 'changed', version: 2 },
    { id, kind: 'polygon', name: 'yard', area_sq_mi: SQUARE_SQ_MI, version: 1 },
    { ...point, id: b, name: 'mast 1', version: 1 },
  ]);
  t.deepEqual(usage, {
    polygon_count: 1,
    point_count: 2,
    real_time_polygon_count: 1,
    total_area_sq_mi: SQUARE_SQ_MI + 2,
  });
});

test('kind and group_id choose the areas of a list, usage stays that of all', async (t) => {
  const { service } = t.context;
  const polygon = await makeArea(service, polygonBody());
  const north = await makeArea(service, pointBody({ group_id: 'north & "east"' }));
  const single = await makeArea(service, pointBody());
  t.deepEqual(idsOf(await listAreas(service, '?kind=polygon')), [polygon.id]);
  t.deepEqual(idsOf(await listAreas(service, '?kind=point')), [single.id, north.id]);
  const grouped = await listAreas(service, `?group_id=${encodeURIComponent('north & "east"')}`);
  t.deepEqual(idsOf(grouped), [north.id]);
  t.is(grouped.usage.point_count, 2);
  t.deepEqual(idsOf(await listAreas(service, '?group_id=none')), []);
});

for (const limit of [1, 4, 200])
  test(`a walk in pages of ${limit} sees every area once, the last changed first`, async (t) => {
    const { service } = t.context;
    const ids = await makePoints(service, 9);
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await listAreas(service, `?limit=${limit}${cursor === '' ? '' : `&cursor=${cursor}`}`);
      seen.push(...idsOf(page));
      cursor = page.next_cursor;
    }
    t.deepEqual(seen, ids.toReversed());
  });

test('a walk ends although areas change while it goes on, and sees each that nobody touched once', async (t) => {
  const { service } = t.context;
  const ids = (await makePoints(service, 6)).toReversed();
  const seen: string[] = [];
  let page = await listAreas(service, '?limit=2');
  for (let version = 1; page.next_cursor !== null; version++) {
    seen.push(...idsOf(page));
    await changeArea(service, page.next_cursor, { expected_version: 1, name: 'touched' });
    await changeArea(service, ids[5] ?? '', { expected_version: version, name: 'last' });
    page = await listAreas(service, `?limit=2&cursor=${page.next_cursor}`);
  }
  seen.push(...idsOf(page));
  t.deepEqual(seen, ids.slice(0, 5));
});

test('the cursor of an area that was deleted goes on where it was', async (t) => {
  const { service } = t.context;
  const ids = (await makePoints(service, 4)).toReversed();
  const { next_cursor } = await listAreas(service, '?limit=2');
  t.is(next_cursor, ids[1] ?? '');
  await service.call(`${AREAS}/${next_cursor}`, { method: 'DELETE' });
  t.deepEqual(idsOf(await listAreas(service, `?cursor=${next_cursor}`)), ids.slice(2));
});

test('an unknown, malformed or foreign cursor of the areas is 400 invalid_parameter', async (t) => {
  const { service } = t.context;
  const foreign = await makeArea(service, pointBody(), { key: await strangersKey(service) });
  const messages = new Set<string>();
  for (const cursor of ['area_01ARZ3NDEKTSV4RRFFQ69G5FAV', 'a%20b', '', foreign.id]) {
    const { status, body } = await answerOf(service.call(`${AREAS}?cursor=${cursor}`));
    t.deepEqual([status, body.error], [400, 'invalid_parameter']);
    messages.add((body.message ?? '').replace(/'.*'/, ''));
  }
  t.is(messages.size, 1);
  t.is(await creditsUsed(service), 0);
});

test('limits from 1 to 200, known kinds and groups of up to 64 characters are taken, others are 400 invalid_parameter', async (t) => {
  const { service } = t.context;
  for (const query of ['limit=1', 'limit=200', 'limit=50.0', 'kind=point', `group_id=${'x'.repeat(64)}`])
    t.is((await service.call(`${AREAS}?${query}`)).status, 200, query);
  for (const query of [
    'limit=0',
    'limit=201',
    'limit=1.5',
    'kind=circle',
    'kind=',
    'group_id=',
    `group_id=${'x'.repeat(65)}`,
    'kind=point&kind=point',
  ]) {
    const { status, body } = await answerOf(service.call(`${AREAS}?${query}`));
    t.deepEqual([status, body.error], [400, 'invalid_parameter'], query);
  }
});

test('a page holds 50 areas by default', async (t) => {
  await makePoints(t.context.service, 51);
  const { count, next_cursor } = await listAreas(t.context.service);
  t.is(count, 50);
  t.not(next_cursor, null);
});

test('a business sees and counts its own areas only', async (t) => {
  const { service } = t.context;
  await makePoints(service, 2);
  const { areas, usage } = await listAreas(service, '', { key: await strangersKey(service) });
  t.deepEqual([areas, usage.point_count, usage.total_area_sq_mi], [[], 0, 0]);
});
