import { SELF_HOSTED } from '../../api/records/plans.ts';
import { starRing } from '../support/data/simple-rings.ts';
import {
  AREA_ENDPOINTS,
  AREAS,
  answerOf,
  geometryOf,
  listAreas,
  makeArea,
  pointBody,
  polygonBody,
  polygonOf,
  SQUARE,
  SQUARE_SQ_MI,
  sendingJson,
  squareAt,
} from '../support/service/areas.ts';
import { changePlan, creditsUsed, strangersKey } from '../support/service/portfolio.ts';
import { type RunningService, startService } from '../support/service/service.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';

const test = testWith(() => startService({ endpoints: AREA_ENDPOINTS }), closeWithoutFailures);
const NOW = '2026-05-02T00:55:00.000Z';

function post(service: RunningService, body: unknown, headers: Record<string, string> = {}) {
  return answerOf(service.call(AREAS, sendingJson('POST', body, headers)));
}

async function allow(service: RunningService, quotas: Partial<typeof SELF_HOSTED.quotas>): Promise<void> {
  await changePlan(service, { quotas: { ...SELF_HOSTED.quotas, ...quotas } });
}

test('a polygon is created with its box, centre and true area, and without its geometry', async (t) => {
  const { id, ...area } = await makeArea(
    t.context,
    polygonBody({ geometry: polygonOf(SQUARE), real_time: true, purpose: 'both' }),
  );
  t.regex(id, /^area_[0-9A-HJKMNP-TV-Z]{26}$/);
  t.deepEqual(area, {
    kind: 'polygon',
    name: 'yard',
    description: null,
    tags: [],
    priority: 'normal',
    group_id: null,
    real_time: true,
    purpose: 'both',
    bbox: [-97, 35, -96, 36],
    centroid_geohash4: '9y73',
    area_sq_mi: SQUARE_SQ_MI,
    version: 1,
    point: null,
    created_at: NOW,
    updated_at: NOW,
  });
});

test('a point is created for a nominal square mile, under lng as under lon', async (t) => {
  const { id: _, ...area } = await makeArea(t.context, pointBody({ group_id: 'north' }));
  t.deepEqual(area, {
    kind: 'point',
    name: 'mast',
    description: null,
    tags: [],
    priority: 'normal',
    group_id: 'north',
    real_time: false,
    purpose: 'monitoring',
    bbox: [-97.5164, 35.4676, -97.5164, 35.4676],
    centroid_geohash4: '9y69',
    area_sq_mi: 1,
    version: 1,
    point: { lat: 35.4676, lng: -97.5164 },
    created_at: NOW,
    updated_at: NOW,
  });
  const other = await makeArea(t.context, pointBody({ point: { lat: 35.4676, lon: -97.5164 } }));
  t.deepEqual(other.point, area.point);
});

test('a polygon is neither in real time nor for canvassing unless it is said, and null means absent', async (t) => {
  t.like(await makeArea(t.context, polygonBody({ real_time: null, purpose: null, point: null })), {
    real_time: false,
    purpose: 'monitoring',
  });
});

test('a name of 100 characters is taken, whatever they take in UTF-16', async (t) => {
  t.is((await makeArea(t.context, pointBody({ name: '🌩'.repeat(100) }))).name, '🌩'.repeat(100));
});

for (const [what, body, message] of [
  ['without a kind', { ...pointBody(), kind: undefined }, /^\/kind: /],
  ['of another kind', pointBody({ kind: 'circle' }), /^\/kind: /],
  ['without a name', pointBody({ name: undefined }), /^\/name: is missing, expected string/],
  ['with an empty name', pointBody({ name: '' }), /^\/name: expected 1 to 100 characters/],
  ['with a blank name', polygonBody({ name: ' \t' }), /^\/name: expected 1 to 100 characters/],
  ['with a name of 101 characters', polygonBody({ name: 'x'.repeat(101) }), /^\/name: expected 1 to 100 characters/],
  ['of a polygon without geometry', polygonBody({ geometry: undefined }), /^\/geometry: is missing/],
  ['of a polygon with a point', polygonBody({ point: { lat: 35, lng: -97 } }), /^\/point: is of point areas only/],
  ['of a polygon with a group', polygonBody({ group_id: 'north' }), /^\/group_id: is of point areas only/],
  ['of a point without its place', pointBody({ point: undefined }), /^\/point: /],
  ['of a point with a geometry', pointBody({ geometry: squareAt(-97, 35) }), /^\/geometry: is of polygon areas only/],
  ['of a point in real time', pointBody({ real_time: false }), /^\/real_time: is of polygon areas only/],
  ['of a point with a purpose', pointBody({ purpose: 'both' }), /^\/purpose: is of polygon areas only/],
  ['with an unknown purpose', polygonBody({ purpose: 'selling' }), /^\/purpose: /],
  ['with a text for real_time', polygonBody({ real_time: 'true' }), /^\/real_time: /],
  ['with an empty group', pointBody({ group_id: '' }), /^\/group_id: expected 1 to 64 characters/],
  [
    'with a group of 65 characters',
    pointBody({ group_id: 'x'.repeat(65) }),
    /^\/group_id: expected 1 to 64 characters/,
  ],
  ['of a point without longitude', pointBody({ point: { lat: 35 } }), /^\/point\/lng: /],
  [
    'of a point with two longitudes',
    pointBody({ point: { lat: 35, lon: -97, lng: -96 } }),
    /^\/point\/lng: is given as lng and as lon/,
  ],
  [
    'of a point with a text for its latitude',
    pointBody({ point: { lat: '35', lng: -97 } }),
    /^\/point\/lat: expected number/,
  ],
  [
    'of a point in the eastern hemisphere',
    pointBody({ point: { lat: 35, lng: 97 } }),
    /^\/point: lon is 97, expected -125 to -66, longitudes west of Greenwich are negative$/,
  ],
  [
    'of a point with lat and lng swapped',
    pointBody({ point: { lat: -97, lng: 35 } }),
    /^\/point: lat is -97, expected 24 to 50, lat and lon look swapped$/,
  ],
  [
    'with a bow-tie',
    polygonBody({ geometry: polygonOf([SQUARE[0], SQUARE[1], SQUARE[3], SQUARE[2], SQUARE[0]]) }),
    /^\/geometry\/coordinates\/0: crosses or touches itself near -97 36$/,
  ],
  [
    'with a hole',
    polygonBody({ geometry: polygonOf(SQUARE, SQUARE) }),
    /^\/geometry\/coordinates: has 2 rings, expected the outer ring only/,
  ],
  [
    'with a MultiPolygon',
    polygonBody({ geometry: { type: 'MultiPolygon', coordinates: [[SQUARE]] } }),
    /^\/geometry\/type: is 'MultiPolygon', expected Polygon$/,
  ],
  [
    'with an unclosed ring',
    polygonBody({ geometry: polygonOf([...SQUARE.slice(0, 4), [-97, 35.5]]) }),
    /^\/geometry\/coordinates\/0: is not closed/,
  ],
  [
    'with three positions',
    polygonBody({ geometry: polygonOf(SQUARE.slice(0, 3)) }),
    /^\/geometry\/coordinates\/0: has 3 positions, expected 4 or more/,
  ],
  [
    'without area',
    polygonBody({ geometry: polygonOf([SQUARE[0], SQUARE[1], SQUARE[1], SQUARE[0]]) }),
    /^\/geometry\/coordinates\/0: has 2 different positions/,
  ],
  [
    'on a line',
    polygonBody({
      geometry: polygonOf([
        [-97, 35],
        [-96, 35],
        [-95, 35],
        [-97, 35],
      ]),
    }),
    /^\/geometry\/coordinates\/0: has no area/,
  ],
  [
    'with a vertex in the eastern hemisphere',
    polygonBody({ geometry: polygonOf(SQUARE.map(([lon, lat]) => [-lon, lat])) }),
    /^\/geometry\/coordinates\/0\/0: lon is 97, .*west of Greenwich are negative$/,
  ],
  [
    'with latitude before longitude',
    polygonBody({ geometry: polygonOf(SQUARE.map(([lon, lat]) => [lat, lon])) }),
    /^\/geometry\/coordinates\/0\/0: lat is -97, .*look swapped$/,
  ],
  [
    'with 20,001 positions',
    polygonBody({ geometry: polygonOf(starRing([-97, 37], Array(20_000).fill(1))) }),
    /^\/geometry\/coordinates\/0: has 20001 positions, expected at most 20000$/,
  ],
] as const)
  test(`POST /v1/areas ${what} is 400 bad_request with the reason, and costs nothing`, async (t) => {
    const { status, body: answer } = await post(t.context, body);
    t.deepEqual([status, answer.error], [400, 'bad_request']);
    t.regex(answer.message ?? '', message);
    t.is(await creditsUsed(t.context), 0);
    t.is((await listAreas(t.context)).count, 0);
  });

test('20,000 positions are taken, stored with 499, and counted with the area that was sent', async (t) => {
  const ring = starRing(
    [-97, 37],
    Array.from({ length: 19_999 }, (_, i) => (i % 2 === 0 ? 0.2 : 0.3)),
  );
  const area = await makeArea(t.context, polygonBody({ geometry: polygonOf(ring) }));
  const { geometry } = await geometryOf(t.context, area.id);
  t.is(geometry?.coordinates[0]?.length, 499);
  const same = await makeArea(t.context, polygonBody({ geometry: polygonOf(ring.toReversed()) }));
  t.is(same.area_sq_mi, area.area_sq_mi);
  const stored = await makeArea(t.context, polygonBody({ geometry }));
  t.not(stored.area_sq_mi, area.area_sq_mi);
});

for (const [quota, first, second] of [
  ['polygons', polygonBody(), polygonBody()],
  ['point_areas', pointBody(), pointBody()],
  ['real_time_polygons', polygonBody({ real_time: true }), polygonBody({ real_time: true })],
  ['area_sq_mi', pointBody(), polygonBody()],
] as const)
  test(`an area over the quota ${quota} is 429 resource_exhausted, names it, and costs nothing`, async (t) => {
    await allow(t.context, { [quota]: 1 });
    await makeArea(t.context, first);
    const { status, body } = await post(t.context, second);
    t.deepEqual([status, body.error], [429, 'resource_exhausted']);
    t.true(body.message?.startsWith(`${quota}: the plan allows 1 `), body.message);
    t.is(
      (await listAreas(t.context)).usage[quota === 'point_areas' ? 'point_count' : 'polygon_count'],
      quota === 'area_sq_mi' ? 0 : 1,
    );
    t.is(await creditsUsed(t.context), 3 + 1);
  });

test('a quota of square miles may be used up exactly', async (t) => {
  await allow(t.context, { area_sq_mi: 3 });
  for (let k = 0; k < 3; k++) await makeArea(t.context, pointBody());
  t.is((await post(t.context, pointBody())).status, 429);
  t.is((await listAreas(t.context)).usage.total_area_sq_mi, 3);
});

test('of many calls at once exactly those within the quota succeed, and only they are charged', async (t) => {
  await allow(t.context, { polygons: 7 });
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, k) => post(t.context, polygonBody({ geometry: squareAt(-120 + k, 35) }))),
  );
  t.is(answers.filter(({ status }) => status === 200).length, 7);
  t.is(answers.filter(({ status, body }) => status === 429 && body.error === 'resource_exhausted').length, 33);
  t.is(await creditsUsed(t.context), 7 * 3);
  t.is((await listAreas(t.context)).usage.polygon_count, 7);
});

test('the ninth area of a group is 429 resource_exhausted, also of many at once', async (t) => {
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => post(t.context, pointBody({ group_id: 'north' }))),
  );
  t.is(answers.filter(({ status }) => status === 200).length, 8);
  const refused = answers.find(({ status }) => status !== 200);
  t.deepEqual(
    [refused?.status, refused?.body.error, refused?.body.message],
    [429, 'resource_exhausted', 'group_id: a group holds at most 8 areas'],
  );
  t.is((await post(t.context, pointBody({ group_id: 'south' }))).status, 200);
});

test('a group of the same name in another business is another group, and its areas take no quota here', async (t) => {
  const key = await strangersKey(t.context);
  for (let k = 0; k < 8; k++) await makeArea(t.context, pointBody({ group_id: 'north' }), { key });
  await allow(t.context, { point_areas: 1 });
  await makeArea(t.context, pointBody({ group_id: 'north' }));
  t.is((await listAreas(t.context)).usage.point_count, 1);
});

test('the same Idempotency-Key makes one area, answers the same bytes again, and charges once', async (t) => {
  const send = () => t.context.call(AREAS, sendingJson('POST', polygonBody(), { 'Idempotency-Key': 'k' }));
  const [first, again] = [await send(), await send()];
  t.is(again.headers.get('Idempotent-Replay'), 'true');
  t.is(await again.text(), await first.text());
  t.is((await listAreas(t.context)).count, 1);
  t.is(await creditsUsed(t.context), 3 + 1);
});

test('a refused area leaves its Idempotency-Key free for a better one', async (t) => {
  const key = { 'Idempotency-Key': 'k' };
  t.is((await post(t.context, polygonBody({ geometry: polygonOf(SQUARE.slice(1)) }), key)).status, 400);
  t.is((await post(t.context, polygonBody(), key)).status, 200);
});
