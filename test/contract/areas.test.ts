import { SELF_HOSTED } from '../../api/accounts/plans.ts';
import type { AreaSummary } from '../../schemas/resources/area.ts';
import { starRing } from '../support/data/rings.ts';
import { raise } from '../support/service/alerts.ts';
import {
  AREA_ENDPOINTS,
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
import { changePlan, creditsUsed, strangersKey } from '../support/service/portfolio.ts';
import { type RunningService, SERVICE_NOW_MS, startService } from '../support/service/service.ts';
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
  const patch = {
    method: 'PATCH',
    body: '{"expected_version":1,"name":"x"}',
    headers: { 'Content-Type': 'application/json' },
  };
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
  t.deepEqual(
    areas.map((area) => area.id),
    [kept.id],
  );
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

interface Moving {
  readonly service: RunningService;
  readonly clock: { now_ms: number };
}

async function start(): Promise<Moving> {
  const clock = { now_ms: SERVICE_NOW_MS };
  return { clock, service: await startService({ endpoints: AREA_ENDPOINTS, now: () => clock.now_ms }) };
}

const testChange = testWith(start, (t, { service }) => closeWithoutFailures(t, service));
const LATER = '2026-05-02T01:55:00.000Z';

testChange('a new name raises the version and the time of the change, and leaves the rest', async (t) => {
  const { service, clock } = t.context;
  const made = await makeArea(service, polygonBody({ real_time: true }));
  clock.now_ms += 3_600_000;
  const { status, body } = await changeArea(service, made.id, { expected_version: 1, name: 'new' });
  t.is(status, 200);
  t.deepEqual(body, { ...made, name: 'new', version: 2, updated_at: LATER });
  t.deepEqual(await service.json(`${AREAS}/${made.id}`), body);
  t.is((await geometryOf(service, made.id)).updated_at, made.updated_at);
});

testChange('a new geometry is replaced whole, judged like a new one, and counted by its difference', async (t) => {
  const { service, clock } = t.context;
  const { id, area_sq_mi } = await makeArea(service, polygonBody());
  clock.now_ms += 3_600_000;
  const { body } = await changeArea(service, id, { expected_version: 1, geometry: squareAt(-90, 40, 0.2) });
  t.like(body, { version: 2, bbox: [-90, 40, -89.8, 40.2], centroid_geohash4: 'dp0h' });
  t.true((body.area_sq_mi ?? 0) > 3 * area_sq_mi);
  t.is((await listAreas(service)).usage.total_area_sq_mi, body.area_sq_mi ?? 0);
  t.like(await geometryOf(service, id), { updated_at: LATER });
  const bad = await changeArea(service, id, { expected_version: 2, geometry: squareAt(90, 40) });
  t.deepEqual([bad.status, bad.body.error], [400, 'bad_request']);
  t.regex(bad.body.message ?? '', /^\/geometry\/coordinates\/0\/0: lon is 90, /);
});

testChange('a new point moves a point area', async (t) => {
  const { service } = t.context;
  const { id } = await makeArea(service, pointBody());
  const { body } = await changeArea(service, id, { expected_version: 1, point: { lat: 40, lon: -100 } });
  t.like(body, { version: 2, point: { lat: 40, lng: -100 }, bbox: [-100, 40, -100, 40], area_sq_mi: 1 });
});

testChange(
  'a stale version is 409 version_conflict, tells the present one, changes nothing and costs nothing',
  async (t) => {
    const { service } = t.context;
    const { id } = await makeArea(service, pointBody());
    await changeArea(service, id, { expected_version: 1, name: 'second' });
    for (const expected_version of [1, 3, 0, -1]) {
      const { status, body } = await changeArea(service, id, { expected_version, name: 'third' });
      t.deepEqual([status, body.error], [409, 'version_conflict']);
      t.is(body.message, `/expected_version: is ${expected_version}, the area has version 2`);
    }
    t.is(((await service.json(`${AREAS}/${id}`)) as { name: string }).name, 'second');
    t.is(await creditsUsed(service), 3 + 3 + 1);
  },
);

for (const [kind, body] of [
  ['polygon', polygonBody()],
  ['point', pointBody()],
] as const)
  testChange(`PATCH /v1/areas/{id} takes a ${kind} area as GET returns it, and changes its name alone`, async (t) => {
    const { service } = t.context;
    const made = await makeArea(service, body);
    const sent = { ...made, expected_version: 1, name: 'new', kind: 'any', real_time: true };
    t.is((await changeArea(service, made.id, sent)).status, 200);
    t.deepEqual(await service.json(`${AREAS}/${made.id}`), { ...made, name: 'new', version: 2 });
    const other = await changeArea(service, made.id, { ...sent, expected_version: 2, colour: 'red' });
    t.deepEqual([other.status, other.body.error], [400, 'bad_request']);
    t.regex(other.body.message ?? '', /^\/colour: is not a field of this request/);
  });

for (const [what, kind, body, message] of [
  ['without expected_version', 'point', { name: 'x' }, /^\/expected_version: /],
  [
    'with expected_version alone',
    'point',
    { expected_version: 1 },
    /nothing to change, expected name, geometry or point$/,
  ],
  ['with half a version', 'point', { expected_version: 1.5, name: 'x' }, /^\/expected_version: /],
  ['with a text for the version', 'point', { expected_version: '1', name: 'x' }, /^\/expected_version: /],
  ['with an empty name', 'point', { expected_version: 1, name: '' }, /^\/name: expected 1 to 100 characters/],
  ['with a name of 101 characters', 'point', { expected_version: 1, name: 'x'.repeat(101) }, /^\/name: /],
  ['with null for the name', 'point', { expected_version: 1, name: null }, /^\/name: /],
  ['with null for the geometry', 'polygon', { expected_version: 1, geometry: null }, /^\/geometry: is no object/],
  [
    'with a geometry for a point',
    'point',
    { expected_version: 1, geometry: squareAt(-97, 35) },
    /^\/geometry: is of polygon areas only/,
  ],
  [
    'with a point for a polygon',
    'polygon',
    { expected_version: 1, point: { lat: 35, lng: -97 } },
    /^\/point: is of point areas only/,
  ],
  [
    'with both',
    'polygon',
    { expected_version: 1, point: { lat: 35, lng: -97 }, geometry: squareAt(-97, 35) },
    /^\/point: is given beside geometry/,
  ],
  ['with a point outside CONUS', 'point', { expected_version: 1, point: { lat: 35, lng: 97 } }, /^\/point: lon is 97/],
] as const)
  testChange(`PATCH /v1/areas/{id} ${what} is 400 bad_request, and changes nothing`, async (t) => {
    const { service } = t.context;
    const made = await makeArea(service, kind === 'point' ? pointBody() : polygonBody());
    const answer = await changeArea(service, made.id, body);
    t.deepEqual([answer.status, answer.body.error], [400, 'bad_request']);
    t.regex(answer.body.message ?? '', message);
    t.deepEqual(await service.json(`${AREAS}/${made.id}`), made);
  });

testChange(
  'an area that would grow over the quota is 429 resource_exhausted; it may shrink, and change its name, over it',
  async (t) => {
    const { service } = t.context;
    await changePlan(service, { quotas: { ...SELF_HOSTED.quotas, area_sq_mi: 100 } });
    const { id } = await makeArea(service, polygonBody());
    const grown = await changeArea(service, id, { expected_version: 1, geometry: squareAt(-97, 35, 0.2) });
    t.deepEqual([grown.status, grown.body.error], [429, 'resource_exhausted']);
    t.is(grown.body.message, 'area_sq_mi: the plan allows 100 square miles');
    await service.records.transaction(async (rows) => {
      await rows.updateTable('areas').set({ area_sq_mi: 250 }).execute();
    });
    t.is((await changeArea(service, id, { expected_version: 1, name: 'over it' })).status, 200);
    t.is((await changeArea(service, id, { expected_version: 2, geometry: squareAt(-97, 35, 0.2) })).status, 200);
  },
);

/** A service whose clock goes on by a second with each look at it, so that changes have an order in time. */
async function startMoving(): Promise<Moving> {
  const clock = { now_ms: SERVICE_NOW_MS };
  const service = await startService({ endpoints: AREA_ENDPOINTS, now: () => (clock.now_ms += 1000) });
  return { service, clock };
}

const testListing = testWith(startMoving, (t, { service }) => closeWithoutFailures(t, service));

async function makePoints(service: RunningService, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let k = 0; k < count; k++) ids.push((await makeArea(service, pointBody({ name: `mast ${k}` }))).id);
  return ids;
}

function idsOf({ areas }: { areas: readonly { id: string }[] }): string[] {
  return areas.map(({ id }) => id);
}

testListing('without areas the list is empty and nothing is used', async (t) => {
  t.deepEqual(await listAreas(t.context.service), {
    areas: [],
    count: 0,
    next_cursor: null,
    usage: { polygon_count: 0, point_count: 0, real_time_polygon_count: 0, total_area_sq_mi: 0 },
  });
});

testListing('an area is listed by its summary, the last changed first, and usage counts all of them', async (t) => {
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

testListing('kind and group_id choose the areas of a list, usage stays that of all', async (t) => {
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

testListing('a walk ends although areas change while it goes on, and sees each that nobody touched once', async (t) => {
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

testListing('an unknown, malformed or foreign cursor of the areas is 400 invalid_parameter', async (t) => {
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

testListing('a business sees and counts its own areas only', async (t) => {
  const { service } = t.context;
  await makePoints(service, 2);
  const { areas, usage } = await listAreas(service, '', { key: await strangersKey(service) });
  t.deepEqual([areas, usage.point_count, usage.total_area_sq_mi], [[], 0, 0]);
});
