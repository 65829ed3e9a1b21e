import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import type { Bbox } from '../../schemas/geo/position.ts';
import type { Ring } from '../../schemas/geo/rings.ts';
import { newId } from '../../schemas/ids.ts';
import { AREA_LIMITS } from '../../schemas/resources/area.ts';
import { instant } from '../../schemas/time.ts';
import type { Tariff } from '../accounts/plans.ts';
import { ApiError, found } from '../http/errors.ts';
import type { Writer } from '../records/database.ts';
import { countOwn, deleteOwn, type OwnList, ownRow, rememberDeleted } from '../records/own-rows.ts';
import type { Database } from '../records/schema.ts';
import type { AreaShape } from '../rules/area-geometry.ts';

/** Areas of a business, the last changed first, then the newest. */
export const AREAS: OwnList<'areas'> = { list: 'areas', table: 'areas', sorted_by: 'updated_at', order: 'desc' };

type Row = Selectable<Database['areas']>;

/** A polygon or point that a business watches. */
export interface Area
  extends Omit<Row, 'business_id' | 'tags' | 'real_time' | 'bbox' | 'geometry' | 'lat' | 'lon'>,
    Pick<AreaShape, 'ring' | 'point' | 'bbox'> {
  readonly tags: readonly string[];
  readonly real_time: boolean;
}

/** Fields of a new area. For a point only `group_id` may differ from null, false and monitoring. */
type AreaToMake = Pick<Area, 'kind' | 'name' | 'real_time' | 'purpose' | 'group_id'> & {
  readonly shape: AreaShape;
};

/** Creates an area. Throws `resource_exhausted`, which must roll the transaction back. The caller has locked the row of the business. */
export async function insertArea(
  { rows, business_id, now_ms }: Writer,
  { kind, name, real_time, purpose, group_id, shape }: AreaToMake,
  quotas: Tariff['quotas'],
): Promise<Area> {
  const at = instant(now_ms);
  const row: Row = {
    ...{ id: newId('area', now_ms), business_id, kind, name },
    ...{ description: null, tags: '[]', priority: 'normal' as const, group_id },
    ...{ real_time: Number(real_time), purpose, ...shapeColumns(shape) },
    ...{ version: 1, created_at: at, updated_at: at, geometry_at: at },
  };
  await rows.insertInto('areas').values(row).execute();
  await storeSubmitted(rows, business_id, row.id, shape);
  const grown = [kind === 'polygon' ? 'polygons' : 'point_areas', 'area_sq_mi'] as const;
  await refuseOverQuota(rows, business_id, quotas, real_time ? [...grown, 'real_time_polygons'] : grown);
  if (group_id !== null && (await countOwn(rows, 'areas', { business_id, group_id })) > AREA_LIMITS.group)
    throw new ApiError('resource_exhausted', `group_id: a group holds at most ${AREA_LIMITS.group} areas`);
  return areaOf(row);
}

/** Refusal of a shape of the other kind than that of an area. */
const OTHER_KIND = {
  point: '/geometry: is of polygon areas only, and this is a point',
  polygon: '/point: is of point areas only, and this is a polygon',
};

/**
 * Replaces name and shape of an area with a given version, and increments the version; undefined ones stay. Throws `not_found`,
 * `bad_request` for a shape of the other kind, `version_conflict`, and `resource_exhausted` when it grows beyond a quota. The caller
 * has locked the row of the business.
 */
export async function changeArea(
  { rows, business_id, now_ms }: Writer,
  id: string,
  expected_version: number,
  { name, shape }: { readonly name?: string | undefined; readonly shape?: AreaShape | undefined },
  quotas: Tariff['quotas'],
): Promise<Area> {
  const before = await findArea(rows, business_id, id);
  if (shape !== undefined && (shape.point === null) !== (before.kind === 'polygon'))
    throw new ApiError('bad_request', OTHER_KIND[before.kind]);
  const at = instant(now_ms);
  const changed = await rows
    .updateTable('areas')
    .set(({ eb }) => ({
      ...(name === undefined ? {} : { name }),
      ...(shape === undefined ? {} : { ...shapeColumns(shape), geometry_at: at }),
      version: eb('version', '+', 1),
      updated_at: at,
    }))
    .where('business_id', '=', business_id)
    .where('id', '=', id)
    .where('version', '=', expected_version)
    .returningAll()
    .executeTakeFirst();
  const versions = `/expected_version: is ${expected_version}, the area has version ${before.version}`;
  if (changed === undefined) throw new ApiError('version_conflict', versions);
  if (shape !== undefined) await storeSubmitted(rows, business_id, id, shape);
  if (changed.area_sq_mi > before.area_sq_mi) await refuseOverQuota(rows, business_id, quotas, ['area_sq_mi']);
  return areaOf(changed);
}

/** Deletes an area with its geometry and its alerts. Cursors that name it stay valid for a day. Throws `not_found`. */
export async function removeArea(writer: Writer, id: string): Promise<void> {
  const { rows } = writer;
  const { updated_at } = found(await deleteOwn(writer, 'areas', id), 'area');
  await rows.deleteFrom('area_rings').where('area_id', '=', id).execute();
  await rows.deleteFrom('alerts').where('location_id', '=', id).execute();
  await rememberDeleted(writer, AREAS, [{ id, sort_key: updated_at }]);
}

/** An area of a business. Throws `not_found`. */
export async function findArea(rows: Kysely<Database>, business_id: string, id: string): Promise<Area> {
  return areaOf(found(await ownRow(rows, 'areas', { business_id, id }), 'area'));
}

/** How much of each quota the areas of a business use. */
export async function areaUse(rows: Kysely<Database>, business_id: string) {
  const countOf = (column: 'kind' | 'real_time', value: string | number) =>
    sql<number>`coalesce(sum(case when ${sql.ref(column)} = ${value} then 1 else 0 end), 0)`;
  return await rows
    .selectFrom('areas')
    .select([
      countOf('kind', 'polygon').as('polygon_count'),
      countOf('kind', 'point').as('point_count'),
      countOf('real_time', 1).as('real_time_polygon_count'),
      sql<number>`coalesce(sum(area_sq_mi), 0)`.as('total_area_sq_mi'),
    ])
    .where('business_id', '=', business_id)
    .executeTakeFirstOrThrow();
}

/** Use and unit of each quota. */
const QUOTAS = {
  polygons: ['polygon_count', 'polygons'],
  point_areas: ['point_count', 'point areas'],
  area_sq_mi: ['total_area_sq_mi', 'square miles'],
  real_time_polygons: ['real_time_polygon_count', 'real-time polygons'],
} as const satisfies Partial<
  Record<keyof Tariff['quotas'], [use: keyof Awaited<ReturnType<typeof areaUse>>, unit: string]>
>;

/**
 * Throws when the areas of a business, including the one just written, exceed a quota of its plan. It checks only quotas of which
 * that area uses more than before: a plan may allow less than the business already has.
 */
async function refuseOverQuota(
  rows: Transaction<Database>,
  business_id: string,
  quotas: Tariff['quotas'],
  grown: readonly (keyof typeof QUOTAS)[],
): Promise<void> {
  const use = await areaUse(rows, business_id);
  for (const quota of grown) {
    const [used, unit] = QUOTAS[quota];
    if (use[used] > quotas[quota])
      throw new ApiError('resource_exhausted', `${quota}: the plan allows ${quotas[quota]} ${unit}`);
  }
}

/** The area in a row. */
function areaOf({ business_id: _, lat, lon, geometry, ...row }: Row): Area {
  return {
    ...row,
    tags: JSON.parse(row.tags) as string[],
    real_time: row.real_time === 1,
    bbox: JSON.parse(row.bbox) as Bbox,
    point: lat === null || lon === null ? null : { lat, lon },
    ring: ringIn(geometry),
  };
}

/** Outer ring of a GeoJSON Polygon as the tables hold it; null for null. */
export function ringIn(geometry: string | null): Ring | null {
  return geometry === null ? null : (JSON.parse(geometry) as { coordinates: [Ring] }).coordinates[0];
}

function geometryOf(ring: Ring | null): string | null {
  return ring === null ? null : JSON.stringify({ type: 'Polygon', coordinates: [ring] });
}

/** Replaces the submitted ring of an area. The caller has locked the row of the area. */
async function storeSubmitted(
  rows: Transaction<Database>,
  business_id: string,
  area_id: string,
  { submitted }: AreaShape,
): Promise<void> {
  await rows.deleteFrom('area_rings').where('area_id', '=', area_id).execute();
  const geometry = geometryOf(submitted);
  if (geometry !== null) await rows.insertInto('area_rings').values({ area_id, business_id, geometry }).execute();
}

function shapeColumns({ ring, point, bbox, centroid_geohash4, area_sq_mi }: AreaShape) {
  return {
    bbox: JSON.stringify(bbox),
    centroid_geohash4,
    area_sq_mi,
    lat: point?.lat ?? null,
    lon: point?.lon ?? null,
    geometry: geometryOf(ring),
  };
}
