import {
  AREA_ENDPOINTS,
  AREAS,
  answerOf,
  geometryOf,
  makeArea,
  pointBody,
  polygonBody,
  polygonOf,
  SQUARE,
} from '../support/service/areas.ts';
import { creditsUsed, strangersKey } from '../support/service/portfolio.ts';
import { startService } from '../support/service/service.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';

const test = testWith(() => startService({ endpoints: AREA_ENDPOINTS }), closeWithoutFailures);
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
