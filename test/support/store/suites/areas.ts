import { SELF_HOSTED } from '../../../../api/accounts/plans.ts';
import { AREAS, type AreaToMake, areaUse, changeArea, insertArea, removeArea } from '../../../../api/alerts/areas.ts';
import { areaRings } from '../../../../api/alerts/places.ts';
import type { StoredAnswer } from '../../../../api/billing/idempotency.ts';
import type { Records } from '../../../../api/billing/records.ts';
import type { Writer } from '../../../../api/records/database.ts';
import { selectPage } from '../../../../api/records/own-rows.ts';
import { type AreaShape, pointShape, polygonShape } from '../../../../api/rules/area-geometry.ts';
import { boxRing } from '../../../../schemas/geo/position.ts';
import type { Ring } from '../../../../schemas/geo/rings.ts';
import { ANSWERED_POSITIONS_MAX } from '../../../../schemas/resources/area.ts';
import { corridorRing } from '../../data/simple-rings.ts';
import { makeTenant, type Register, type Tenant, type World } from '../world.ts';

const ANSWER: StoredAnswer = { status: 200, type: 'application/json', body: '' };

function shapeAt(lat: number, lon: number): AreaShape {
  const shape = pointShape({ lat, lon });
  return shape;
}

function shapeOf(ring: Ring): AreaShape {
  const shape = polygonShape(ring);
  if (typeof shape === 'string') throw new Error(shape);
  return shape;
}

/** A corridor of 4,561 positions that begins at a longitude. */
function corridor(west: number): AreaToMake {
  const shape = shapeOf(corridorRing([west, 34.5]));
  return { kind: 'polygon', name: 'line', real_time: true, purpose: 'both', group_id: null, shape };
}

function mast(name: string, group_id: string | null = null): AreaToMake {
  return {
    kind: 'point',
    name,
    real_time: false,
    purpose: 'monitoring',
    group_id,
    shape: shapeAt(35, -97),
  };
}

/** Does some work as the write of a business does it: in turn with its others, and taken back where it throws. */
async function write<Result>(
  records: Records,
  { caller }: Tenant,
  world: World,
  work: (writer: Writer) => Promise<Result>,
): Promise<Result> {
  let result: Result | undefined;
  await records.write(caller.business_id, null, null, world.now_ms, async (writer) => {
    result = await work(writer);
    return ANSWER;
  });
  return result as Result;
}

/** Areas: quotas and versions under writes at once, order, use. */
export function areasSuite(test: Register): void {
  test('areas made at once, by two servers, never take more than the quota', async (t, world) => {
    const servers = [await world.open(), await world.open()];
    const tenant = await makeTenant(servers[0] as Records, world, 'acme');
    const quotas = { ...SELF_HOSTED.quotas, point_areas: 5 };
    const outcomes = await Promise.allSettled(
      Array.from({ length: 16 }, (_, k) =>
        write(servers[k % 2] as Records, tenant, world, (writer) => insertArea(writer, mast(`mast ${k}`), quotas)),
      ),
    );
    t.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 5);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') t.like(outcome.reason, { code: 'resource_exhausted' });
    t.deepEqual(await areaUse((servers[0] as Records).reader, tenant.caller.business_id), {
      polygon_count: 0,
      point_count: 5,
      real_time_polygon_count: 0,
      total_area_sq_mi: 5,
    });
  });

  test('of changes of one version at once, by two servers, one is made and the others are told its version', async (t, world) => {
    const servers = [await world.open(), await world.open()];
    const tenant = await makeTenant(servers[0] as Records, world, 'acme');
    const { quotas } = SELF_HOSTED;
    const { id } = await write(servers[0] as Records, tenant, world, (writer) => insertArea(writer, mast('a'), quotas));
    const outcomes = await Promise.allSettled(
      Array.from({ length: 12 }, (_, k) =>
        write(servers[k % 2] as Records, tenant, world, (writer) =>
          changeArea(writer, id, 1, { name: `name ${k}`, shape: shapeAt(36, -98) }, quotas),
        ),
      ),
    );
    const [changed, ...others] = outcomes.toSorted((a, b) => (a.status < b.status ? -1 : 1));
    t.like(changed, { value: { version: 2, point: { lat: 36, lon: -98 } } });
    t.is(others.length, 11);
    const message = '/expected_version: is 1, the area has version 2';
    for (const other of others) t.like(other, { reason: { code: 'version_conflict', message } });
  });

  test('areas come by their last change, of equal ones the newest first; nobody else sees or deletes them', async (t, world) => {
    const records = await world.open();
    const [tenant, stranger] = [await makeTenant(records, world, 'acme'), await makeTenant(records, world, 'other')];
    const { quotas } = SELF_HOSTED;
    const made = await write(records, tenant, world, async (writer) => [
      await insertArea(writer, mast('a'), quotas),
      await insertArea(writer, mast('b', 'group'), quotas),
      await insertArea(writer, mast('c'), quotas),
    ]);
    const [a, b, c] = made.map(({ id }) => id) as [string, string, string];
    world.now_ms += 1000;
    await write(records, tenant, world, (writer) => changeArea(writer, a, 1, { name: 'z' }, quotas));
    const { business_id } = tenant.caller;
    const ids = async (filter: { group_id?: string } = {}, after: Parameters<typeof selectPage>[3] = null) =>
      (await selectPage(records.reader, AREAS, { business_id, ...filter }, after, 10)).map(({ id }) => id);
    t.deepEqual(await ids(), [a, c, b]);
    t.deepEqual(await ids({ group_id: 'group' }), [b]);
    t.deepEqual(await ids({}, { sort_key: made[2]?.updated_at ?? '', id: c }), [b]);
    const not_found = { message: 'no such area' };
    await t.throwsAsync(
      write(records, stranger, world, (writer) => removeArea(writer, a)),
      not_found,
    );
    await t.throwsAsync(
      write(records, stranger, world, (writer) => changeArea(writer, a, 2, { name: 'x' }, quotas)),
      not_found,
    );
    await write(records, tenant, world, (writer) => removeArea(writer, a));
    t.deepEqual(await ids(), [c, b]);
  });

  test('the submitted ring of a polygon is what is matched, until another takes its place or the area is gone', async (t, world) => {
    const records = await world.open();
    const tenant = await makeTenant(records, world, 'acme');
    const { quotas } = SELF_HOSTED;
    const made = await write(records, tenant, world, (writer) => insertArea(writer, corridor(-99), quotas));
    const matched = async () => (await areaRings(records.reader, [made.id])).get(made.id);
    t.deepEqual(await matched(), shapeOf(corridorRing([-99, 34.5])).submitted);
    t.is(made.ring?.length, ANSWERED_POSITIONS_MAX);
    const moved = { shape: shapeOf(corridorRing([-98, 34.5])) };
    await write(records, tenant, world, (writer) => changeArea(writer, made.id, 1, moved, quotas));
    t.deepEqual(await matched(), moved.shape.submitted);
    const small = { shape: shapeOf(boxRing([-97, 35, -96, 36])) };
    await write(records, tenant, world, (writer) => changeArea(writer, made.id, 2, small, quotas));
    t.deepEqual(await matched(), small.shape.ring);
    await write(records, tenant, world, (writer) => changeArea(writer, made.id, 3, moved, quotas));
    await write(records, tenant, world, (writer) => removeArea(writer, made.id));
    t.is(await matched(), undefined);
    t.deepEqual(await records.reader.selectFrom('area_rings').selectAll().execute(), []);
  });
}
