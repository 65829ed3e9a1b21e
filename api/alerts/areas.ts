import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import type { Bbox } from '../../schemas/geo/position.ts';
import type { Ring } from '../../schemas/geo/rings.ts';
import { newId } from '../../schemas/ids.ts';
import { AREA_LIMITS } from '../../schemas/resources/area.ts';
import type { Tariff } from '../accounts/plans.ts';
import { type CursorNote, cursorNote, cursorPlace, rememberDeleted, type Walk } from '../records/cursors.ts';
import type { Writer } from '../records/database.ts';
import type { Database } from '../records/schema.ts';
import type { AreaShape } from '../rules/area-geometry.ts';

const LIST = 'areas';

type Row = Selectable<Database['areas']>;

/** A polygon or point that a business watches. */
export interface Area
  extends Omit<Row, 'business_id' | 'tags' | 'real_time' | 'bbox' | 'geometry' | 'lat' | 'lon'>,
    Omit<AreaShape, 'centroid_geohash4' | 'area_sq_mi' | 'submitted'> {
  readonly tags: readonly string[];
  readonly real_time: boolean;
}

/** Fields of an area that only operators set. */
export interface AreaLabels {
  readonly description: string | null;
  readonly tags: readonly string[];
  readonly priority: Row['priority'];
}

/** Fields of a new area. For a point only `group_id` may differ from the defaults null, false and monitoring. */
export interface AreaToMake extends AreaLabels, Pick<Area, 'kind' | 'name' | 'real_time' | 'purpose' | 'group_id'> {
  readonly shape: AreaShape;
}

export const NO_LABELS: AreaLabels = { description: null, tags: [], priority: 'normal' };

/** How much of each quota the areas of a business use. */
export interface AreaUse {
  readonly polygon_count: number;
  readonly point_count: number;
  readonly real_time_polygon_count: number;
  readonly total_area_sq_mi: number;
}

/** Thrown inside a transaction: an area would exceed a quota or the size of a group; the message begins with its name. */
export class AreaQuotaExceeded extends Error {}

/** Creates an area. Throws AreaQuotaExceeded, which must roll the transaction back. The caller has locked the row of the business. */
export async function insertArea(
  { rows, business_id, now_ms }: Writer,
  area: AreaToMake,
  quotas: Tariff['quotas'],
): Promise<Area> {
  const at = new Date(now_ms).toISOString();
  const row: Row = {
    id: newId('area', now_ms),
    business_id,
    ...columnsOf(area),
    ...shapeColumns(area.shape),
    version: 1,
    created_at: at,
    updated_at: at,
    geometry_at: at,
  };
  await rows.insertInto('areas').values(row).execute();
  await storeSubmitted(rows, business_id, row.id, area.shape);
  await refuseOverQuota(rows, business_id, quotas, [
    area.kind === 'polygon' ? 'polygons' : 'point_areas',
    'area_sq_mi',
    ...(area.real_time ? (['real_time_polygons'] as const) : []),
  ]);
  await refuseFullGroup(rows, business_id, area.group_id);
  return areaOf(row);
}

/** Fields of an area that a change replaces. */
export interface AreaReplacement {
  readonly name?: string;
  readonly shape?: AreaShape;
}

/** Outcome of a change: the changed area, or the reason why nothing was changed. */
export type AreaOutcome =
  | { readonly kind: 'changed'; readonly area: Area }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'other_kind'; readonly found: Area['kind'] }
  | { readonly kind: 'stale'; readonly version: number };

/**
 * Replaces name and shape of an area with a given version, and increments the version. Throws AreaQuotaExceeded when it grows
 * beyond a quota. The caller has locked the row of the business.
 */
export async function changeArea(
  { rows, business_id, now_ms }: Writer,
  id: string,
  expected_version: number,
  { name, shape }: AreaReplacement,
  quotas: Tariff['quotas'],
): Promise<AreaOutcome> {
  const before = await findArea(rows, business_id, id);
  if (before === null) return { kind: 'not_found' };
  if (shape !== undefined && (shape.point === null) !== (before.point === null))
    return { kind: 'other_kind', found: before.kind };
  const at = new Date(now_ms).toISOString();
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
  if (changed === undefined) return { kind: 'stale', version: before.version };
  if (shape !== undefined) await storeSubmitted(rows, business_id, id, shape);
  if (changed.area_sq_mi > before.area_sq_mi) await refuseOverQuota(rows, business_id, quotas, ['area_sq_mi']);
  return { kind: 'changed', area: areaOf(changed) };
}

/** Deletes an area with its geometry and its alerts; false when there is none. Cursors that name it stay valid for a day. */
export async function removeArea({ rows, business_id, now_ms }: Writer, id: string): Promise<boolean> {
  const deleted = await rows
    .deleteFrom('areas')
    .where('business_id', '=', business_id)
    .where('id', '=', id)
    .returning('updated_at')
    .executeTakeFirst();
  if (deleted === undefined) return false;
  await rows.deleteFrom('area_rings').where('area_id', '=', id).execute();
  await rows.deleteFrom('alerts').where('location_id', '=', id).execute();
  await rememberDeleted(rows, { business_id, list: LIST }, [{ id, sort_key: deleted.updated_at }], now_ms);
  return true;
}

/** An area of a business; null when there is none. */
export async function findArea(rows: Kysely<Database>, business_id: string, id: string): Promise<Area | null> {
  const found = await rows
    .selectFrom('areas')
    .selectAll()
    .where('business_id', '=', business_id)
    .where('id', '=', id)
    .executeTakeFirst();
  return found === undefined ? null : areaOf(found);
}

/** A page of the list begins after this area. */
export interface AreaPlace {
  readonly updated_at: string;
  readonly id: string;
}

/** Filter of a list; null: all areas. */
export interface AreaFilter {
  readonly kind: Area['kind'] | null;
  readonly group_id: string | null;
}

/** An area as lists show it. */
export type AreaListed = Pick<Row, 'id' | 'kind' | 'name' | 'area_sq_mi' | 'version' | 'updated_at'>;

/** Areas of a business, the last changed first, then the newest, after a place; at most `limit`. */
export async function selectAreas(
  rows: Kysely<Database>,
  business_id: string,
  { kind, group_id }: AreaFilter,
  after: AreaPlace | null,
  limit: number,
): Promise<readonly AreaListed[]> {
  return await rows
    .selectFrom('areas')
    .select(['id', 'kind', 'name', 'area_sq_mi', 'version', 'updated_at'])
    .where('business_id', '=', business_id)
    .$if(kind !== null, (query) => query.where('kind', '=', kind ?? 'point'))
    .$if(group_id !== null, (query) => query.where('group_id', '=', group_id))
    .$if(after !== null, (query) =>
      query.where(({ eb, refTuple, tuple }) =>
        eb(refTuple('updated_at', 'id'), '<', tuple(after?.updated_at ?? '', after?.id ?? '')),
      ),
    )
    .orderBy('updated_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
}

/**
 * Place in the list where a cursor continues: the one stored for this holder of the cursor, else the present place of the area,
 * else its place when it was deleted, for a day. Null: unknown.
 */
export async function areaCursor(
  rows: Kysely<Database>,
  walk: Omit<Walk, 'list'>,
  cursor: string,
  now_ms: number,
): Promise<AreaPlace | null> {
  const updated_at =
    (await cursorPlace(rows, { ...walk, list: LIST }, cursor, now_ms)) ??
    (await findArea(rows, walk.business_id, cursor))?.updated_at;
  return updated_at === undefined ? null : { updated_at, id: cursor };
}

/** The note to hand to `Records.rememberCursor` when a page ends with an area. */
export function areaCursorNote(walk: Omit<Walk, 'list'>, last: AreaPlace, now_ms: number): CursorNote {
  return cursorNote({ ...walk, list: LIST }, last.id, last.updated_at, now_ms);
}

/** How much of each quota the areas of a business use. */
export async function areaUse(rows: Kysely<Database>, business_id: string): Promise<AreaUse> {
  const countOf = (column: 'kind' | 'real_time', value: string | number) =>
    sql<number>`coalesce(sum(case when ${sql.ref(column)} = ${value} then 1 else 0 end), 0)`;
  const { polygon_count, point_count, real_time_polygon_count, total_area_sq_mi } = await rows
    .selectFrom('areas')
    .select([
      countOf('kind', 'polygon').as('polygon_count'),
      countOf('kind', 'point').as('point_count'),
      countOf('real_time', 1).as('real_time_polygon_count'),
      sql<number>`coalesce(sum(area_sq_mi), 0)`.as('total_area_sq_mi'),
    ])
    .where('business_id', '=', business_id)
    .executeTakeFirstOrThrow();
  return { polygon_count, point_count, real_time_polygon_count, total_area_sq_mi };
}

/** Unit of each quota, for messages. */
const QUOTAS = {
  polygons: { taken: 'polygon_count', words: 'polygons' },
  point_areas: { taken: 'point_count', words: 'point areas' },
  real_time_polygons: { taken: 'real_time_polygon_count', words: 'real-time polygons' },
  area_sq_mi: { taken: 'total_area_sq_mi', words: 'square miles' },
} as const satisfies Partial<Record<keyof Tariff['quotas'], { taken: keyof AreaUse; words: string }>>;

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
    const { taken, words } = QUOTAS[quota];
    if (use[taken] > quotas[quota]) throw new AreaQuotaExceeded(`${quota}: the plan allows ${quotas[quota]} ${words}`);
  }
}

async function refuseFullGroup(
  rows: Transaction<Database>,
  business_id: string,
  group_id: string | null,
): Promise<void> {
  if (group_id === null) return;
  const { members } = await rows
    .selectFrom('areas')
    .select(({ fn }) => fn.countAll<number>().as('members'))
    .where('business_id', '=', business_id)
    .where('group_id', '=', group_id)
    .executeTakeFirstOrThrow();
  if (members > AREA_LIMITS.group)
    throw new AreaQuotaExceeded(`group_id: a group holds at most ${AREA_LIMITS.group} areas`);
}

/** The area in a row. */
export function areaOf({ business_id: _, lat, lon, geometry, ...row }: Row): Area {
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

function columnsOf({ kind, name, description, tags, priority, group_id, real_time, purpose }: AreaToMake) {
  return {
    kind,
    name,
    description,
    tags: JSON.stringify(tags),
    priority,
    group_id,
    real_time: Number(real_time),
    purpose,
  };
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
