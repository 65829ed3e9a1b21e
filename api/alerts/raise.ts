import type { Transaction } from 'kysely';
import { distanceKm } from '../../schemas/geo/distance.ts';
import { derivedId } from '../../schemas/ids.ts';
import type { Provenance } from '../../schemas/provenance.ts';
import { instant } from '../../schemas/time.ts';
import { yieldToEventLoop } from '../http/event-loop.ts';
import type { ScanCoverage } from '../queries/scan-coverage.ts';
import type { ScanDetections } from '../queries/scan-detections.ts';
import type { Store } from '../records/database.ts';
import type { Database } from '../records/schema.ts';
import { isAnyHail, ownerOf } from '../rules/any-hail.ts';
import { type Episode, nextStep } from '../rules/episodes.ts';
import { ringTree } from '../rules/ring-tree.ts';
import { rounded } from '../rules/rounded.ts';
import { type ActiveWebhook, activeWebhooks, type Outbox, takersAmong } from '../webhooks/events.ts';
import type { AlertStep, EventFormats } from '../webhooks/formats.ts';
import { type Alert, changeAlert, lockAlerts } from './alerts.ts';
import { type Location, lockLocations } from './locations.ts';
import { isOver, matchScan } from './match.ts';
import { boxOf, centreOf, indexPlaces, type PlaceIndex } from './place-index.ts';
import { areaRings } from './places.ts';

/** Places between two yields to the event loop. */
const PLACES_PER_TURN = 20;

/** The fields of one scan that its alerts depend on. */
export interface AlertScan {
  readonly scan_id: string;
  readonly scan_ms: number;
  /** It is recent enough for events of new hail. */
  readonly on_time: boolean;
  readonly data_source: Provenance;
  readonly hail: ScanDetections;
  /** Null: not known. */
  readonly coverage: ScanCoverage | null;
}

/** Largest detections by place number, found before the transaction; the index may be older than the rows. */
export interface Hits {
  readonly index: PlaceIndex;
  readonly found: ReadonlyMap<number, number>;
}

/** Parts of the service that raising alerts needs. */
export interface RaiseParts extends Outbox {
  readonly store: Pick<Store, 'forUpdate' | 'forKeyShare'>;
  readonly formats: EventFormats;
}

/** How many alerts a scan changed. */
export interface Raised {
  readonly opened: number;
  readonly resolved: number;
  readonly closed: number;
}

export const NOTHING_RAISED: Raised = { opened: 0, resolved: 0, closed: 0 };

/**
 * Opens, updates, resolves and closes the alerts of some locations as a scan requires, and writes their events. Every decision
 * follows from rows that the transaction has locked, so a repetition by another process or after a crash changes nothing. Rows are
 * locked table by table, within a table by id. Events are written in the order of `location_ids`.
 */
export async function raiseAlerts(
  rows: Transaction<Database>,
  parts: RaiseParts,
  scan: AlertScan,
  hits: Hits,
  location_ids: readonly string[],
  now_ms: number,
): Promise<Raised> {
  const locations = await lockLocations(rows, parts.store, parts.formats, location_ids);
  const alerts = await lockAlerts(rows, parts.store, location_ids, scan.scan_ms);
  const detections = await detectionsOf(rows, scan, hits, locations);
  const raising: Raising = { rows, parts, webhooks: new Map(), scan, now_ms };
  const count = { ...NOTHING_RAISED };
  for (const [at, id] of location_ids.entries()) {
    if (at > 0 && at % PLACES_PER_TURN === 0) await yieldToEventLoop();
    const done = await stepLocation(
      raising,
      locations.get(id) ?? null,
      alerts.get(id) ?? [],
      detections.get(id) ?? null,
    );
    if (done !== null) count[done] += 1;
  }
  return count;
}

interface Raising {
  readonly rows: Transaction<Database>;
  readonly parts: RaiseParts;
  /** Active webhooks by business, each business read once. */
  readonly webhooks: Map<string, readonly ActiveWebhook[]>;
  readonly scan: AlertScan;
  readonly now_ms: number;
}

/** Takes the alerts of one location one scan further. `location`: null when it is no longer watched. */
async function stepLocation(
  raising: Raising,
  location: Location | null,
  alerts: readonly Alert[],
  detection: number | null,
): Promise<keyof Raised | null> {
  const { rows, scan } = raising;
  const open = alerts.find(({ status }) => status === 'open') ?? null;
  const covered_blocks = location && (scan.coverage?.blocksOver(boxOf(location.place)) ?? null);
  const step = nextStep(
    {
      scan_ms: scan.scan_ms,
      on_time: scan.on_time && location?.has_real_time === true,
      asked: location !== null && (detection !== null || open === null || (await wouldRaise(rows, location, open))),
      hail_mm: detection === null ? null : (scan.hail.size_mm[detection] as number),
      covered_blocks,
    },
    alerts.map(episodeOf),
  );
  if (step.kind === 'open' && location !== null && detection !== null) {
    const isNew = await openAlert(raising, location, newAlert(raising, location, detection, covered_blocks));
    return isNew ? 'opened' : null;
  }
  if (open === null) return null;
  if (step.kind === 'keep') {
    const { last_seen_ms, max_size_mm, newer } = step;
    const location_version = location?.place.version ?? open.location_version;
    const change = { location_version, last_seen_at: instant(last_seen_ms), max_size_mm: rounded(max_size_mm, 1) };
    await changeAlert(rows, open.id, newer ? { ...change, covered_blocks } : change);
  }
  if (step.kind === 'resolve' && location !== null) {
    const resolved_at = instant(step.resolved_ms);
    await changeAlert(rows, open.id, { status: 'resolved', open_location: null, resolved_at });
    await enqueueEvents(raising, location, { ...open, resolved_at }, 'ends');
    return 'resolved';
  }
  if (step.kind === 'close') {
    await changeAlert(rows, open.id, { status: 'closed', open_location: null });
    return 'closed';
  }
  return null;
}

/**
 * Stores a new alert and writes its events; the subscription counts alerts of its own threshold only. Location and scan give its id: a
 * scan that is matched again because the database failed over without its alerts raises those that were sent. False when the
 * alert is there, and was closed since.
 */
async function openAlert(raising: Raising, location: Location, alert: Alert): Promise<boolean> {
  const { rows } = raising;
  const { numInsertedOrUpdatedRows } = await rows
    .insertInto('alerts')
    .values(alert)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .executeTakeFirst();
  if (numInsertedOrUpdatedRows === 0n) return false;
  if (location.kind === 'subscription' && !isAnyHail(location.id))
    await rows
      .updateTable('subscriptions')
      .set((eb) => ({ trigger_count: eb('trigger_count', '+', 1), last_triggered_at: alert.triggered_at }))
      .where('id', '=', location.id)
      .execute();
  await enqueueEvents(raising, location, alert, 'begins');
  return true;
}

/** Writes the events of an alert in every format, for the subscription itself and the webhooks of its business. */
async function enqueueEvents(
  { rows, parts, webhooks, now_ms }: Raising,
  location: Location,
  alert: Alert,
  step: AlertStep['step'],
): Promise<void> {
  const active = webhooks.get(location.business_id) ?? (await activeWebhooks(rows, location.business_id));
  webhooks.set(location.business_id, active);
  for (const { name, enqueueAlert } of parts.formats.values()) {
    const own = location.format === name ? [ownerOf(location.id)] : [];
    const receiversOf: AlertStep['receiversOf'] = (event) => [...own, ...takersAmong(active, name, event)];
    await enqueueAlert(rows, parts, { alert, step, now_ms, receiversOf });
  }
}

/** The largest detection of each location; a location that was changed since the index was built is matched again. */
async function detectionsOf(
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
  const again = await matchScan(changed, hail, (ids) => areaRings(rows, ids));
  const largest = new Map<string, number>();
  for (const id of locations.keys()) {
    const [at, atChanged] = [index.at.get(id), changed.at.get(id)];
    const detection = atChanged !== undefined ? again.get(atChanged) : at !== undefined ? found.get(at) : undefined;
    if (detection !== undefined) largest.set(id, detection);
  }
  return largest;
}

/** False when the location was changed since the last hail of its open alert, and would not raise that alert now. */
async function wouldRaise(rows: Transaction<Database>, { id, place }: Location, open: Alert): Promise<boolean> {
  if (place.version === open.location_version) return true;
  if (open.max_size_mm < place.min_size_mm) return false;
  const { shape } = place;
  if (shape.kind === 'circle') return distanceKm(shape, open) <= shape.radius_km;
  const ring = (await areaRings(rows, [id])).get(id);
  return ring !== undefined && isOver(ringTree(ring), open);
}

function newAlert(
  { scan: { scan_id, scan_ms, hail, data_source } }: Raising,
  { id, kind, business_id, name, place }: Location,
  detection: number,
  covered_blocks: number | null,
): Alert {
  const at = { lat: hail.lat[detection] as number, lon: hail.lon[detection] as number };
  const size_mm = rounded(hail.size_mm[detection] as number, 1);
  return {
    id: derivedId('alert', scan_ms, id, scan_id),
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
