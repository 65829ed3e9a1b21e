import type { Expression, ExpressionBuilder, Kysely, SqlBool } from 'kysely';
import type { Bbox } from '../../schemas/geo/position.ts';
import type { Ring } from '../../schemas/geo/rings.ts';
import { EARLIER_HAIL_MM } from '../../schemas/webhook-events.ts';
import { yieldToEventLoop } from '../event-loop.ts';
import { anyHailOf, ownerOf } from '../legacy/any-hail.ts';
import type { Database } from '../store/schema.ts';
import { ringIn } from './areas.ts';

/** Size from which hail over an area raises an alert, mm. */
export const AREA_MIN_MM = 25;
/** How near hail must fall to an area that is a point: a mile. */
export const POINT_AREA_RADIUS_KM = 1.609344;

export interface WatchedCircle {
  readonly kind: 'circle';
  readonly lat: number;
  readonly lon: number;
  readonly radius_km: number;
}

/** A subscription or an area that asks for hail now. */
export interface WatchedPlace {
  readonly id: string;
  readonly kind: 'subscription' | 'area';
  /** Changes with whatever decides what it asks for. */
  readonly version: number;
  readonly shape: WatchedCircle | { readonly kind: 'polygon'; readonly bbox: Bbox };
  readonly min_size_mm: number;
  readonly real_time: boolean;
}

const ROWS_PER_READ = 2_000;
const IDS_PER_READ = 500;

/**
 * Versions of everything that asks for hail now, by id: active subscriptions, and areas that are not for canvassing alone.
 * Whoever changes them, in whatever process: what is compared is what is there.
 */
export async function watchedVersions(rows: Kysely<Database>): Promise<ReadonlyMap<string, number>> {
  const versions = new Map<string, number>();
  const subscriptions = rows.selectFrom('subscriptions').select(['id', 'version']).where('status', '=', 'active');
  await everyPage((after) => subscriptions.where('id', '>', after).orderBy('id').limit(ROWS_PER_READ).execute());
  const anyHail = subscriptions.where(asksForAnyHail);
  if (await hasEarlierReceivers(rows))
    await everyPage(async (after) => {
      const page = await anyHail.where('id', '>', ownerOf(after)).orderBy('id').limit(ROWS_PER_READ).execute();
      return page.map(({ id, version }) => ({ id: anyHailOf(id), version }));
    });
  const areas = rows.selectFrom('areas').select(['id', 'version']).where('purpose', '!=', 'canvassing');
  await everyPage((after) => areas.where('id', '>', after).orderBy('id').limit(ROWS_PER_READ).execute());
  return versions;

  async function everyPage(read: (after: string) => Promise<readonly Pick<WatchedPlace, 'id' | 'version'>[]>) {
    for (let after = ''; ; ) {
      const page = await read(after);
      for (const { id, version } of page) versions.set(id, version);
      if (page.length < ROWS_PER_READ) return;
      after = page.at(-1)?.id ?? '';
      await yieldToEventLoop();
    }
  }
}

async function hasEarlierReceivers(rows: Kysely<Database>): Promise<boolean> {
  return (await rows.selectFrom('earlier_receivers').select('receiver_id').limit(1).executeTakeFirst()) !== undefined;
}

/**
 * True of subscriptions whose any hail is told: themselves, or a webhook of their business, are of the earlier variant. One that
 * is disabled or paused counts: it hears of the end, or recovers it, when it is active again.
 */
export function asksForAnyHail({
  or,
  exists,
  selectFrom,
}: ExpressionBuilder<Database, 'subscriptions'>): Expression<SqlBool> {
  const marked = selectFrom('earlier_receivers').select('receiver_id');
  const webhooks = selectFrom('webhooks')
    .innerJoin('earlier_receivers', 'earlier_receivers.receiver_id', 'webhooks.id')
    .select('webhooks.id');
  return or([
    exists(marked.whereRef('earlier_receivers.receiver_id', '=', 'subscriptions.id')),
    exists(webhooks.whereRef('webhooks.business_id', '=', 'subscriptions.business_id')),
  ]);
}

/** Those of some ids that ask for hail now. */
export async function watchedPlaces(rows: Kysely<Database>, ids: readonly string[]): Promise<WatchedPlace[]> {
  const found: WatchedPlace[] = [];
  for (let from = 0; from < ids.length; from += IDS_PER_READ) {
    const asked = new Set(ids.slice(from, from + IDS_PER_READ));
    const part = [...new Set([...asked].map(ownerOf))];
    const areas = await rows.selectFrom('areas').select(AREA_COLUMNS).where('id', 'in', part).execute();
    const subscriptions = await rows
      .selectFrom('subscriptions')
      .select(SUBSCRIPTION_COLUMNS)
      .where('id', 'in', part)
      .execute();
    for (const row of areas) found.push(...placeOfArea(row));
    for (const row of subscriptions)
      found.push(...[...placeOfSubscription(row), ...placeOfAnyHail(row)].filter(({ id }) => asked.has(id)));
    await yieldToEventLoop();
  }
  return found;
}

/** Rings of areas that are polygons as they were submitted, up to 20,000 positions each, by id of the area. */
export async function areaRings(rows: Kysely<Database>, ids: readonly string[]): Promise<ReadonlyMap<string, Ring>> {
  if (ids.length === 0) return new Map();
  const found = await rows
    .selectFrom('areas')
    .leftJoin('area_rings', 'area_rings.area_id', 'areas.id')
    .select(({ fn }) => ['areas.id', fn.coalesce('area_rings.geometry', 'areas.geometry').as('geometry')])
    .where('areas.id', 'in', ids)
    .execute();
  return new Map(
    found.flatMap(({ id, geometry }) => {
      const ring = ringIn(geometry);
      return ring === null ? [] : [[id, ring] as const];
    }),
  );
}

const SUBSCRIPTION_COLUMNS = ['id', 'status', 'version', 'lat', 'lon', 'radius_km', 'min_size_mm'] as const;
export const AREA_COLUMNS = ['id', 'kind', 'purpose', 'version', 'lat', 'lon', 'bbox', 'real_time'] as const;

type Row<Table extends 'areas' | 'subscriptions', Columns extends keyof Database[Table]> = Pick<
  Database[Table],
  Columns
>;

/** The place of a subscription; none while it is paused. */
export function placeOfSubscription(
  row: Row<'subscriptions', (typeof SUBSCRIPTION_COLUMNS)[number]>,
): readonly WatchedPlace[] {
  const { id, status, version, lat, lon, radius_km, min_size_mm } = row;
  if (status !== 'active') return [];
  const shape = { kind: 'circle' as const, lat, lon, radius_km };
  return [{ id, kind: 'subscription', version, shape, min_size_mm, real_time: false }];
}

/** The place of any hail of a subscription, for those that ask for it; none while it is paused. */
export function placeOfAnyHail(row: Parameters<typeof placeOfSubscription>[0]): readonly WatchedPlace[] {
  return placeOfSubscription(row).map((place) => ({
    ...place,
    id: anyHailOf(place.id),
    min_size_mm: EARLIER_HAIL_MM,
  }));
}

/** The place of an area; none when it is for canvassing alone. */
export function placeOfArea(row: Row<'areas', (typeof AREA_COLUMNS)[number]>): readonly WatchedPlace[] {
  const { id, kind, purpose, version, lat, lon, bbox, real_time } = row;
  if (purpose === 'canvassing') return [];
  const place = { id, kind: 'area' as const, version, min_size_mm: AREA_MIN_MM, real_time: real_time === 1 };
  if (kind === 'polygon') return [{ ...place, shape: { kind, bbox: JSON.parse(bbox) as Bbox } }];
  if (lat === null || lon === null) throw new TypeError(`area ${id} is a point without a position`);
  return [{ ...place, shape: { kind: 'circle', lat, lon, radius_km: POINT_AREA_RADIUS_KM } }];
}
