import Flatbush from 'flatbush';
import type { Kysely, Transaction } from 'kysely';
import { boxAround } from '../../schemas/geo/around.ts';
import { isWithinKm } from '../../schemas/geo/distance.ts';
import { LATTICE } from '../../schemas/geo/lattice.ts';
import type { Bbox, Position } from '../../schemas/geo/position.ts';
import type { Ring } from '../../schemas/geo/rings.ts';
import { SIZE_BANDS } from '../../schemas/size.ts';
import { forEachInChunks, yieldToEventLoop } from '../http/event-loop.ts';
import type { ScanDetections } from '../queries/scan-detections.ts';
import type { Store } from '../records/database.ts';
import { allOwn } from '../records/own-rows.ts';
import type { Database, ReceiverFormat } from '../records/schema.ts';
import { anyHailOf, ownerOf } from '../rules/episodes.ts';
import { type RingTree, ringTree } from '../rules/ring-tree.ts';
import { ringIn } from './areas.ts';

/** Size from which hail over an area raises an alert, mm. */
export const AREA_MIN_MM = 25;
/** Smallest hail of the any-hail watch of a subscription, mm. */
const ANY_HAIL_MM = SIZE_BANDS[0].threshold_mm;
/** Distance within which hail counts for an area that is a point: a mile. */
export const POINT_AREA_RADIUS_KM = 1.609344;
/** Feature of a plan without which no event of new hail is sent. */
export const REAL_TIME = 'real_time_delivery';

/** A circle or polygon that is watched for hail: an active subscription, its any-hail watch, or an area. */
export interface WatchedPlace {
  readonly id: string;
  readonly kind: 'subscription' | 'area';
  readonly business_id: string;
  readonly name: string;
  /** Format of the subscription's own receiver; null: an area. */
  readonly format: ReceiverFormat | null;
  /** Changes with every field of the row that decides which hail matches. */
  readonly version: number;
  readonly shape:
    | (Position & { readonly kind: 'circle'; readonly radius_km: number })
    | { readonly kind: 'polygon'; readonly bbox: Bbox };
  readonly min_size_mm: number;
  /** Its alerts are raised first. */
  readonly real_time: boolean;
}

/** Every watched place, as the rows are now. Rows are read page by page; other requests run between pages. */
export async function watchedPlaces(rows: Kysely<Database>): Promise<readonly WatchedPlace[]> {
  const hasAnyHail = await anyHailRule(rows);
  const subscriptions = await allOwn(rows, 'subscriptions', SUBSCRIPTION_COLUMNS, { status: 'active' });
  const areas = await allOwn(rows, 'areas', AREA_COLUMNS, {});
  return [
    ...subscriptions.flatMap((row) => placesOfSubscription(row, hasAnyHail(row))),
    ...areas.flatMap(placesOfArea),
  ];
}

/** A watched place whose row is locked. `has_real_time`: its business is active and its plan has real-time delivery. */
export type LockedPlace = WatchedPlace & { readonly has_real_time: boolean };

/** Locks the rows of some places, and their businesses against removal; returns the places that are still watched, by id. */
export async function lockPlaces(
  rows: Transaction<Database>,
  { forUpdate, forKeyShare }: Pick<Store, 'forUpdate' | 'forKeyShare'>,
  place_ids: readonly string[],
): Promise<ReadonlyMap<string, LockedPlace>> {
  const ids = [...new Set(place_ids.map(ownerOf))];
  const ownersIn = (table: 'areas' | 'subscriptions') =>
    rows.selectFrom(table).select('business_id').where('id', 'in', ids);
  const businesses = await rows
    .selectFrom('businesses')
    .innerJoin('plans', 'plans.business_id', 'businesses.id')
    .select(['businesses.id', 'status', 'features'])
    .where(({ or, eb }) =>
      or((['areas', 'subscriptions'] as const).map((table) => eb('businesses.id', 'in', ownersIn(table)))),
    )
    .orderBy('businesses.id')
    .modifyEnd(forKeyShare)
    .execute();
  const has_real_time = new Map(
    businesses.map(({ id, status, features }) => [id, status === 'active' && JSON.parse(features).includes(REAL_TIME)]),
  );
  const areas = rows.selectFrom('areas').select(AREA_COLUMNS).where('id', 'in', ids).orderBy('id');
  const areaRows = await areas.modifyEnd(forUpdate).execute();
  const subscriptions = rows.selectFrom('subscriptions').select(SUBSCRIPTION_COLUMNS).where('id', 'in', ids);
  const subscriptionRows = await subscriptions.orderBy('id').modifyEnd(forUpdate).execute();
  const hasAnyHail = await anyHailRule(rows);
  const places = [
    ...areaRows.flatMap(placesOfArea),
    ...subscriptionRows.flatMap((row) => placesOfSubscription(row, hasAnyHail(row))),
  ];
  return new Map(
    places
      .filter(({ id, business_id }) => place_ids.includes(id) && has_real_time.has(business_id))
      .map((place) => [place.id, { ...place, has_real_time: has_real_time.get(place.business_id) === true }]),
  );
}

/**
 * Which subscriptions have an any-hail watch: those of the earlier format, which reports any hail, and those of a business with a
 * webhook of it. Disabled and paused receivers count: once they are active again, they get the end of the alert, or recover it.
 */
async function anyHailRule(rows: Kysely<Database>) {
  const webhooks = rows.selectFrom('webhooks').select('business_id').distinct().where('format', '=', 'legacy');
  const businesses = new Set((await webhooks.execute()).map(({ business_id }) => business_id));
  return ({ format, business_id }: Pick<Subscription, 'format' | 'business_id'>) =>
    format === 'legacy' || businesses.has(business_id);
}

/** Rings of polygon areas as they were submitted, up to 20,000 positions each, by id of the area. */
export async function areaRings(rows: Kysely<Database>, ids: readonly string[]): Promise<ReadonlyMap<string, Ring>> {
  const found = await rows
    .selectFrom('areas')
    .leftJoin('area_rings', 'area_rings.area_id', 'areas.id')
    .select(({ fn }) => ['areas.id', fn.coalesce('area_rings.geometry', 'areas.geometry').as('geometry')])
    .where('areas.id', 'in', ids)
    .execute();
  const rings = found.map(({ id, geometry }) => [id, ringIn(geometry)] as const);
  return new Map(rings.filter((each): each is [string, Ring] => each[1] !== null));
}

/** Columns of a subscription that decide which hail matches. */
const SUBSCRIPTION_COLUMNS = [
  ...(['id', 'business_id', 'name', 'format', 'status'] as const),
  ...(['version', 'lat', 'lon', 'radius_km', 'min_size_mm'] as const),
];
type Subscription = Pick<Database['subscriptions'], (typeof SUBSCRIPTION_COLUMNS)[number]>;

/** The place of a subscription, and that of its any-hail watch; none while it is paused. */
function placesOfSubscription(row: Subscription, hasAnyHail: boolean): WatchedPlace[] {
  const { id, business_id, name, format, status, version, lat, lon, radius_km, min_size_mm } = row;
  if (status !== 'active') return [];
  const shape = { kind: 'circle' as const, lat, lon, radius_km };
  const about = { kind: 'subscription' as const, business_id, name, format, version, shape, real_time: false };
  const own = { id, min_size_mm, ...about };
  return hasAnyHail ? [own, { ...own, id: anyHailOf(id), min_size_mm: ANY_HAIL_MM }] : [own];
}

/** Columns of an area but for its rings. */
const AREA_COLUMNS = [
  ...(['id', 'business_id', 'name', 'purpose'] as const),
  ...(['version', 'lat', 'lon', 'bbox', 'real_time'] as const),
];

/** The place of an area; none when it is for canvassing alone. */
function placesOfArea(row: Pick<Database['areas'], (typeof AREA_COLUMNS)[number]>): WatchedPlace[] {
  const { id, business_id, name, purpose, version, lat, lon, bbox, real_time } = row;
  if (purpose === 'canvassing') return [];
  const shape =
    lat === null || lon === null
      ? { kind: 'polygon' as const, bbox: JSON.parse(bbox) as Bbox }
      : { kind: 'circle' as const, lat, lon, radius_km: POINT_AREA_RADIUS_KM };
  const about = { id, kind: 'area' as const, business_id, name, format: null, version, shape };
  return [{ ...about, min_size_mm: AREA_MIN_MM, real_time: real_time === 1 }];
}

/** Bounding box of a place. */
export function boxOf({ shape }: WatchedPlace): Bbox {
  return shape.kind === 'circle' ? boxAround(shape, shape.radius_km) : shape.bbox;
}

/** Origin of distances to a place: the centre of the circle, or of the bounding box. */
export function centreOf({ shape }: WatchedPlace): Position {
  if (shape.kind === 'circle') return shape;
  const [west, south, east, north] = shape.bbox;
  return { lat: (south + north) / 2, lon: (west + east) / 2 };
}

/** Detections of one scan, as far as their matches depend on them. */
type ScanHail = Pick<ScanDetections, 'length' | 'lat' | 'lon' | 'size_mm'>;

/** Half a pixel of the lattice, degrees: a polygon smaller than a pixel is hit by the pixel over it. */
const HALF_PIXEL_DEG = LATTICE.step / 2;
/** Places between two yields to the event loop. */
const PLACES_PER_TURN = 1_000;
/** Rings in memory at a time, up to 20,000 positions each: about 20 MB. */
const RINGS_PER_READ = 10;

/**
 * The largest matching detection of each place that a scan hits, as detection number by place id; of equal sizes the first.
 * A detection matches when it has the place's smallest size or more, and the centre of its pixel lies in the circle or the pixel
 * overlaps the polygon (a narrow polygon may hold no centre). `readRings` leaves out areas that were deleted.
 */
export async function matchScan(
  places: readonly WatchedPlace[],
  { length, lat, lon, size_mm }: ScanHail,
  readRings: (ids: readonly string[]) => Promise<ReadonlyMap<string, Ring>>,
): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  if (length === 0 || places.length === 0) return found;
  /** Detection numbers by rank: the largest detection has rank 0. */
  const ranked = Uint32Array.from({ length }, (_, k) => k).sort((a, b) => size_mm[b] - size_mm[a] || a - b);
  const tree = new Flatbush(length);
  for (const k of ranked) tree.add(lon[k], lat[k], lon[k], lat[k]);
  tree.finish();
  const at = (rank: number): Position => ({ lat: lat[ranked[rank]], lon: lon[ranked[rank]] });
  /** Ranks of the detections in the box around a place that have its size, largest first. */
  const near = (place: WatchedPlace, margin_deg: number) => {
    const [west, south, east, north] = boxOf(place);
    const box = [west - margin_deg, south - margin_deg, east + margin_deg, north + margin_deg] as const;
    const isLarge = (rank: number) => size_mm[ranked[rank]] >= place.min_size_mm;
    return tree.search(...box, isLarge).sort((a, b) => a - b);
  };
  const take = (place: WatchedPlace, margin_deg: number, isHit: (hail: Position) => boolean) => {
    const rank = near(place, margin_deg).find((one) => isHit(at(one)));
    if (rank !== undefined) found.set(place.id, ranked[rank]);
  };

  const polygons: WatchedPlace[] = [];
  await forEachInChunks(places, PLACES_PER_TURN, (place) => {
    const { shape } = place;
    if (shape.kind === 'polygon') {
      if (near(place, HALF_PIXEL_DEG).length > 0) polygons.push(place);
    } else take(place, 0, (hail) => isWithinKm(shape, hail, shape.radius_km));
  });
  for (let from = 0; from < polygons.length; from += RINGS_PER_READ) {
    const part = polygons.slice(from, from + RINGS_PER_READ);
    const rings = await readRings(part.map(({ id }) => id));
    for (const place of part) {
      const ring = rings.get(place.id);
      if (ring === undefined) continue;
      const area = ringTree(ring);
      take(place, HALF_PIXEL_DEG, (hail) => isOver(area, hail));
      await yieldToEventLoop();
    }
  }
  return found;
}

/** True when the pixel around a position overlaps an area; a shared edge is no overlap. */
export function isOver(tree: RingTree, at: Position): boolean {
  return tree.passesThrough(at, HALF_PIXEL_DEG) || tree.holds(at);
}
