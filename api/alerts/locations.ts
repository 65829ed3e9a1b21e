import type { Transaction } from 'kysely';
import type { Store } from '../records/database.ts';
import type { Database, ReceiverFormat } from '../records/schema.ts';
import { ownerOf } from '../rules/any-hail.ts';
import type { EventFormats } from '../webhooks/formats.ts';
import type { Alert } from './alerts.ts';
import {
  AREA_COLUMNS,
  anyHailRule,
  placeOfAnyHail,
  placeOfArea,
  placeOfSubscription,
  type WatchedPlace,
} from './places.ts';

/** Feature of a plan without which no event of new hail is sent. */
const REAL_TIME = 'real_time_delivery';

/** A watched place with the fields of its row that its alerts take over. */
export interface Location {
  readonly id: string;
  readonly kind: Alert['location_kind'];
  readonly business_id: string;
  readonly name: string;
  /** Format of the subscription's own receiver; null: an area. */
  readonly format: ReceiverFormat | null;
  readonly place: WatchedPlace;
  /** Its business is active and its plan has real-time delivery. */
  readonly has_real_time: boolean;
}

/** Locks the rows of some subscriptions and areas, and their businesses against removal; returns those that are watched, by id. */
export async function lockLocations(
  rows: Transaction<Database>,
  { forUpdate, forKeyShare }: Pick<Store, 'forUpdate' | 'forKeyShare'>,
  formats: EventFormats,
  location_ids: readonly string[],
): Promise<ReadonlyMap<string, Location>> {
  const asked = new Set(location_ids);
  const ids = [...new Set(location_ids.map(ownerOf))];
  const owners = [
    ...(await rows.selectFrom('areas').select('business_id').distinct().where('id', 'in', ids).execute()),
    ...(await rows.selectFrom('subscriptions').select('business_id').distinct().where('id', 'in', ids).execute()),
  ];
  const business_ids = [...new Set(owners.map(({ business_id }) => business_id))];
  if (business_ids.length === 0) return new Map();
  const businesses = await rows
    .selectFrom('businesses')
    .select(['id', 'status'])
    .where('id', 'in', business_ids)
    .orderBy('id')
    .modifyEnd(forKeyShare)
    .execute();
  const plans = await rows
    .selectFrom('plans')
    .select(['business_id', 'features'])
    .where('business_id', 'in', business_ids)
    .execute();
  const real_time = new Set(
    plans.flatMap(({ business_id, features }) =>
      (JSON.parse(features) as string[]).includes(REAL_TIME) ? [business_id] : [],
    ),
  );
  const has_real_time = new Map(businesses.map(({ id, status }) => [id, status === 'active' && real_time.has(id)]));
  const areas = await rows
    .selectFrom('areas')
    .select([...AREA_COLUMNS, 'business_id', 'name'])
    .where('id', 'in', ids)
    .orderBy('id')
    .modifyEnd(forUpdate)
    .execute();
  const subscriptions = await rows
    .selectFrom('subscriptions')
    .selectAll()
    .where('id', 'in', ids)
    .orderBy('id')
    .modifyEnd(forUpdate)
    .execute();
  const isWatchedForAnyHail = await anyHailRule(rows, formats);
  const found = [
    ...areas.flatMap((row) => placeOfArea(row).map((place) => ({ ...row, format: null, kind: place.kind, place }))),
    ...subscriptions.flatMap((row) => {
      const places = [...placeOfSubscription(row), ...(isWatchedForAnyHail(row) ? placeOfAnyHail(row) : [])];
      return places.map((place) => ({ ...row, kind: place.kind, place }));
    }),
  ];
  return new Map(
    found.flatMap(({ kind, business_id, name, format, place }) => {
      const isReal = has_real_time.get(business_id);
      if (isReal === undefined || !asked.has(place.id)) return [];
      return [[place.id, { id: place.id, kind, business_id, name, format, place, has_real_time: isReal }] as const];
    }),
  );
}
