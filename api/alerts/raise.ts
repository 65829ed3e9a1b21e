import type { Transaction } from 'kysely';
import { distanceKm } from '../../schemas/geo/distance.ts';
import { derivedId } from '../../schemas/ids.ts';
import type { Provenance } from '../../schemas/provenance.ts';
import { instant } from '../../schemas/time.ts';
import { yieldToEventLoop } from '../http/event-loop.ts';
import type { ScanCoverage, ScanDetections } from '../queries/scan-detections.ts';
import type { Store } from '../records/database.ts';
import type { Database } from '../records/schema.ts';
import { CLEAR_AFTER_MS, type Episode, isAnyHail, nextStep, ownerOf } from '../rules/episodes.ts';
import { ringTree } from '../rules/ring-tree.ts';
import { rounded } from '../rules/rounded.ts';
import { type EventTaker, enqueueAlertEvent, type Outbox, webhooksOf } from '../webhooks/events.ts';
import { type Alert, type AlertStep, FORMATS } from '../webhooks/formats.ts';
import { areaRings, boxOf, centreOf, isOver, type LockedPlace, lockPlaces, matchScan } from './places.ts';

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

/** How many alerts a scan changed. */
export const NOTHING_RAISED = { opened: 0, resolved: 0, closed: 0 };

/**
 * Opens, updates, resolves and closes the alerts of some places as a scan requires, and writes their events. Every decision
 * follows from rows that the transaction has locked, so a repetition by another process or after a crash changes nothing. Rows are
 * locked table by table, within a table by id. Events are written in the order of `place_ids`. `versions`: of the places before the
 * transaction; `found`: the largest detection of each that the scan hits, by id.
 */
export async function raiseAlerts(
  rows: Transaction<Database>,
  parts: Outbox & { readonly store: Pick<Store, 'forKeyShare'> },
  scan: AlertScan,
  { versions, found }: Readonly<Record<'versions' | 'found', ReadonlyMap<string, number>>>,
  place_ids: readonly string[],
  now_ms: number,
): Promise<typeof NOTHING_RAISED> {
  const places = await lockPlaces(rows, parts.store, place_ids);
  const alerts = await lockAlerts(rows, parts.store, place_ids, scan.scan_ms);
  const isChanged = ({ id, version }: LockedPlace) => versions.get(id) !== version;
  const again = await matchScan([...places.values()].filter(isChanged), scan.hail, (ids) => areaRings(rows, ids));
  /** Webhooks by business, each business read once. */
  const webhooks = new Map<string, readonly EventTaker[]>();
  const count = { ...NOTHING_RAISED };
  for (const [k, id] of place_ids.entries()) {
    if (k > 0 && k % PLACES_PER_TURN === 0) await yieldToEventLoop();
    const place = places.get(id) ?? null;
    const detection = place === null ? null : ((isChanged(place) ? again : found).get(id) ?? null);
    const done = await stepPlace(place, alerts.get(id) ?? [], detection);
    if (done !== null) count[done] += 1;
  }
  return count;

  /** Takes the alerts of one place one scan further. `place`: null when it is no longer watched. */
  async function stepPlace(place: LockedPlace | null, ofPlace: readonly Alert[], detection: number | null) {
    const open = ofPlace.find(({ status }) => status === 'open') ?? null;
    const covered_blocks = place && (scan.coverage?.blocksOver(boxOf(place)) ?? null);
    const step = nextStep(
      {
        scan_ms: scan.scan_ms,
        on_time: scan.on_time && place?.has_real_time === true,
        asked: place !== null && (detection !== null || open === null || (await wouldRaise(rows, place, open))),
        hail_mm: detection === null ? null : (scan.hail.size_mm[detection] as number),
        covered_blocks,
      },
      ofPlace.map(episodeOf),
    );
    if (step.kind === 'open' && place !== null && detection !== null)
      return (await openAlert(place, newAlert(scan, place, detection, covered_blocks))) ? 'opened' : null;
    if (open === null) return null;
    if (step.kind === 'keep') {
      const { last_seen_ms, max_size_mm, newer } = step;
      const location_version = place?.version ?? open.location_version;
      const change = { location_version, last_seen_at: instant(last_seen_ms), max_size_mm: rounded(max_size_mm, 1) };
      await changeAlert(rows, open.id, newer ? { ...change, covered_blocks } : change);
    }
    if (step.kind === 'resolve' && place !== null) {
      const resolved = { status: 'resolved', open_location: null, resolved_at: instant(step.resolved_ms) } as const;
      await changeAlert(rows, open.id, resolved);
      await enqueueEvents(place, { ...open, ...resolved }, 'ends');
      return 'resolved';
    }
    if (step.kind === 'close') {
      await changeAlert(rows, open.id, { status: 'closed', open_location: null });
      return 'closed';
    }
    return null;
  }

  /**
   * Stores a new alert and writes its events; the subscription counts alerts of its own threshold only. Its id follows from place and
   * scan: a scan that is matched again after a failover of the database sends the same events. Returns false for an alert that exists.
   */
  async function openAlert(place: LockedPlace, alert: Alert): Promise<boolean> {
    const { numInsertedOrUpdatedRows } = await rows
      .insertInto('alerts')
      .values(alert)
      .onConflict((conflict) => conflict.column('id').doNothing())
      .executeTakeFirst();
    if (numInsertedOrUpdatedRows === 0n) return false;
    if (place.kind === 'subscription' && !isAnyHail(place.id))
      await rows
        .updateTable('subscriptions')
        .set((eb) => ({ trigger_count: eb('trigger_count', '+', 1), last_triggered_at: alert.triggered_at }))
        .where('id', '=', place.id)
        .execute();
    await enqueueEvents(place, alert, 'begins');
    return true;
  }

  /** Writes the events of an alert in every format, for the subscription itself and the webhooks of its business. */
  async function enqueueEvents({ id, business_id, format }: LockedPlace, alert: Alert, step: AlertStep): Promise<void> {
    const ofBusiness = webhooks.get(business_id) ?? (await webhooksOf(rows, business_id));
    webhooks.set(business_id, ofBusiness);
    for (const each of Object.values(FORMATS)) {
      const own = format === each.name ? [ownerOf(id)] : [];
      await enqueueAlertEvent(rows, parts, each, alert, step, { own, webhooks: ofBusiness }, now_ms);
    }
  }
}

/** Locks the alerts of locations that a scan may belong to: open ones, and those that were resolved around it. */
async function lockAlerts(
  rows: Transaction<Database>,
  { forUpdate }: Pick<Store, 'forUpdate'>,
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

async function changeAlert(rows: Transaction<Database>, id: string, change: Partial<Alert>): Promise<void> {
  await rows.updateTable('alerts').set(change).where('id', '=', id).execute();
}

/** False when the place was changed since the last hail of its open alert, and would not raise that alert now. */
async function wouldRaise(rows: Transaction<Database>, place: LockedPlace, open: Alert): Promise<boolean> {
  const { id, version, min_size_mm, shape } = place;
  if (version === open.location_version) return true;
  if (open.max_size_mm < min_size_mm) return false;
  if (shape.kind === 'circle') return distanceKm(shape, open) <= shape.radius_km;
  const ring = (await areaRings(rows, [id])).get(id);
  return ring !== undefined && isOver(ringTree(ring), open);
}

function newAlert(
  { scan_id, scan_ms, hail, data_source }: AlertScan,
  place: LockedPlace,
  detection: number,
  covered_blocks: number | null,
): Alert {
  const { id, kind, business_id, name, version } = place;
  const at = { lat: hail.lat[detection] as number, lon: hail.lon[detection] as number };
  const size_mm = rounded(hail.size_mm[detection] as number, 1);
  return {
    id: derivedId('alert', scan_ms, id, scan_id),
    business_id,
    location_id: id,
    location_kind: kind,
    location_name: name,
    location_version: version,
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
  const [triggered_ms, last_seen_ms] = [Date.parse(triggered_at), Date.parse(last_seen_at)];
  return { status, triggered_ms, last_seen_ms, max_size_mm, covered_blocks };
}
