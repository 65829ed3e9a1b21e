import type { Kysely, Selectable } from 'kysely';
import type { Bbox } from '../../schemas/geo/position.ts';
import type { Ring } from '../../schemas/geo/rings.ts';
import { SIZE_BANDS } from '../../schemas/size.ts';
import { yieldToEventLoop } from '../http/event-loop.ts';
import type { Database } from '../records/schema.ts';
import { anyHailOf, ownerOf } from '../rules/any-hail.ts';
import type { EventFormats } from '../webhooks/formats.ts';
import { ringIn } from './areas.ts';

/** Size from which hail over an area raises an alert, mm. */
export const AREA_MIN_MM = 25;
/** Smallest hail of the any-hail watch of a subscription, mm. */
const ANY_HAIL_MM = SIZE_BANDS[0].threshold_mm;
/** Distance within which hail counts for an area that is a point: a mile. */
export const POINT_AREA_RADIUS_KM = 1.609344;

export interface WatchedCircle {
  readonly kind: 'circle';
  readonly lat: number;
  readonly lon: number;
  readonly radius_km: number;
}

/** A circle or polygon that is watched for hail: an active subscription, its any-hail watch, or an area. */
export interface WatchedPlace {
  readonly id: string;
  readonly kind: 'subscription' | 'area';
  /** Changes with every field of the row that decides which hail matches. */
  readonly version: number;
  readonly shape: WatchedCircle | { readonly kind: 'polygon'; readonly bbox: Bbox };
  readonly min_size_mm: number;
  readonly real_time: boolean;
}

const ROWS_PER_READ = 2_000;
const IDS_PER_READ = 500;

/** Versions of all watched places by id, as the rows are now: another process may have changed them. */
export async function placeVersions(
  rows: Kysely<Database>,
  formats: EventFormats,
): Promise<ReadonlyMap<string, number>> {
  const versions = new Map<string, number>();
  const isWatchedForAnyHail = await anyHailRule(rows, formats);
  const subscriptions = rows
    .selectFrom('subscriptions')
    .select(['id', 'version', 'format', 'business_id'])
    .where('status', '=', 'active');
  await eachRow(
    (after) => subscriptions.where('id', '>', after).orderBy('id').limit(ROWS_PER_READ).execute(),
    (row) => {
      versions.set(row.id, row.version);
      if (isWatchedForAnyHail(row)) versions.set(anyHailOf(row.id), row.version);
    },
  );
  const areas = rows.selectFrom('areas').select(['id', 'version']).where('purpose', '!=', 'canvassing');
  await eachRow(
    (after) => areas.where('id', '>', after).orderBy('id').limit(ROWS_PER_READ).execute(),
    ({ id, version }) => versions.set(id, version),
  );
  return versions;
}

/** Reads rows page by page in the order of their ids; yields to the event loop between pages. */
async function eachRow<Row extends { readonly id: string }>(
  read: (after: string) => Promise<readonly Row[]>,
  take: (row: Row) => void,
): Promise<void> {
  for (let after = ''; ; ) {
    const page = await read(after);
    for (const row of page) take(row);
    if (page.length < ROWS_PER_READ) return;
    after = page.at(-1)?.id ?? '';
    await yieldToEventLoop();
  }
}

/**
 * Which subscriptions have an any-hail watch: those whose own format, or that of a webhook of their business, reports any hail.
 * Disabled and paused receivers count: once they are active again, they get the end of the alert, or recover it.
 */
export async function anyHailRule(
  rows: Kysely<Database>,
  formats: EventFormats,
): Promise<(subscription: Pick<Selectable<Database['subscriptions']>, 'format' | 'business_id'>) => boolean> {
  const names = [...formats.values()].filter(({ any_hail }) => any_hail).map(({ name }) => name);
  if (names.length === 0) return () => false;
  const found = await rows
    .selectFrom('webhooks')
    .select('business_id')
    .distinct()
    .where('format', 'in', names)
    .execute();
  const businesses = new Set(found.map(({ business_id }) => business_id));
  return ({ format, business_id }) => names.includes(format) || businesses.has(business_id);
}

/** The watched places of some ids; ids that are no longer watched are left out. */
export async function readPlaces(rows: Kysely<Database>, ids: readonly string[]): Promise<WatchedPlace[]> {
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

/** Rings of polygon areas as they were submitted, up to 20,000 positions each, by id of the area. */
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

/** The any-hail watch of a subscription; none while it is paused. */
export function placeOfAnyHail(row: Parameters<typeof placeOfSubscription>[0]): readonly WatchedPlace[] {
  return placeOfSubscription(row).map((place) => ({
    ...place,
    id: anyHailOf(place.id),
    min_size_mm: ANY_HAIL_MM,
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
