import { SELF_HOSTED } from '../../api/accounts/plans.ts';
import { PortfolioImpacts } from '../../schemas/resources/portfolio-impact.ts';
import type { PortfolioLocations } from '../../schemas/resources/portfolio-location.ts';
import { UPLOAD_ROWS_MAX } from '../../schemas/resources/portfolio-upload.ts';
import { positionsOf, starRing } from '../support/data/rings.ts';
import { pluck } from '../support/data/rows.ts';
import { midnight, preparedRoot } from '../support/data/world.ts';
import { raise } from '../support/service/alerts.ts';
import {
  AREAS,
  answerOf,
  changeArea,
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
import {
  changePlan,
  creditsUsed,
  IMPACTS,
  LOCATIONS,
  rows,
  sending,
  strangersKey,
  upload,
  walk,
} from '../support/service/portfolio.ts';
import { type RunningService, SERVICE_NOW_MS, startService } from '../support/service/service.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';
import { parsed } from './answers.ts';

const test = testWith(() => startService(), closeWithoutFailures);
const NOW = '2026-05-02T00:55:00.000Z';
/** Fields of a new area, which none of the first bodies gives. */
const NEW_AREA = { description: null, tags: [], priority: 'normal', version: 1, created_at: NOW, updated_at: NOW };

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
    ...NEW_AREA,
    kind: 'polygon',
    name: 'yard',
    group_id: null,
    real_time: true,
    purpose: 'both',
    bbox: [-97, 35, -96, 36],
    centroid_geohash4: '9y73',
    area_sq_mi: SQUARE_SQ_MI,
    point: null,
  });
});

test('a point is created for a nominal square mile, under lng as under lon', async (t) => {
  const { id: _, ...area } = await makeArea(t.context, pointBody({ group_id: 'north' }));
  t.deepEqual(area, {
    ...NEW_AREA,
    kind: 'point',
    name: 'mast',
    group_id: 'north',
    real_time: false,
    purpose: 'monitoring',
    bbox: [-97.5164, 35.4676, -97.5164, 35.4676],
    centroid_geohash4: '9y69',
    area_sq_mi: 1,
    point: { lat: 35.4676, lng: -97.5164 },
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

const at = (point: unknown) => pointBody({ point });
const around = (...rings: unknown[]) => polygonBody({ geometry: polygonOf(...(rings as (typeof SQUARE)[])) });
const OUTLINE = '/geometry/coordinates/0';
const MULTI = polygonBody({ geometry: { type: 'MultiPolygon', coordinates: [[SQUARE]] } });
const EASTERN = around(SQUARE.map(([lon, lat]) => [-lon, lat]));
const SWAPPED = around(SQUARE.map(([lon, lat]) => [lat, lon]));
const TOO_MANY = around(starRing([-97, 37], Array(20_000).fill(1)));

for (const [what, body, pointer, message] of [
  ['without a kind', { ...pointBody(), kind: undefined }, '/kind', 'is missing, expected one of polygon, point'],
  ['of another kind', pointBody({ kind: 'circle' }), '/kind', ''],
  ['without a name', pointBody({ name: undefined }), '/name', 'is missing, expected string'],
  ['with an empty name', pointBody({ name: '' }), '/name', 'expected 1 to 100 characters'],
  ['with a blank name', polygonBody({ name: ' \t' }), '/name', 'expected 1 to 100 characters'],
  ['with a name of 101 characters', polygonBody({ name: 'x'.repeat(101) }), '/name', 'expected 1 to 100 characters'],
  ['of a polygon without geometry', polygonBody({ geometry: undefined }), '/geometry', 'is missing'],
  ['of a polygon with a point', polygonBody({ point: { lat: 35, lng: -97 } }), '/point', 'is of point areas only'],
  ['of a polygon with a group', polygonBody({ group_id: 'north' }), '/group_id', 'is of point areas only'],
  ['of a point without its place', at(undefined), '/point', ''],
  ['of a point with a geometry', pointBody({ geometry: squareAt(-97, 35) }), '/geometry', 'is of polygon areas only'],
  ['of a point in real time', pointBody({ real_time: false }), '/real_time', 'is of polygon areas only'],
  ['of a point with a purpose', pointBody({ purpose: 'both' }), '/purpose', 'is of polygon areas only'],
  ['with an unknown purpose', polygonBody({ purpose: 'selling' }), '/purpose', ''],
  ['with a text for real_time', polygonBody({ real_time: 'true' }), '/real_time', ''],
  ['with an empty group', pointBody({ group_id: '' }), '/group_id', 'expected 1 to 64 characters'],
  [
    'with a group of 65 characters',
    pointBody({ group_id: 'x'.repeat(65) }),
    '/group_id',
    'expected 1 to 64 characters',
  ],
  ['of a point without longitude', at({ lat: 35 }), '/point/lng', ''],
  ['of a point with two longitudes', at({ lat: 35, lon: -97, lng: -96 }), '/point/lng', 'is given as lng and as lon'],
  ['of a point with a text for its latitude', at({ lat: '35', lng: -97 }), '/point/lat', 'expected number'],
  [
    'of a point in the eastern hemisphere',
    at({ lat: 35, lng: 97 }),
    '/point',
    'lon is 97, expected -125 to -66, longitudes west of Greenwich are negative$',
  ],
  [
    'of a point with lat and lng swapped',
    at({ lat: -97, lng: 35 }),
    '/point',
    'lat is -97, expected 24 to 50, lat and lon look swapped$',
  ],
  ['with a bow-tie', around([0, 1, 3, 2, 0].map((k) => SQUARE[k])), OUTLINE, 'crosses or touches itself near -97 36$'],
  ['with a hole', around(SQUARE, SQUARE), '/geometry/coordinates', 'has 2 rings, expected the outer ring only'],
  ['with a MultiPolygon', MULTI, '/geometry/type', "is 'MultiPolygon', expected Polygon$"],
  ['with an unclosed ring', around([...SQUARE.slice(0, 4), [-97, 35.5]]), OUTLINE, 'is not closed'],
  ['with three positions', around(SQUARE.slice(0, 3)), OUTLINE, 'has 3 positions, expected 4 or more'],
  ['without area', around([0, 1, 1, 0].map((k) => SQUARE[k])), OUTLINE, 'has 2 different positions'],
  ['on a line', around(positionsOf('-97 35, -96 35, -95 35, -97 35')), OUTLINE, 'has no area'],
  ['with a vertex in the eastern hemisphere', EASTERN, `${OUTLINE}/0`, 'lon is 97, .*west of Greenwich are negative$'],
  ['with latitude before longitude', SWAPPED, `${OUTLINE}/0`, 'lat is -97, .*look swapped$'],
  ['with 20,001 positions', TOO_MANY, OUTLINE, 'has 20001 positions, expected at most 20000$'],
] as const)
  test(`POST /v1/areas ${what} is 400 bad_request with the reason, and costs nothing`, async (t) => {
    const { status, body: answer } = await post(t.context, body);
    t.deepEqual([status, answer.error], [400, 'bad_request']);
    t.regex(answer.message ?? '', new RegExp(`^${pointer}: ${message}`));
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
    const used = (await listAreas(t.context)).usage[quota === 'point_areas' ? 'point_count' : 'polygon_count'];
    t.is(used, quota === 'area_sq_mi' ? 0 : 1);
    t.is(await creditsUsed(t.context), 3 + 1);
  });

test('a quota of square miles may be used up exactly', async (t) => {
  await allow(t.context, { area_sq_mi: 3 });
  for (let k = 0; k < 3; k++) await makeArea(t.context, pointBody());
  t.is((await post(t.context, pointBody())).status, 429);
  t.is((await listAreas(t.context)).usage.total_area_sq_mi, 3);
});

test('the ninth area of a group is 429 resource_exhausted, also of many at once', async (t) => {
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => post(t.context, pointBody({ group_id: 'north' }))),
  );
  t.is(answers.filter(({ status }) => status === 200).length, 8);
  const refused = answers.find(({ status }) => status !== 200);
  const refusal = [refused?.status, refused?.body.error, refused?.body.message];
  t.deepEqual(refusal, [429, 'resource_exhausted', 'group_id: a group holds at most 8 areas']);
  t.is((await post(t.context, pointBody({ group_id: 'south' }))).status, 200);
});

test('a group of the same name in another business is another group, and its areas take no quota here', async (t) => {
  const key = await strangersKey(t.context);
  for (let k = 0; k < 8; k++) await makeArea(t.context, pointBody({ group_id: 'north' }), { key });
  await allow(t.context, { point_areas: 1 });
  await makeArea(t.context, pointBody({ group_id: 'north' }));
  t.is((await listAreas(t.context)).usage.point_count, 1);
});

const UNKNOWN = 'area_01ARZ3NDEKTSV4RRFFQ69G5FAV';

test('GET /v1/areas/{id} answers what the creation answered, without geometry', async (t) => {
  for (const body of [polygonBody(), pointBody({ group_id: 'north' })]) {
    const made = await makeArea(t.context, body);
    const found = await t.context.json(`${AREAS}/${made.id}`);
    t.deepEqual(found, made);
    t.false('geometry' in made);
  }
});

test('GET /v1/areas/{id}/geometry answers a polygon wound counter-clockwise with six decimals, null for a point', async (t) => {
  const clockwise = SQUARE.map(([lon, lat]) => [lon + 0.12345678, lat]).reverse();
  const { id, bbox } = await makeArea(t.context, polygonBody({ geometry: polygonOf(clockwise) }));
  const { geometry } = await geometryOf(t.context, id);
  t.is(geometry?.type, 'Polygon');
  const [ring = []] = geometry?.coordinates ?? [];
  t.deepEqual(ring[0], ring.at(-1));
  const around = ['-96.876543,35', '-95.876543,35', '-95.876543,36', '-96.876543,36'];
  const first = around.indexOf(String(ring[0]));
  t.deepEqual(ring.slice(0, 4).map(String), [...around.slice(first), ...around.slice(0, first)]);
  t.deepEqual(bbox, [-96.876543, 35, -95.876543, 36]);
  const point = await makeArea(t.context, pointBody());
  t.is((await geometryOf(t.context, point.id)).geometry, null);
});

test("another business's area is 404 not_found to every call, in the words of an id that never was", async (t) => {
  const { id } = await makeArea(t.context, polygonBody());
  const key = await strangersKey(t.context);
  const patch = sendingJson('PATCH', { expected_version: 1, name: 'x' });
  for (const [path, init] of [
    ['', {}],
    ['/geometry', {}],
    ['', patch],
    ['', { method: 'DELETE' }],
  ] as const) {
    const foreign = await answerOf(t.context.call(`${AREAS}/${id}${path}`, { ...init, key }));
    const unknown = await answerOf(t.context.call(`${AREAS}/${UNKNOWN}${path}`, { ...init, key }));
    t.deepEqual([foreign.status, foreign.body.error], [404, 'not_found']);
    t.is(foreign.body.message, 'no such area');
    t.deepEqual(unknown.status, 404);
    t.is(foreign.body.message?.replace(id, ''), unknown.body.message?.replace(UNKNOWN, ''));
    t.deepEqual([...foreign.headers.keys()], [...unknown.headers.keys()]);
  }
  t.is((await t.context.call(`${AREAS}/${id}`)).status, 200);
  t.is(await creditsUsed(t.context), 3 + 1);
});

test('an id that cannot be is 404, not 400', async (t) => {
  for (const id of ['a%20b', `area_${'x'.repeat(64)}`, 'loc_1', '%00'])
    t.is((await t.context.call(`${AREAS}/${id}`)).status, 404, id);
});

test('DELETE /v1/areas/{id} deletes an area, its geometry and what it took of the quotas', async (t) => {
  const { id } = await makeArea(t.context, polygonBody({ real_time: true }));
  const kept = await makeArea(t.context, pointBody());
  t.deepEqual(await t.context.json(`${AREAS}/${id}`, { method: 'DELETE' }), { success: true, id });
  for (const path of [id, `${id}/geometry`]) t.is((await t.context.call(`${AREAS}/${path}`)).status, 404);
  const { areas, usage } = await listAreas(t.context);
  t.deepEqual(pluck(areas, 'id'), [kept.id]);
  t.deepEqual(usage, { polygon_count: 0, point_count: 1, real_time_polygon_count: 0, total_area_sq_mi: 1 });
  t.is(await creditsUsed(t.context), 3 + 3 + 2 + 1);
});

test('a second DELETE of one area is 404, of many at once one succeeds, and only that is charged', async (t) => {
  const { id } = await makeArea(t.context, polygonBody());
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => answerOf(t.context.call(`${AREAS}/${id}`, { method: 'DELETE' }))),
  );
  t.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(9).fill(404)]);
  t.is(await creditsUsed(t.context), 3 + 2);
});

test('the alerts of an area go with it, those of others stay', async (t) => {
  const { id } = await makeArea(t.context, polygonBody());
  const other = await makeArea(t.context, polygonBody());
  for (const location_id of [id, other.id]) await raise(t.context, location_id, { location_kind: 'area' });
  await t.context.call(`${AREAS}/${id}`, { method: 'DELETE' });
  const { reader } = t.context.records;
  t.deepEqual(await reader.selectFrom('alerts').select('location_id').execute(), [{ location_id: other.id }]);
});

const LATER = '2026-05-02T01:55:00.000Z';

test('a new name raises the version and the time of the change, and leaves the rest', async (t) => {
  const made = await makeArea(t.context, polygonBody({ real_time: true }));
  t.context.clock.ms += 3_600_000;
  const { status, body } = await changeArea(t.context, made.id, { expected_version: 1, name: 'new' });
  t.is(status, 200);
  t.deepEqual(body, { ...made, name: 'new', version: 2, updated_at: LATER });
  t.deepEqual(await t.context.json(`${AREAS}/${made.id}`), body);
  t.is((await geometryOf(t.context, made.id)).updated_at, made.updated_at);
});

test('a new geometry is replaced whole, judged like a new one, and counted by its difference', async (t) => {
  const { id, area_sq_mi } = await makeArea(t.context, polygonBody());
  t.context.clock.ms += 3_600_000;
  const { body } = await changeArea(t.context, id, { expected_version: 1, geometry: squareAt(-90, 40, 0.2) });
  t.like(body, { version: 2, bbox: [-90, 40, -89.8, 40.2], centroid_geohash4: 'dp0h' });
  t.true((body.area_sq_mi ?? 0) > 3 * area_sq_mi);
  t.is((await listAreas(t.context)).usage.total_area_sq_mi, body.area_sq_mi ?? 0);
  t.like(await geometryOf(t.context, id), { updated_at: LATER });
  const bad = await changeArea(t.context, id, { expected_version: 2, geometry: squareAt(90, 40) });
  t.deepEqual([bad.status, bad.body.error], [400, 'bad_request']);
  t.regex(bad.body.message ?? '', /^\/geometry\/coordinates\/0\/0: lon is 90, /);
});

test('a new point moves a point area', async (t) => {
  const { id } = await makeArea(t.context, pointBody());
  const { body } = await changeArea(t.context, id, { expected_version: 1, point: { lat: 40, lon: -100 } });
  t.like(body, { version: 2, point: { lat: 40, lng: -100 }, bbox: [-100, 40, -100, 40], area_sq_mi: 1 });
});

test('a stale version is 409 version_conflict, tells the present one, changes nothing and costs nothing', async (t) => {
  const { id } = await makeArea(t.context, pointBody());
  await changeArea(t.context, id, { expected_version: 1, name: 'second' });
  for (const expected_version of [1, 3, 0, -1]) {
    const { status, body } = await changeArea(t.context, id, { expected_version, name: 'third' });
    t.deepEqual([status, body.error], [409, 'version_conflict']);
    t.is(body.message, `/expected_version: is ${expected_version}, the area has version 2`);
  }
  t.is(((await t.context.json(`${AREAS}/${id}`)) as { name: string }).name, 'second');
  t.is(await creditsUsed(t.context), 3 + 3 + 1);
});

for (const [kind, body] of [
  ['polygon', polygonBody()],
  ['point', pointBody()],
] as const)
  test(`PATCH /v1/areas/{id} takes a ${kind} area as GET returns it, and changes its name alone`, async (t) => {
    const made = await makeArea(t.context, body);
    const sent = { ...made, expected_version: 1, name: 'new', kind: 'any', real_time: true };
    t.is((await changeArea(t.context, made.id, sent)).status, 200);
    t.deepEqual(await t.context.json(`${AREAS}/${made.id}`), { ...made, name: 'new', version: 2 });
    const other = await changeArea(t.context, made.id, { ...sent, expected_version: 2, colour: 'red' });
    t.deepEqual([other.status, other.body.error], [400, 'bad_request']);
    t.regex(other.body.message ?? '', /^\/colour: is not a field of this request/);
  });

const POINT_CHANGE = { point: { lat: 35, lng: -97 } };
const OUTLINE_CHANGE = { geometry: squareAt(-97, 35) };

for (const [what, kind, change, message] of [
  ['without expected_version', 'point', { expected_version: undefined, name: 'x' }, /^\/expected_version: /],
  ['with expected_version alone', 'point', {}, /nothing to change, expected name, geometry or point$/],
  ['with half a version', 'point', { expected_version: 1.5, name: 'x' }, /^\/expected_version: /],
  ['with a text for the version', 'point', { expected_version: '1', name: 'x' }, /^\/expected_version: /],
  ['with an empty name', 'point', { name: '' }, /^\/name: expected 1 to 100 characters/],
  ['with a name of 101 characters', 'point', { name: 'x'.repeat(101) }, /^\/name: /],
  ['with null for the name', 'point', { name: null }, /^\/name: /],
  ['with null for the geometry', 'polygon', { geometry: null }, /^\/geometry: is no object/],
  ['with a geometry for a point', 'point', OUTLINE_CHANGE, /^\/geometry: is of polygon areas only/],
  ['with a point for a polygon', 'polygon', POINT_CHANGE, /^\/point: is of point areas only/],
  ['with both', 'polygon', { ...POINT_CHANGE, ...OUTLINE_CHANGE }, /^\/point: is given beside geometry/],
  ['with a point outside CONUS', 'point', { point: { lat: 35, lng: 97 } }, /^\/point: lon is 97/],
] as const)
  test(`PATCH /v1/areas/{id} ${what} is 400 bad_request, and changes nothing`, async (t) => {
    const made = await makeArea(t.context, kind === 'point' ? pointBody() : polygonBody());
    const answer = await changeArea(t.context, made.id, { expected_version: 1, ...change });
    t.deepEqual([answer.status, answer.body.error], [400, 'bad_request']);
    t.regex(answer.body.message ?? '', message);
    t.deepEqual(await t.context.json(`${AREAS}/${made.id}`), made);
  });

test('an area that would grow over the quota is 429 resource_exhausted; it may shrink, and change its name, over it', async (t) => {
  await changePlan(t.context, { quotas: { ...SELF_HOSTED.quotas, area_sq_mi: 100 } });
  const { id } = await makeArea(t.context, polygonBody());
  const grown = await changeArea(t.context, id, { expected_version: 1, geometry: squareAt(-97, 35, 0.2) });
  t.deepEqual([grown.status, grown.body.error], [429, 'resource_exhausted']);
  t.is(grown.body.message, 'area_sq_mi: the plan allows 100 square miles');
  await t.context.records.transaction(async (rows) => {
    await rows.updateTable('areas').set({ area_sq_mi: 250 }).execute();
  });
  t.is((await changeArea(t.context, id, { expected_version: 1, name: 'over it' })).status, 200);
  t.is((await changeArea(t.context, id, { expected_version: 2, geometry: squareAt(-97, 35, 0.2) })).status, 200);
});

/** A service whose clock goes on by a second with each look at it, so that changes have an order in time. */
function startMoving(): Promise<RunningService> {
  let now_ms = SERVICE_NOW_MS;
  return startService({ now: () => (now_ms += 1000) });
}

const testListing = testWith(startMoving, closeWithoutFailures);

async function makePoints(service: RunningService, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let k = 0; k < count; k++) ids.push((await makeArea(service, pointBody({ name: `mast ${k}` }))).id);
  return ids;
}

function idsOf({ areas }: { areas: readonly { id: string }[] }): string[] {
  return areas.map(({ id }) => id);
}

testListing('without areas the list is empty and nothing is used', async (t) => {
  t.deepEqual(await listAreas(t.context), {
    areas: [],
    count: 0,
    next_cursor: null,
    usage: { polygon_count: 0, point_count: 0, real_time_polygon_count: 0, total_area_sq_mi: 0 },
  });
});

testListing('an area is listed by its summary, the last changed first, and usage counts all of them', async (t) => {
  const [a = '', b = ''] = await makePoints(t.context, 2);
  const { id } = await makeArea(t.context, polygonBody({ geometry: polygonOf(SQUARE), real_time: true }));
  await changeArea(t.context, a, { expected_version: 1, name: 'changed' });
  const { areas, usage } = await listAreas(t.context);
  const point = { kind: 'point', area_sq_mi: 1 } as const;
  t.deepEqual(areas, [
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

testListing('kind and group_id choose the areas of a list, usage stays that of all', async (t) => {
  const polygon = await makeArea(t.context, polygonBody());
  const north = await makeArea(t.context, pointBody({ group_id: 'north & "east"' }));
  const single = await makeArea(t.context, pointBody());
  t.deepEqual(idsOf(await listAreas(t.context, '?kind=polygon')), [polygon.id]);
  t.deepEqual(idsOf(await listAreas(t.context, '?kind=point')), [single.id, north.id]);
  const grouped = await listAreas(t.context, `?group_id=${encodeURIComponent('north & "east"')}`);
  t.deepEqual(idsOf(grouped), [north.id]);
  t.is(grouped.usage.point_count, 2);
  t.deepEqual(idsOf(await listAreas(t.context, '?group_id=none')), []);
});

testListing('a walk ends although areas change while it goes on, and sees each that nobody touched once', async (t) => {
  const ids = (await makePoints(t.context, 6)).toReversed();
  const seen: string[] = [];
  let page = await listAreas(t.context, '?limit=2');
  for (let version = 1; page.next_cursor !== null; version++) {
    seen.push(...idsOf(page));
    await changeArea(t.context, page.next_cursor, { expected_version: 1, name: 'touched' });
    await changeArea(t.context, ids[5] ?? '', { expected_version: version, name: 'last' });
    page = await listAreas(t.context, `?limit=2&cursor=${page.next_cursor}`);
  }
  seen.push(...idsOf(page));
  t.deepEqual(seen, ids.slice(0, 5));
});

testListing('an unknown, malformed or foreign cursor of the areas is 400 invalid_parameter', async (t) => {
  const foreign = await makeArea(t.context, pointBody(), { key: await strangersKey(t.context) });
  const messages = new Set<string>();
  for (const cursor of ['area_01ARZ3NDEKTSV4RRFFQ69G5FAV', 'a%20b', '', foreign.id]) {
    const { status, body } = await answerOf(t.context.call(`${AREAS}?cursor=${cursor}`));
    t.deepEqual([status, body.error], [400, 'invalid_parameter']);
    messages.add((body.message ?? '').replace(/'.*'/, ''));
  }
  t.is(messages.size, 1);
  t.is(await creditsUsed(t.context), 0);
});

testListing('a business sees and counts its own areas only', async (t) => {
  await makePoints(t.context, 2);
  const { areas, usage } = await listAreas(t.context, '', { key: await strangersKey(t.context) });
  t.deepEqual([areas, usage.point_count, usage.total_area_sq_mi], [[], 0, 0]);
});
const DEPOT = { name: 'Depot', lat: 35.4676, lon: -97.5164 };

async function postRows(service: RunningService, body: unknown, headers: Record<string, string> = {}) {
  const response = await service.call(LOCATIONS, sending('POST', body, headers));
  return { status: response.status, headers: response.headers, text: await response.text() };
}

test('creates a location for a JSON row and says so', async (t) => {
  const answer = await upload(t.context, [{ ...DEPOT, address: '1 Main St', tags: ['roof', 'flat'] }]);
  const id = answer.accepted[0]?.id ?? '';
  t.regex(id, /^loc_[0-9A-HJKMNP-TV-Z]{26}$/);
  t.deepEqual(answer, {
    total_rows: 1,
    accepted_count: 1,
    rejected_count: 0,
    accepted: [{ row_index: 0, id, name: 'Depot', action: 'created' }],
    rejected: [],
    quota: { point_locations_before: 0, point_locations_after: 1, limit: 10_000 },
  });
  const [page] = await walk(t.context, 50);
  t.like(page?.locations[0], { id, ...DEPOT, address: '1 Main St', tags: ['roof', 'flat'] });
});

test('takes the same from CSV, with a byte order mark, CRLF, quotes and tags', async (t) => {
  const csv =
    '\uFEFFTags,NAME,lat,Lon,owner,address\r\nroof|flat,"Depot, ""north""",35.4676,-97.5164,me,"1 Main St\r\nTulsa"\r\n';
  t.like(await upload(t.context, csv), { accepted_count: 1, rejected_count: 0 });
  const [page] = await walk(t.context, 50);
  t.like(page?.locations[0], {
    name: 'Depot, "north"',
    lat: 35.4676,
    lon: -97.5164,
    address: '1 Main St\r\nTulsa',
    tags: ['roof', 'flat'],
  });
});

test('judges every row alone and keeps their order', async (t) => {
  const answer = await upload(t.context, [
    DEPOT,
    { lat: 35, lon: -97 },
    { ...DEPOT, name: 'North', lat: 51 },
    17,
    { ...DEPOT, name: 'Swapped', lat: -97.5, lon: 35.5 },
    { ...DEPOT, name: 'Second' },
  ]);
  t.deepEqual(pluck(answer.accepted, 'row_index'), [0, 5]);
  t.deepEqual(pluck(answer.accepted, 'name'), ['Depot', 'Second']);
  const rejected = answer.rejected.map(({ row_index, name, reason }) => [row_index, name, reason.split(':')[0]]);
  t.deepEqual(rejected, [
    [1, null, 'missing_name'],
    [2, 'North', 'outside_conus'],
    [3, null, 'malformed_row'],
    [4, 'Swapped', 'invalid_coordinates'],
  ]);
  t.like(answer, { total_rows: 6, accepted_count: 2, rejected_count: 4 });
});

test('row_index counts CSV rows from 0 without the header, rejected and ragged ones too', async (t) => {
  const answer = await upload(t.context, 'name,lat,lon\nA,35,-97\nB,35\n\nC,x,-97\nD,35,-97,\nE,35,-97\n');
  t.deepEqual(pluck(answer.accepted, 'row_index'), [0, 4]);
  const rejected = answer.rejected.map(({ row_index, name, reason }) => [row_index, name, reason.split(':')[0]]);
  t.deepEqual(rejected, [
    [1, 'B', 'malformed_row'],
    [2, 'C', 'invalid_coordinates'],
    [3, 'D', 'malformed_row'],
  ]);
});

test('a row with an id replaces name and coordinates, keeps what is absent and clears what is empty', async (t) => {
  const first = await upload(t.context, [{ ...DEPOT, address: '1 Main St', tags: ['roof'] }]);
  const id = first.accepted[0]?.id;
  const second = await upload(t.context, [{ id, name: 'Moved', lat: 36, lon: -98 }]);
  t.like(second.accepted[0], { id, name: 'Moved', action: 'updated' });
  t.like((await walk(t.context, 1))[0]?.locations[0], { name: 'Moved', lat: 36, address: '1 Main St', tags: ['roof'] });
  await upload(t.context, `id,name,lat,lon,address,tags\n${id},Moved,36,-98,,`);
  t.like((await walk(t.context, 1))[0]?.locations[0], { address: '', tags: [] });
});

test("an unknown id and another business's id are rejected alike, and never created", async (t) => {
  const key = await strangersKey(t.context);
  const foreign = (await upload(t.context, [DEPOT], key)).accepted[0]?.id;
  const answer = await upload(t.context, [
    { ...DEPOT, id: foreign },
    { ...DEPOT, id: 'loc_mine' },
    { ...DEPOT, id: 'loc_mine' },
  ]);
  t.deepEqual(pluck(answer.rejected, 'reason'), Array(3).fill('unknown_id: no location of this business has this id'));
  t.is(answer.quota.point_locations_after, 0);
  t.like((await walk(t.context, 1, key))[0]?.locations[0], DEPOT);
});

test('the first row with an id is stored, later ones are duplicates', async (t) => {
  const id = (await upload(t.context, [DEPOT])).accepted[0]?.id;
  const answer = await upload(t.context, [
    { id, name: 'bad', lat: 99, lon: -97 },
    { id, name: 'first', lat: 35, lon: -97 },
    { id, name: 'second', lat: 36, lon: -97 },
  ]);
  t.like(answer.accepted, { 0: { row_index: 1, action: 'updated' }, length: 1 });
  t.is(answer.rejected[1]?.reason, `duplicate_id: an earlier row of this upload has the id ${id}`);
  t.is((await walk(t.context, 1))[0]?.locations[0]?.name, 'first');
});

test('new rows beyond the quota are rejected in order, updates still pass', async (t) => {
  await changePlan(t.context, { quotas: { ...SELF_HOSTED.quotas, locations: 3 } });
  const id = (await upload(t.context, [DEPOT])).accepted[0]?.id;
  const answer = await upload(t.context, [...rows(4), { ...DEPOT, id }]);
  t.deepEqual(pluck(answer.accepted, 'row_index'), [0, 1, 4]);
  t.deepEqual(pluck(answer.accepted, 'action'), ['created', 'created', 'updated']);
  const rejected = answer.rejected.map(({ row_index, reason }) => [row_index, reason]);
  t.deepEqual(rejected, [
    [2, 'quota_exceeded: the plan allows 3 locations'],
    [3, 'quota_exceeded: the plan allows 3 locations'],
  ]);
  t.deepEqual(answer.quota, { point_locations_before: 1, point_locations_after: 3, limit: 3 });
});

test('parallel uploads never exceed the quota', async (t) => {
  await changePlan(t.context, { quotas: { ...SELF_HOSTED.quotas, locations: 25 } });
  const answers = await Promise.all(Array.from({ length: 8 }, () => upload(t.context, rows(10))));
  const storedRows = answers.reduce((sum, { accepted_count }) => sum + accepted_count, 0);
  t.is(storedRows, 25);
  t.is((await walk(t.context, 200))[0]?.count, 25);
});

test('an upload without rows is a 200 with zeros', async (t) => {
  for (const data of [[], '', '\uFEFF', 'name,lat,lon', '\r\n\r\n'])
    t.deepEqual(await upload(t.context, data), {
      total_rows: 0,
      accepted_count: 0,
      rejected_count: 0,
      accepted: [],
      rejected: [],
      quota: { point_locations_before: 0, point_locations_after: 0, limit: 10_000 },
    });
});

for (const [what, data] of [
  ['semicolons', 'name;lat;lon\nDepot, north; 35.5 ;-97.5\n'],
  ['tabs', 'name\tlat\tlon\r\nDepot, north\t35.5\t-97.5 \r\n'],
  ['a separator that its first line names', 'sep=|\rname|lat|lon\rDepot, north|35.5|-97.5'],
  ['commas, with blank lines between', 'name,lat,lon\n,,\n"Depot, north", 35.5,-97.5\n , ,\n'],
] as const)
  test(`takes CSV with ${what}`, async (t) => {
    t.like(await upload(t.context, data), { accepted_count: 1, rejected_count: 0 });
    const [page] = await walk(t.context, 50);
    t.like(page?.locations[0], { name: 'Depot, north', lat: 35.5, lon: -97.5 });
  });

test('refuses a body of another form and a bad CSV header with 400 bad_request, and charges nothing', async (t) => {
  for (const [body, message] of [
    [{ data: [] }, /^\/format: is missing, expected one of json, csv$/],
    [{ format: 'xml', data: '' }, /^\/format: expected one of json, csv, received 'xml'$/],
    [{ format: 'csv' }, /^\/data/],
    [{ format: 'json', data: 'name' }, /^\/data/],
    [{ format: 'csv', data: [] }, /^\/data/],
    [{ format: 'csv', data: 'lat,lon\n1,2' }, /^\/data: has no column name$/],
    [
      { format: 'csv', data: 'name|lat|lon\n' },
      /has no column name, cells are set apart by commas, semicolons or tabs$/,
    ],
    [{ format: 'csv', data: 'sep=;\nname,lat,lon\n' }, /has no column name, cells are set apart by/],
    [{ format: 'csv', data: 'name,lat,lng\n' }, /^\/data: has no column lon, use lon instead of lng$/],
    [{ format: 'csv', data: 'name;lat;lng\n' }, /^\/data: has no column lon, use lon instead of lng$/],
    [{ format: 'csv', data: 'name,lat,lon,LAT\n' }, /^\/data: has two columns named lat$/],
    [{ format: 'csv', data: 'na"me,lat\n' }, /^\/data: has a malformed header row: a quote stands inside an unquoted/],
  ] as const) {
    const { status, text } = await postRows(t.context, body);
    t.deepEqual([status, JSON.parse(text).error], [400, 'bad_request']);
    t.regex(JSON.parse(text).message, message);
  }
  t.is(await creditsUsed(t.context), 0);
});

for (const [format, data] of [
  ['json', (count: number) => rows(count)],
  ['csv', (count: number) => `name,lat,lon\n${'a,35,-97\n'.repeat(count)}`],
] as const)
  test(`takes ${UPLOAD_ROWS_MAX} rows of ${format} and refuses one more with 413 payload_too_large`, async (t) => {
    const { status, text } = await postRows(t.context, { format, data: data(UPLOAD_ROWS_MAX + 1) });
    t.is(status, 413);
    t.like(JSON.parse(text), { error: 'payload_too_large', message: '/data: more rows than the 10000 of one upload' });
    t.is(await creditsUsed(t.context), 0);
    t.is((await upload(t.context, data(UPLOAD_ROWS_MAX))).accepted_count, UPLOAD_ROWS_MAX);
  });

test('refuses a body over 5 MB with 413 payload_too_large', async (t) => {
  const { status, text } = await postRows(t.context, { format: 'csv', data: ' '.repeat(5_000_000) });
  t.is(status, 413);
  t.is(JSON.parse(text).error, 'payload_too_large');
});

test('hostile text is stored as text', async (t) => {
  const names = [
    "'); DROP TABLE portfolio_locations;--",
    '$$ COPY x TO y $$',
    '“quotes” ‘’',
    '%00 \\u0000',
    '../../etc',
  ];
  const answer = await upload(
    t.context,
    names.map((name) => ({ ...DEPOT, name, address: name, tags: [name] })),
  );
  t.is(answer.accepted_count, names.length);
  const [page] = await walk(t.context, 50);
  t.deepEqual(page?.locations.map(({ name }) => name).sort(), [...names].sort());
  for (const { name, address, tags } of page?.locations ?? []) t.deepEqual([address, tags], [name, [name]]);
});

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
  t.deepEqual(pluck(locations, 'name'), ['B', 'Z', 'a', 'a', 'b', 'é', '\uFFFD', '\u{1F600}']);
  t.deepEqual(pluck(locations.slice(2, 4), 'id'), [accepted[2]?.id, accepted[6]?.id].sort());
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

test("a walk goes on after its cursor's location was renamed or deleted, also of one that no page ended with", async (t) => {
  const { accepted } = await upload(t.context, rows(6));
  const id = accepted[1]?.id ?? '';
  t.is((await list(t.context, '?limit=2')).next_cursor, id);
  await upload(t.context, [{ id, name: 'zzz', ...PLACE }]);
  t.is((await list(t.context, `?limit=1&cursor=${id}`)).locations[0]?.name, 'place 00002');
  const other = accepted[4]?.id ?? '';
  await t.context.call(LOCATIONS, sending('DELETE', { ids: [id, other] }));
  t.is((await list(t.context, `?limit=1&cursor=${id}`)).locations[0]?.name, 'place 00002');
  t.is((await list(t.context, `?cursor=${other}`)).locations[0]?.name, 'place 00005');
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
  const left = (await walk(t.context, 50))[0]?.locations.map(({ id }) => id);
  t.deepEqual(left, [b]);
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

test('refuses a deletion without ids, with ids in both places or with other things than ids with 400 bad_request, and charges nothing', async (t) => {
  for (const [query, init] of [
    ['', { method: 'DELETE' }],
    ['?ids=loc_1', sending('DELETE', { ids: ['loc_1'] })],
    ['', sending('DELETE', {})],
    ['', sending('DELETE', { ids: [] })],
    ['', sending('DELETE', { ids: 'loc_1' })],
    ['', sending('DELETE', { ids: ['loc_1', 7] })],
  ] as const) {
    const response = await t.context.call(`${LOCATIONS}${query}`, init);
    t.deepEqual([response.status, ((await response.json()) as { error: string }).error], [400, 'bad_request']);
  }
  t.is(await creditsUsed(t.context), 0);
});

test('takes 2000 ids and refuses 2001', async (t) => {
  const ids = await uploaded(t.context, 2000);
  const refused = await t.context.call(LOCATIONS, sending('DELETE', { ids: [...ids, 'one more'] }));
  t.deepEqual([refused.status, ((await refused.json()) as { error: string }).error], [400, 'bad_request']);
  t.like(await t.context.json(LOCATIONS, sending('DELETE', { ids })), { deleted_count: 2000, not_found_count: 0 });
});

const testImpacts = testWith(
  async () => startService({ data_root: await preparedRoot(await midnight()) }),
  closeWithoutFailures,
);
const DATE = '2026-05-01';

interface Pixel {
  readonly lat: number;
  readonly lon: number;
  readonly mm: number;
  readonly detections: number;
}

/** Pixels of the date, largest hail first. */
async function hailOf({ services }: RunningService): Promise<Pixel[]> {
  return await services.engine.rows<Pixel>(
    `SELECT lat, lon, max(estimated_size_mm) AS mm, count(*) AS detections FROM read_parquet($1::VARCHAR[])
     GROUP BY lat, lon ORDER BY mm DESC, lat, lon`,
    [services.catalog.edition().paths('detections', [DATE])],
  );
}

const impacts = (service: RunningService, query = `date=${DATE}`) =>
  parsed(service.call(`${IMPACTS}?${query}`), PortfolioImpacts);

testImpacts('a location inside the largest detection is impacted at 0 m, one far away is left out', async (t) => {
  const [largest] = await hailOf(t.context);
  if (largest === undefined) throw new Error('the evening has no hail');
  const { lat, lon, mm } = largest;
  const { accepted } = await upload(t.context, [
    { name: 'hit', lat, lon },
    { name: 'far', lat: 25, lon: -81 },
  ]);
  const answer = await impacts(t.context);
  t.like(answer, { date: DATE, radius_mi: 1, assets_checked: 2, impacted_count: 1, next_cursor: null });
  t.like(answer.impacts, { length: 1 });
  t.like(answer.impacts[0], { asset_id: accepted[0]?.id, name: 'hit', nearest_detection_m: 0, max_size_mm: mm });
});

testImpacts('size, count and confidence are of everything within the mile', async (t) => {
  const pixels = await hailOf(t.context);
  const { lat, lon } = pixels[0] as Pixel;
  await upload(t.context, [{ name: 'hit', lat, lon }]);
  const [impact] = (await impacts(t.context)).impacts;
  // From the centre of a pixel a mile reaches the pixels whose edge is that near: 1.11 km a row, cos(lat) of it a column.
  const near = pixels.filter((pixel) => {
    const north_km = Math.max(0, Math.abs(pixel.lat - lat) - 0.005) * 111;
    const east_km = Math.max(0, Math.abs(pixel.lon - lon) - 0.005) * 111.4 * Math.cos((lat * Math.PI) / 180);
    return Math.hypot(north_km, east_km) <= 1.609344;
  });
  t.is(
    impact?.n_detections,
    near.reduce((sum, { detections }) => sum + detections, 0),
  );
  t.is(impact?.max_size_mm, Math.max(...near.map(({ mm }) => mm)));
  t.true((impact?.ml_confidence ?? 0) >= 0.02 && (impact?.ml_confidence ?? 1) <= 0.98);
});

testImpacts('any detection counts, the smallest too', async (t) => {
  const pixels = await hailOf(t.context);
  const { lat, lon, mm } = pixels.at(-1) as Pixel;
  t.true(mm >= 10 && mm < 12);
  await upload(t.context, [{ name: 'small', lat, lon }]);
  t.is((await impacts(t.context)).impacted_count, 1);
});

testImpacts('pages follow each other by asset_id, with the totals on every one', async (t) => {
  const pixels = await hailOf(t.context);
  const { accepted } = await upload(
    t.context,
    pixels.slice(0, 11).map(({ lat, lon }, k) => ({ name: `asset ${k}`, lat, lon })),
  );
  const seen: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: PortfolioImpacts = await impacts(t.context, `date=${DATE}&limit=4${cursor && `&cursor=${cursor}`}`);
    t.like(page, { assets_checked: 11, impacted_count: 11 });
    t.is(page.next_cursor, seen.length < 8 ? (page.impacts.at(-1)?.asset_id ?? '') : null);
    seen.push(...page.impacts.map(({ asset_id }) => asset_id));
    cursor = page.next_cursor;
  }
  t.deepEqual(seen, accepted.map(({ id }) => id).sort());
});

testImpacts('a page that is exactly full is the last one', async (t) => {
  const [pixel] = await hailOf(t.context);
  await upload(t.context, Array(3).fill({ name: 'same', lat: pixel?.lat, lon: pixel?.lon }));
  t.is((await impacts(t.context, `date=${DATE}&limit=3`)).next_cursor, null);
});

testImpacts('the cursor of a location that is gone or was never hit stays valid', async (t) => {
  const [pixel] = await hailOf(t.context);
  const hit = { name: 'hit', lat: pixel?.lat, lon: pixel?.lon };
  const { accepted } = await upload(t.context, [hit, { name: 'far', lat: 25, lon: -81 }, hit]);
  const [first, far, last] = accepted.map(({ id }) => id);
  const assets = (await impacts(t.context, `date=${DATE}&cursor=${far}`)).impacts.map(({ asset_id }) => asset_id);
  t.deepEqual(assets, [last]);
  await t.context.call(LOCATIONS, sending('DELETE', { ids: [first] }));
  t.like(await impacts(t.context, `date=${DATE}&cursor=${first}`), { assets_checked: 2, impacted_count: 1 });
});

testImpacts('an unknown, malformed or foreign cursor is 400 invalid_parameter', async (t) => {
  const key = await strangersKey(t.context);
  const foreign = (await upload(t.context, rows(1), key)).accepted[0]?.id;
  for (const cursor of ['loc_01ARZ3NDEKTSV4RRFFQ69G5FAV', 'a%2Fb', foreign]) {
    const response = await t.context.call(`${IMPACTS}?date=${DATE}&cursor=${cursor}`);
    t.deepEqual([response.status, ((await response.json()) as { error: string }).error], [400, 'invalid_parameter']);
  }
});

testImpacts('refuses a bad date or limit with 400 invalid_parameter', async (t) => {
  for (const query of [
    '',
    'date=2026-02-30',
    `date=${DATE}&limit=0`,
    `date=${DATE}&limit=501`,
    `date=${DATE}&date=${DATE}`,
  ]) {
    const response = await t.context.call(`${IMPACTS}?${query}`);
    t.deepEqual([response.status, ((await response.json()) as { error: string }).error], [400, 'invalid_parameter']);
  }
  t.is(await creditsUsed(t.context), 0);
});

testImpacts('a date before the first data or in the future is a 200 without impacts', async (t) => {
  await upload(t.context, rows(2));
  const { data_as_of } = await impacts(t.context, 'date=2026-05-02');
  for (const date of ['2020-01-01', '2030-01-01'])
    t.deepEqual(await impacts(t.context, `date=${date}`), {
      date,
      radius_mi: 1,
      assets_checked: 2,
      impacted_count: 0,
      impacts: [],
      radar_gaps: {
        dates_without_data: [date],
        dates_with_unknown_scans: [],
        until: null,
        assets_seen_in_part: 0,
        assets_unseen: 0,
        seen_in_part: [],
      },
      next_cursor: null,
      data_as_of,
    });
});

testImpacts(
  'locations that radar saw in part are told with their gaps, those outside its grid as unseen, on every page',
  async (t) => {
    const inside = [
      { name: 'east', lat: 35.3, lon: -97 },
      { name: 'west', lat: 35.4, lon: -97.2 },
    ];
    const { accepted } = await upload(t.context, [...inside, { name: 'far', lat: 25, lon: -81 }]);
    const ids = new Map(accepted.map(({ name, id }) => [name, id]));
    const { radar_gaps } = await impacts(t.context);
    t.like(radar_gaps, { dates_without_data: [], until: null, assets_seen_in_part: 3, assets_unseen: 1 });
    const [unseen, part, ...more] = radar_gaps.seen_in_part;
    t.deepEqual(more, []);
    t.deepEqual(unseen, {
      share: 0,
      gap_count: 1,
      gaps: [{ from: `${DATE}T00:00:00Z`, to: '2026-05-02T00:00:00Z' }],
      asset_count: 1,
      asset_ids: [ids.get('far') as string],
    });
    t.like(part, { share: 0.008, asset_count: 2, gaps: [{ from: `${DATE}T00:00:00Z` }] });
    t.deepEqual(part?.asset_ids.toSorted(), [ids.get('east'), ids.get('west')].toSorted() as string[]);
    t.regex(part?.gaps[0]?.to ?? '', /T23:4\d/);
    t.deepEqual((await impacts(t.context, `date=${DATE}&limit=1`)).radar_gaps, radar_gaps);
    const running = (await impacts(t.context, 'date=2026-05-02')).radar_gaps;
    t.like(running, { assets_seen_in_part: 1, assets_unseen: 1 }, 'up to its newest scan the others were seen');
    t.regex(running.until ?? '', /^2026-05-02T00:1\d/);
  },
);

testImpacts('a past date keeps its own data_as_of: its newest scan', async (t) => {
  const { data_as_of } = await impacts(t.context);
  t.regex(data_as_of ?? '', /^2026-05-01T23:5\d:\d\dZ$/);
});

testImpacts('a business is checked for its own locations only', async (t) => {
  const [pixel] = await hailOf(t.context);
  const key = await strangersKey(t.context);
  await upload(t.context, [{ name: 'hit', lat: pixel?.lat, lon: pixel?.lon }], key);
  t.is((await impacts(t.context)).assets_checked, 0);
});
