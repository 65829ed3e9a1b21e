import { raise } from '../support/service/alerts.ts';
import {
  AREA_ENDPOINTS,
  AREAS,
  answerOf,
  listAreas,
  makeArea,
  pointBody,
  polygonBody,
} from '../support/service/areas.ts';
import { creditsUsed } from '../support/service/portfolio.ts';
import { startService } from '../support/service/service.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';

const test = testWith(() => startService({ endpoints: AREA_ENDPOINTS }), closeWithoutFailures);

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
