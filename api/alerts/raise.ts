import type { Selectable, Transaction } from 'kysely';
import { distanceKm } from '../../schemas/geo/distance.ts';
import { newId } from '../../schemas/ids.ts';
import type { Provenance } from '../../schemas/provenance.ts';
import type { AnyEventType, EarlierEventType } from '../../schemas/webhook-events.ts';
import { yieldToEventLoop } from '../event-loop.ts';
import { isAnyHail, ownerOf } from '../legacy/any-hail.ts';
import { earlierEventsOf, earlierHailData } from '../legacy/events.ts';
import { lastTold } from '../legacy/last-told.ts';
import { earlierReceiversOf } from '../legacy/receivers.ts';
import type { ScanCoverage } from '../queries/scan-coverage.ts';
import type { ScanDetections } from '../queries/scan-detections.ts';
import { CLEAR_AFTER_MS, type Episode, nextStep } from '../rules/episodes.ts';
import { ringTree } from '../rules/ring-tree.ts';
import { rounded } from '../rules/rounded.ts';
import type { Store } from '../store/database.ts';
import { instant } from '../store/instant.ts';
import type { Database } from '../store/schema.ts';
import {
  activeReceivers,
  alertCreatedData,
  alertResolvedData,
  enqueueEarlierEvent,
  enqueueEvent,
  type Outbox,
} from '../webhooks/events.ts';
import type { Alert } from './alerts.ts';
import { isOver, matchScan } from './match.ts';
import { boxOf, centreOf, indexPlaces, type PlaceIndex } from './places.ts';
import {
  AREA_COLUMNS,
  areaRings,
  asksForAnyHail,
  placeOfAnyHail,
  placeOfArea,
  placeOfSubscription,
  type WatchedPlace,
} from './watched.ts';

/** Feature without which nobody is told anything. */
const REAL_TIME = 'real_time_delivery';

/** Places between which other requests are let through. */
const PLACES_PER_TURN = 20;

/** One scan, as far as alerts follow from it. */
export interface AlertScan {
  readonly scan_id: string;
  readonly scan_ms: number;
  /** It arrived in time to tell somebody. */
  readonly on_time: boolean;
  readonly data_source: Provenance;
  readonly hail: ScanDetections;
  /** Null: not known. */
  readonly coverage: ScanCoverage | null;
}

/** What was found outside the transaction: largest detections by places of an index that may be older than the records. */
export interface Hits {
  readonly index: PlaceIndex;
  readonly found: ReadonlyMap<number, number>;
}

/** What alerts are raised with. */
export interface RaiseParts extends Outbox {
  readonly store: Pick<Store, 'forUpdate' | 'forKeyShare'>;
}

/** How many alerts a scan changed. */
export interface Raised {
  readonly opened: number;
  readonly resolved: number;
  readonly closed: number;
}

export const NOTHING_RAISED: Raised = { opened: 0, resolved: 0, closed: 0 };

/**
 * Does to the alerts of some subscriptions and areas what a scan calls for, and writes the events that follow. Everything is
 * decided from the rows, which the transaction holds: done again, by another process or after a crash, it changes nothing. Rows
 * are locked in the order of the tables, within one by id. Events of the places named first go out first.
 */
export async function raiseAlerts(
  rows: Transaction<Database>,
  parts: RaiseParts,
  scan: AlertScan,
  hits: Hits,
  location_ids: readonly string[],
  now_ms: number,
): Promise<Raised> {
  const locations = await lockLocations(rows, parts.store, location_ids);
  const alerts = await lockAlerts(rows, parts.store, location_ids, scan.scan_ms);
  const sighted = await sightings(rows, scan, hits, locations);
  const owners = [...new Set([...locations.values()].map(({ business_id }) => business_id))];
  const telling: AlertEvents = {
    rows,
    parts,
    webhooks: webhooksOf(rows),
    earlier: await earlierReceiversOf(rows, owners),
    now_ms,
  };
  const count = { ...NOTHING_RAISED };
  for (const [at, id] of location_ids.entries()) {
    if (at > 0 && at % PLACES_PER_TURN === 0) await yieldToEventLoop();
    const location = locations.get(id) ?? null;
    const own = alerts.get(id) ?? [];
    const open = own.find(({ status }) => status === 'open') ?? null;
    const detection = sighted.get(id) ?? null;
    const seen = { detection, covered_blocks: location && (scan.coverage?.blocksOver(boxOf(location.place)) ?? null) };
    const step = nextStep(
      {
        scan_ms: scan.scan_ms,
        on_time: scan.on_time && location?.told === true,
        asked: location !== null && (detection !== null || open === null || (await stillAsks(rows, open, location))),
        hail_mm: detection === null ? null : (scan.hail.size_mm[detection] as number),
        covered_blocks: seen.covered_blocks,
      },
      own.map(episodeOf),
    );
    if (step.kind === 'open' && location !== null && detection !== null) {
      await raise(telling, location, newAlert(scan, location, { ...seen, detection }, now_ms));
      count.opened += 1;
    }
    if (open === null) continue;
    if (step.kind === 'keep') {
      const { last_seen_ms, max_size_mm, newer } = step;
      const location_version = location?.place.version ?? open.location_version;
      const change = { location_version, last_seen_at: instant(last_seen_ms), max_size_mm: rounded(max_size_mm, 1) };
      await changeAlert(rows, open.id, newer ? { ...change, covered_blocks: seen.covered_blocks } : change);
    }
    if (step.kind === 'resolve' && location !== null) {
      await resolve(telling, location, { ...open, resolved_at: instant(step.resolved_ms) });
      count.resolved += 1;
    }
    if (step.kind === 'close') {
      await changeAlert(rows, open.id, { status: 'closed', open_location: null });
      count.closed += 1;
    }
  }
  return count;
}

/** What events are written with. */
interface AlertEvents {
  readonly rows: Transaction<Database>;
  readonly parts: RaiseParts;
  readonly webhooks: (business_id: string, event: AnyEventType) => Promise<readonly string[]>;
  /** Receivers that were made in the earlier variant. */
  readonly earlier: ReadonlySet<string>;
  readonly now_ms: number;
}

/** Writes a new alert, counts it where it is that of the threshold, and tells of it. */
async function raise(telling: AlertEvents, location: Location, alert: Alert): Promise<void> {
  const { rows } = telling;
  await rows.insertInto('alerts').values(alert).execute();
  if (location.kind === 'subscription' && !isAnyHail(location.id))
    await rows
      .updateTable('subscriptions')
      .set((eb) => ({ trigger_count: eb('trigger_count', '+', 1), last_triggered_at: alert.triggered_at }))
      .where('id', '=', location.id)
      .execute();
  await tell(telling, location, alert, 'begins');
}

/** Ends an alert at the instant that it carries, and tells of it once its beginning was told. */
async function resolve(telling: AlertEvents, location: Location, alert: Alert): Promise<void> {
  const { id, resolved_at } = alert;
  await changeAlert(telling.rows, id, { status: 'resolved', open_location: null, resolved_at });
  await tell(telling, location, alert, 'ends');
}

/**
 * Writes an event for the subscription's own address, and for the webhooks of the business that take it. The earlier variant has
 * its own events and knows no areas; any hail is told there alone.
 */
async function tell(
  { rows, parts, webhooks, earlier, now_ms }: AlertEvents,
  { id, kind, business_id }: Location,
  alert: Alert,
  step: 'begins' | 'ends',
): Promise<void> {
  const about = { business_id, alert_id: alert.id, at_ms: now_ms };
  const own = kind === 'subscription' ? [ownerOf(id)] : [];
  if (!isAnyHail(id)) {
    const begun = 'alert.created';
    const happened =
      step === 'begins'
        ? ({ event: begun, data: alertCreatedData(alert), after: null } as const)
        : ({
            event: 'alert.resolved',
            data: alertResolvedData(alert),
            after: { alert_id: alert.id, event: begun },
          } as const);
    const all = [...own, ...(await webhooks(business_id, happened.event))];
    const receivers = all.filter((receiver) => !earlier.has(receiver));
    await enqueueEvent(rows, parts, { ...about, ...happened, receivers });
  }
  if (earlier.size === 0 || kind === 'area') return;
  const { begins, ends } = earlierEventsOf(alert);
  const takers = async (event: EarlierEventType) =>
    [...own, ...(await webhooks(business_id, event))].filter((receiver) => earlier.has(receiver));
  const end = async (over: Alert, receivers: readonly string[]) => {
    const data = earlierHailData(over, 'ends');
    const after = { alert_id: over.id, event: begins };
    await enqueueEarlierEvent(rows, parts, { ...about, alert_id: over.id, event: ends, after, data, receivers });
  };
  if (step === 'ends') return await end(alert, await takers(ends));
  // Its events name no alert: what the receiver was told of before ends first, as far as it takes that.
  const receivers = await takers(begins);
  const former = await lastTold(rows, id, receivers);
  const data = earlierHailData(alert, 'begins');
  for (const receiver of receivers) {
    const last = former.get(receiver);
    if (last?.step === 'begins' && (await takers(ends)).includes(receiver)) await end(last.alert, [receiver]);
    const after = last === undefined ? null : { alert_id: last.alert.id, event: ends };
    await enqueueEarlierEvent(rows, parts, { ...about, event: begins, after, data, receivers: [receiver] });
  }
}

/** A subscription or area that asks for hail now, as its row is. */
interface Location {
  readonly id: string;
  readonly kind: Alert['location_kind'];
  readonly business_id: string;
  readonly name: string;
  readonly place: WatchedPlace;
  /** Its business may be told of new hail. */
  readonly told: boolean;
}

/** Holds the rows of subscriptions and areas, after keeping their businesses from being removed; returns those that ask. */
async function lockLocations(
  rows: Transaction<Database>,
  { forUpdate, forKeyShare }: RaiseParts['store'],
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
  const told = new Map(businesses.map(({ id, status }) => [id, status === 'active' && real_time.has(id)]));
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
  const anyHail = await askingForAnyHail(rows, location_ids.filter(isAnyHail).map(ownerOf));
  const found = [
    ...areas.flatMap(locationOfArea),
    ...subscriptions.flatMap((row) => locationsOfSubscription(row, anyHail.has(row.id))),
  ];
  return new Map(
    found.flatMap((location) => {
      if (!asked.has(location.id)) return [];
      const isTold = told.get(location.business_id);
      return isTold === undefined ? [] : [[location.id, { ...location, told: isTold }]];
    }),
  );
}

function locationOfArea(
  row: Pick<Selectable<Database['areas']>, (typeof AREA_COLUMNS)[number] | 'business_id' | 'name'>,
): readonly Omit<Location, 'told'>[] {
  const { id, business_id, name } = row;
  return placeOfArea(row).map((place) => ({ id, kind: 'area', business_id, name, place }));
}

/** The circle of a subscription: once for its threshold, and once for any hail where that is told. */
function locationsOfSubscription(
  row: Selectable<Database['subscriptions']>,
  isAnyHailTold: boolean,
): readonly Omit<Location, 'told'>[] {
  const { business_id, name } = row;
  const places = [...placeOfSubscription(row), ...(isAnyHailTold ? placeOfAnyHail(row) : [])];
  return places.map((place) => ({ id: place.id, kind: 'subscription', business_id, name, place }));
}

/** Those of some subscriptions whose any hail is told to somebody. */
async function askingForAnyHail(
  rows: Transaction<Database>,
  subscription_ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (subscription_ids.length === 0) return new Set();
  const found = await rows
    .selectFrom('subscriptions')
    .select('id')
    .where('id', 'in', subscription_ids)
    .where(asksForAnyHail)
    .execute();
  return new Set(found.map(({ id }) => id));
}

/** Holds the alerts of places that a scan may belong to: open ones, and those that were resolved around it. */
async function lockAlerts(
  rows: Transaction<Database>,
  { forUpdate }: RaiseParts['store'],
  location_ids: readonly string[],
  scan_ms: number,
): Promise<ReadonlyMap<string, readonly Alert[]>> {
  const found = await rows
    .selectFrom('alerts')
    .selectAll()
    .where('location_id', 'in', location_ids)
    .where(({ or, and, eb }) =>
      or([
        eb('open_location', 'is not', null),
        and([eb('status', '=', 'resolved'), eb('resolved_at', '>', instant(scan_ms - CLEAR_AFTER_MS))]),
      ]),
    )
    .orderBy('id')
    .modifyEnd(forUpdate)
    .execute();
  return Map.groupBy(found, ({ location_id }) => location_id);
}

/** The largest detection for each place as its row is now; matched anew where it differs from the index. */
async function sightings(
  rows: Transaction<Database>,
  { hail }: AlertScan,
  { index, found }: Hits,
  locations: ReadonlyMap<string, Location>,
): Promise<ReadonlyMap<string, number>> {
  const changed = await indexPlaces(
    [...locations.values()].flatMap(({ id, place }) => {
      const at = index.at.get(id);
      return at !== undefined && index.places[at]?.version === place.version ? [] : [place];
    }),
  );
  const anew = await matchScan(changed, hail, (ids) => areaRings(rows, ids));
  const sighted = new Map<string, number>();
  for (const id of locations.keys()) {
    const [at, atAnew] = [index.at.get(id), changed.at.get(id)];
    const detection = atAnew !== undefined ? anew.get(atAnew) : at !== undefined ? found.get(at) : undefined;
    if (detection !== undefined) sighted.set(id, detection);
  }
  return sighted;
}

/** False for an open alert whose subscription or area was changed since its last hail, so that it would not raise it now. */
async function stillAsks(rows: Transaction<Database>, open: Alert, { id, place }: Location): Promise<boolean> {
  if (place.version === open.location_version) return true;
  if (open.max_size_mm < place.min_size_mm) return false;
  const { shape } = place;
  if (shape.kind === 'circle') return distanceKm(shape, open) <= shape.radius_km;
  const ring = (await areaRings(rows, [id])).get(id);
  return ring !== undefined && isOver(ringTree(ring), open);
}

/** Webhooks of businesses that take an event, each read once. */
function webhooksOf(rows: Transaction<Database>): AlertEvents['webhooks'] {
  const read = new Map<string, readonly string[]>();
  return async (business_id, event) => {
    const key = `${business_id} ${event}`;
    const known = read.get(key) ?? (await activeReceivers(rows, business_id, event));
    read.set(key, known);
    return known;
  };
}

async function changeAlert(rows: Transaction<Database>, id: string, change: Partial<Alert>): Promise<void> {
  await rows.updateTable('alerts').set(change).where('id', '=', id).execute();
}

function newAlert(
  { scan_id, scan_ms, hail, data_source }: AlertScan,
  { id, kind, business_id, name, place }: Location,
  { detection, covered_blocks }: { readonly detection: number; readonly covered_blocks: number | null },
  now_ms: number,
): Alert {
  const at = { lat: hail.lat[detection] as number, lon: hail.lon[detection] as number };
  const size_mm = rounded(hail.size_mm[detection] as number, 1);
  return {
    id: newId('alert', now_ms),
    business_id,
    location_id: id,
    location_kind: kind,
    location_name: name,
    location_version: place.version,
    status: 'open',
    open_location: id,
    scan_id,
    triggered_at: instant(scan_ms),
    last_seen_at: instant(scan_ms),
    resolved_at: null,
    estimated_size_mm: size_mm,
    max_size_mm: size_mm,
    confidence: rounded(hail.confidence[detection] as number, 3),
    lat: rounded(at.lat, 5),
    lon: rounded(at.lon, 5),
    distance_km: rounded(distanceKm(centreOf(place), at), 2),
    track_id: hail.track_id[detection] ?? null,
    covered_blocks,
    data_source,
  };
}

function episodeOf({ status, triggered_at, last_seen_at, max_size_mm, covered_blocks }: Alert): Episode {
  return {
    status,
    triggered_ms: Date.parse(triggered_at),
    last_seen_ms: Date.parse(last_seen_at),
    max_size_mm,
    covered_blocks,
  };
}
