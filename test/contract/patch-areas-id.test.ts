import { SELF_HOSTED } from '../../api/records/plans.ts';
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
  sendingJson,
  squareAt,
} from '../support/service/areas.ts';
import { changePlan, creditsUsed } from '../support/service/portfolio.ts';
import { type RunningService, SERVICE_NOW_MS, startService } from '../support/service/service.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';

interface Moving {
  readonly service: RunningService;
  readonly clock: { now_ms: number };
}

async function start(): Promise<Moving> {
  const clock = { now_ms: SERVICE_NOW_MS };
  return { clock, service: await startService({ endpoints: AREA_ENDPOINTS, now: () => clock.now_ms }) };
}

const test = testWith(start, (t, { service }) => closeWithoutFailures(t, service));
const LATER = '2026-05-02T01:55:00.000Z';

test('a new name raises the version and the time of the change, and leaves the rest', async (t) => {
  const { service, clock } = t.context;
  const made = await makeArea(service, polygonBody({ real_time: true }));
  clock.now_ms += 3_600_000;
  const { status, body } = await changeArea(service, made.id, { expected_version: 1, name: 'new', real_time: false });
  t.is(status, 200);
  t.deepEqual(body, { ...made, name: 'new', version: 2, updated_at: LATER });
  t.deepEqual(await service.json(`${AREAS}/${made.id}`), body);
  t.is((await geometryOf(service, made.id)).updated_at, made.updated_at);
});

test('a new geometry is replaced whole, judged like a new one, and counted by its difference', async (t) => {
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

test('a new point moves a point area', async (t) => {
  const { service } = t.context;
  const { id } = await makeArea(service, pointBody());
  const { body } = await changeArea(service, id, { expected_version: 1, point: { lat: 40, lon: -100 } });
  t.like(body, { version: 2, point: { lat: 40, lng: -100 }, bbox: [-100, 40, -100, 40], area_sq_mi: 1 });
});

test('a stale version is 409 version_conflict, tells the present one, changes nothing and costs nothing', async (t) => {
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
});

test('of many changes of one version at once exactly one is made, and one is charged', async (t) => {
  const { service } = t.context;
  const { id } = await makeArea(service, polygonBody());
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, k) => changeArea(service, id, { expected_version: 1, name: `name ${k}` })),
  );
  const won = answers.filter(({ status }) => status === 200);
  t.is(won.length, 1);
  t.is(answers.filter(({ status }) => status === 409).length, 29);
  t.deepEqual(await service.json(`${AREAS}/${id}`), won[0]?.body);
  t.is(await creditsUsed(service), 3 + 3 + 1);
});

for (const [what, kind, body, message] of [
  ['without expected_version', 'point', { name: 'x' }, /^\/expected_version: /],
  [
    'with expected_version alone',
    'point',
    { expected_version: 1 },
    /nothing to change, expected name, geometry or point$/,
  ],
  [
    'with fields that never change alone',
    'polygon',
    { expected_version: 1, kind: 'point', real_time: true },
    /nothing to change/,
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
  test(`PATCH /v1/areas/{id} ${what} is 400 bad_request, and changes nothing`, async (t) => {
    const { service } = t.context;
    const made = await makeArea(service, kind === 'point' ? pointBody() : polygonBody());
    const answer = await changeArea(service, made.id, body);
    t.deepEqual([answer.status, answer.body.error], [400, 'bad_request']);
    t.regex(answer.body.message ?? '', message);
    t.deepEqual(await service.json(`${AREAS}/${made.id}`), made);
  });

test('an area that would grow over the quota is 429 resource_exhausted; it may shrink, and change its name, over it', async (t) => {
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
});

test('Idempotency-Key is ignored on a change: the second finds a stale version', async (t) => {
  const { service } = t.context;
  const { id } = await makeArea(service, pointBody());
  const init = sendingJson('PATCH', { expected_version: 1, name: 'x' }, { 'Idempotency-Key': 'k' });
  t.is((await answerOf(service.call(`${AREAS}/${id}`, init))).status, 200);
  t.is((await answerOf(service.call(`${AREAS}/${id}`, init))).status, 409);
});
