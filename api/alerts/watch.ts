import type { Kysely, Transaction } from 'kysely';
import type { Logger } from 'pino';
import { provenanceOfDate } from '../../schemas/manifest.ts';
import { instant, scanId, scanTime, stormDate } from '../../schemas/time.ts';
import type { Catalog, Edition } from '../published/catalog.ts';
import { liveDetections, readDetections, readScanCoverage, type ScanCoverage } from '../queries/scan-detections.ts';
import { LockNotGiven } from '../records/errors.ts';
import type { Database } from '../records/schema.ts';
import { CLEAR_AFTER_MS, LATE_AFTER_MS } from '../rules/episodes.ts';
import type { Services } from '../services.ts';
import type { Alert } from '../webhooks/formats.ts';
import { MESSAGE_TASK } from '../webhooks/messages.ts';
import { areaRings, matchScan, type WatchedPlace, watchedPlaces } from './places.ts';
import { type AlertScan, NOTHING_RAISED, raiseAlerts } from './raise.ts';

/** Parts of the service that the watch needs. */
interface WatchParts
  extends Pick<Services, 'live' | 'engine' | 'records' | 'queue' | 'storm_day_start_hour' | 'now' | 'meter'> {
  readonly catalog: Pick<Catalog, 'afterEdition'>;
  /** Reads the radar coverage of a scan from its archive; null: not known. */
  readonly coverage: (edition: Edition, archive: string) => Promise<ScanCoverage | null>;
  readonly log: Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;
}

export function watchPartsOf(services: Services, log: Logger): WatchParts {
  return { ...services, coverage: (edition, archive) => readScanCoverage(edition.files, archive), log };
}

/** Missed scans are read this far back while alerts are open, so that alerts that have ended are resolved. */
const CATCH_UP_MS = 24 * 3_600_000;
/** Subscriptions and areas of one transaction: other writers of a SQLite file wait for a fraction of a second. */
const PLACES_PER_TRANSACTION = 200;

/**
 * Matches every published scan with the subscriptions and areas, once, and raises and resolves alerts. Its state is in the records
 * alone, so it continues after a restart, and several processes may watch for the same records. Returns a function that ends it.
 */
export function startWatch(parts: WatchParts): () => Promise<void> {
  return parts.catalog.afterEdition({
    react: createWatch(parts),
    failed: (error) => {
      // Usually another process raises the alerts of the scan: this one finds it matched when it tries again.
      if (error instanceof LockNotGiven) parts.log.info({ reason: error.message }, 'Scan:Match:Deferred');
      else parts.log.error({ err: error }, 'Scan:Match:Failed');
    },
  });
}

/** Matches the scans of an edition that are not matched yet, oldest first; begins no scan after the signal. */
export function createWatch(
  parts: Omit<WatchParts, 'catalog'>,
): (edition: Edition, ending?: AbortSignal) => Promise<void> {
  const { records, queue, log, now } = parts;

  return async (edition, ending) => {
    const newest_ms = edition.newest_scan_ms;
    if (newest_ms === null || edition.live === null) return;
    const window_ms = Math.max(scanTime(edition.live.first_scan), newest_ms - LATE_AFTER_MS);
    const seen_ms = (await openAlerts(records.reader)).map(({ last_seen_at }) => Date.parse(last_seen_at));
    const oldest_ms = seen_ms.reduce((least_ms, ms) => Math.min(least_ms, ms), window_ms);
    /** Time of the first scan that matters: start of the live window, or the oldest last hail of the open alerts. */
    const from_ms = Math.min(window_ms, Math.max(oldest_ms, newest_ms - CATCH_UP_MS));
    const matched = await matchedScans(records.reader, scanId(from_ms));
    const [first = '', last = ''] = [from_ms, newest_ms].map((ms) => stormDate(ms, parts.storm_day_start_hour));
    const scans = await scansOf(edition, edition.datesBetween(first, last), scanId(from_ms));
    const missing = scans.filter(({ scan_id }) => !matched.has(scan_id));
    if (missing.length === 0) return;
    const places = await watchedPlaces(records.reader);
    const inLive = liveDetections(parts.live.snapshot(edition));
    /** Marks of older scans are deleted. */
    const forget_before = scanId(Math.min(from_ms, newest_ms - CATCH_UP_MS));
    const isLate = (scan_ms: number) => now() - scan_ms > LATE_AFTER_MS;
    const late = missing.map(({ scan_id }) => scanTime(scan_id)).filter((ms) => ms >= window_ms && isLate(ms)).length;
    if (late > 0 && places.length > 0)
      log.warn({ scans: late, why: 'they are too old to raise new alerts' }, 'Scan:Match:Late');
    for (const { scan_id, date, data_source, archive } of missing) {
      if (ending?.aborted) return;
      const scan_ms = scanTime(scan_id);
      const isLive = scan_ms >= window_ms;
      const on_time = isLive && !isLate(scan_ms);
      // Without its detections a scan stays unmatched until the next edition, and holds up no other.
      const hail = isLive
        ? inLive(scan_ms)
        : await orNull(scan_id, 'Scan:Detections:Failed', () =>
            readDetections(parts.engine, edition.paths('detections', [date]), scan_ms),
          );
      if (hail === null) continue;
      // Without its coverage a scan raises alerts, but resolves none.
      const coverage = () =>
        archive === null ? null : orNull(scan_id, 'Scan:Coverage:Failed', () => parts.coverage(edition, archive));
      await matchOne(places, { scan_id, scan_ms, on_time, data_source, hail }, coverage, forget_before);
    }
  };

  /** Null after a failure, which is logged as an event. */
  async function orNull<Result>(scan_id: string, event: string, read: () => Promise<Result>): Promise<Result | null> {
    try {
      return await read();
    } catch (error) {
      log.error({ scan_id, err: error }, event);
      return null;
    }
  }

  async function matchOne(
    places: readonly WatchedPlace[],
    known: Omit<AlertScan, 'coverage'>,
    coverage: () => Promise<ScanCoverage | null> | null,
    forget_before: string,
  ): Promise<void> {
    const { scan_id, scan_ms, hail, on_time } = known;
    const started_ms = performance.now();
    const versions = new Map(places.map(({ id, version }) => [id, version]));
    const found = await matchScan(places, hail, (ids) => areaRings(records.reader, ids));
    const concerned = new Set(found.keys());
    for (const { location_id, last_seen_at } of await openAlerts(records.reader))
      if (!versions.has(location_id) || Date.parse(last_seen_at) + CLEAR_AFTER_MS <= scan_ms)
        concerned.add(location_id);
    const real_time = new Set(places.filter((place) => place.real_time).map(({ id }) => id));
    // Real-time polygons first, as the plans promise.
    const ids = [...concerned].sort((a, b) => Number(real_time.has(b)) - Number(real_time.has(a)) || (a < b ? -1 : 1));
    const scan: AlertScan = { ...known, coverage: ids.length === 0 ? null : await coverage() };
    const count = { ...NOTHING_RAISED };
    for (let from = 0; from === 0 || from < ids.length; from += PLACES_PER_TRANSACTION) {
      const part = ids.slice(from, from + PLACES_PER_TRANSACTION);
      const isLast = from + PLACES_PER_TRANSACTION >= ids.length;
      const now_ms = now();
      const raised = await records.transaction(async (rows) => {
        // The last transaction of a scan marks it first: of several processes one counts its alerts, and the others wait for its end.
        if (isLast && !(await markMatched(rows, scan_id, now_ms, forget_before))) return null;
        if (part.length === 0) return NOTHING_RAISED;
        return await raiseAlerts(rows, { queue, store: records.store }, scan, { versions, found }, part, now_ms);
      });
      if (raised === null) return;
      if (raised.opened + raised.resolved > 0) queue.wake(MESSAGE_TASK);
      for (const kind of ['opened', 'resolved', 'closed'] as const) count[kind] += raised[kind];
    }
    const took_ms = Math.round(performance.now() - started_ms);
    parts.meter.matched(on_time, count, took_ms);
    const hasChanged = count.opened + count.resolved + count.closed > 0;
    const line = { scan_id, places: places.length, hit: found.size, ...count, took_ms };
    log[hasChanged ? 'info' : 'debug'](line, 'Scan:Match:Done');
  }
}

/** Every open alert, with the fields that decide which scans matter to it. */
async function openAlerts(rows: Kysely<Database>): Promise<readonly Pick<Alert, 'location_id' | 'last_seen_at'>[]> {
  const alerts = rows.selectFrom('alerts').select(['location_id', 'last_seen_at']);
  return await alerts.where('open_location', 'is not', null).execute();
}

/** Ids of the matched scans from `first` on. */
async function matchedScans(rows: Kysely<Database>, first: string): Promise<ReadonlySet<string>> {
  const found = await rows.selectFrom('matched_scans').select('scan_id').where('scan_id', '>=', first).execute();
  return new Set(found.map(({ scan_id }) => scan_id));
}

/**
 * Marks a scan as matched, and deletes the marks of scans before `forget_before`. False when another process has: where that is in a
 * transaction that has not ended, this waits for its end.
 */
async function markMatched(rows: Transaction<Database>, scan_id: string, now_ms: number, forget_before: string) {
  const { numInsertedOrUpdatedRows } = await rows
    .insertInto('matched_scans')
    .values({ scan_id, at: instant(now_ms) })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  if (numInsertedOrUpdatedRows === 0n) return false;
  await rows.deleteFrom('matched_scans').where('scan_id', '<', forget_before).execute();
  return true;
}

/** Scans of some dates from one of them on, oldest first. `archive`: of its tiles, relative to the data root; null: none is listed. */
async function scansOf(edition: Edition, dates: readonly string[], first: string) {
  const manifests = await Promise.all(dates.map((date) => edition.manifest(date)));
  return manifests
    .flatMap((manifest) => {
      if (manifest === null) return [];
      const { partition: date, source, files, scans } = manifest;
      const tiles = files.filter(({ kind }) => kind === 'scan-tiles');
      const archives = new Map(tiles.map(({ first_scan, path }) => [first_scan, path]));
      const data_source = provenanceOfDate(date, source);
      return scans
        .filter(({ scan_id }) => scan_id >= first)
        .map(({ scan_id }) => ({ scan_id, date, data_source, archive: archives.get(scan_id) ?? null }));
    })
    .sort((a, b) => (a.scan_id < b.scan_id ? -1 : 1));
}
