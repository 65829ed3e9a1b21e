import type { Logger } from 'pino';
import { provenanceOfDate } from '../../schemas/manifest.ts';
import type { Provenance } from '../../schemas/provenance.ts';
import { scanId, scanTime, stormDate } from '../../schemas/time.ts';
import type { Records } from '../billing/records.ts';
import type { Meter } from '../http/metrics.ts';
import type { Catalog, Edition } from '../published/catalog.ts';
import type { Engine } from '../published/duckdb.ts';
import type { Live } from '../published/live.ts';
import { readScanCoverage, type ScanCoverage } from '../queries/scan-coverage.ts';
import { liveDetections, readDetections } from '../queries/scan-detections.ts';
import { LockNotGiven } from '../records/errors.ts';
import type { Queue } from '../records/tasks.ts';
import { CLEAR_AFTER_MS, LATE_AFTER_MS } from '../rules/episodes.ts';
import type { Services } from '../services.ts';
import { MESSAGE_TASK } from '../webhooks/events.ts';
import type { EventFormats } from '../webhooks/formats.ts';
import { isMatched, markMatched, matchedScans, type OpenAlert, openAlerts } from './alerts.ts';
import { type ArrivalClocks, openArrival } from './arrival.ts';
import { matchScan } from './match.ts';
import { type PlaceIndex, rememberIndex } from './place-index.ts';
import { areaRings } from './places.ts';
import { type AlertScan, NOTHING_RAISED, raiseAlerts } from './raise.ts';

/** Parts of the service that the watch needs. */
export interface WatchParts {
  readonly catalog: Pick<Catalog, 'edition' | 'failure' | 'afterEdition'>;
  readonly live: Live;
  readonly engine: Engine;
  readonly records: Pick<Records, 'reader' | 'store' | 'transaction'>;
  readonly queue: Pick<Queue, 'add' | 'wake'>;
  readonly formats: EventFormats;
  readonly storm_day_start_hour: number;
  /** Reads the radar coverage of a scan from its archive; null: not known. */
  readonly coverage: (edition: Edition, archive: string) => Promise<ScanCoverage | null>;
  readonly clocks: ArrivalClocks;
  readonly meter: Pick<Meter, 'matched'>;
  readonly log: Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;
}

export function watchPartsOf(services: Services, log: Logger): WatchParts {
  return {
    ...services,
    coverage: (edition, archive) => readScanCoverage(edition.files, archive),
    clocks: { now: services.now, machine: Date.now, monotonic: () => performance.now() },
    log,
  };
}

/** Missed scans are read this far back while alerts are open, so that alerts that have ended are resolved. */
const CATCH_UP_MS = 24 * 3_600_000;
/** Subscriptions and areas of one transaction: other writers of a SQLite file wait for a fraction of a second. */
const PLACES_PER_TRANSACTION = 200;
/** First and longest pause before a failed scan is tried again, unless a new edition comes first. */
const RETRY_MS = 1_000;
const RETRY_LONGEST_MS = 30_000;

/** A published scan, with the fields of its manifest that alerts need. */
interface ListedScan {
  readonly scan_id: string;
  readonly date: string;
  readonly data_source: Provenance;
  /** Archive of its tiles, relative to the data root; null: none is listed. */
  readonly archive: string | null;
}

/**
 * Matches every published scan with the subscriptions and areas, once, and raises and resolves alerts. Its state is in the records
 * alone, so it continues after a restart, and several processes may watch for the same records. A failed scan is tried again, and
 * later scans wait for it. Returns a function that ends it.
 */
export function startWatch(parts: WatchParts, first_retry_ms = RETRY_MS): () => Promise<void> {
  const { catalog, log } = parts;
  const ending = new AbortController();
  const watch = createWatch(parts, ending.signal);
  let retry: NodeJS.Timeout | null = null;
  let retry_ms = first_retry_ms;
  let turn = Promise.resolve();

  const ended = () => {};
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const mine = turn.then(work);
    // The caller handles a failure; the next in turn starts all the same.
    turn = mine.then(ended, ended);
    return mine;
  };
  const follow = (edition: Edition) =>
    inTurn(async () => {
      if (ending.signal.aborted) return;
      if (retry !== null) clearTimeout(retry);
      retry = null;
      await watch(edition);
      retry_ms = first_retry_ms;
    });
  const failed = (error: unknown) => {
    // Usually another process raises the alerts of the scan: the next try finds it matched.
    if (error instanceof LockNotGiven) log.info({ reason: error.message }, 'Scan:Match:Deferred');
    else log.error({ err: error }, 'Scan:Match:Failed');
    if (ending.signal.aborted) return;
    retry = setTimeout(again, retry_ms).unref();
    retry_ms = Math.min(2 * retry_ms, RETRY_LONGEST_MS);
  };
  const again = () => {
    // Without an edition there is nothing to match; the next one arrives through `afterEdition`.
    if (catalog.failure() === null) follow(catalog.edition()).catch(failed);
  };
  const unregister = catalog.afterEdition({ react: follow, failed });
  return async () => {
    ending.abort();
    if (retry !== null) clearTimeout(retry);
    await unregister();
    await turn;
  };
}

/** Matches the scans of an edition that are not matched yet, oldest first; starts no scan after the signal. */
export function createWatch(
  parts: Omit<WatchParts, 'catalog'>,
  signal?: AbortSignal,
): (edition: Edition) => Promise<void> {
  const { records, log, clocks } = parts;
  const currentIndex = rememberIndex(records.reader, parts.formats);
  const ageOf = openArrival(clocks);
  /** Version of the last edition whose scans were all matched. */
  let done: string | null = null;

  return async (edition) => {
    const newest_ms = edition.newest_scan_ms;
    if (newest_ms === null || edition.live === null) return;
    const window_ms = Math.max(scanTime(edition.live.first_scan), newest_ms - LATE_AFTER_MS);
    const open = await openAlerts(records.reader);
    const from_ms = firstScanMs(open, window_ms, newest_ms);
    const dates = edition.datesBetween(
      stormDate(from_ms, parts.storm_day_start_hour),
      stormDate(newest_ms, parts.storm_day_start_hour),
    );
    const version = `${from_ms < window_ms} ${edition.version(['frames'], dates)}`;
    if (version === done) return;
    const matched = await matchedScans(records.reader, scanId(from_ms));
    const scans = await scansOf(edition, dates, scanId(from_ms));
    const missing = scans.filter(({ scan_id }) => !matched.has(scan_id));
    if (missing.length === 0) {
      done = version;
      return;
    }
    const index = await currentIndex();
    const inLive = liveDetections(parts.live.snapshot(edition));
    const late: string[] = [];
    for (const listed of missing) {
      if (signal?.aborted) return;
      const scan_ms = scanTime(listed.scan_id);
      const age_ms = ageOf(scan_ms);
      const isLive = scan_ms >= window_ms;
      if (isLive && age_ms > LATE_AFTER_MS) late.push(listed.scan_id);
      const paths = () => edition.paths('detections', [listed.date]);
      const hail = isLive ? inLive(scan_ms) : await readDetections(parts.engine, paths(), scan_ms);
      const { scan_id, data_source } = listed;
      const on_time = isLive && age_ms <= LATE_AFTER_MS;
      const scan = { scan_id, scan_ms, on_time, data_source, hail };
      await matchOne(index, scan, () => coverageOf(edition, listed), firstKept(from_ms, newest_ms));
    }
    if (late.length > 0) log.warn({ scans: late.length, newest: late.at(-1) }, 'Scan:Match:Late');
    done = version;
  };

  /** Null after a failure: a scan without coverage still raises alerts, but resolves none. */
  async function coverageOf(edition: Edition, { scan_id, archive }: ListedScan): Promise<ScanCoverage | null> {
    if (archive === null) return null;
    try {
      return await parts.coverage(edition, archive);
    } catch (error) {
      log.error({ scan_id, err: error }, 'Scan:Coverage:Failed');
      return null;
    }
  }

  async function matchOne(
    index: PlaceIndex,
    known: Omit<AlertScan, 'coverage'>,
    coverage: () => Promise<ScanCoverage | null>,
    forget: string,
  ): Promise<void> {
    const { scan_id, scan_ms, hail } = known;
    const started_ms = performance.now();
    const found = await matchScan(index, hail, (ids) => areaRings(records.reader, ids));
    const concerned = new Set([...found.keys()].map((at) => index.places[at]?.id ?? ''));
    for (const { location_id, last_seen_at } of await openAlerts(records.reader))
      if (!index.at.has(location_id) || Date.parse(last_seen_at) + CLEAR_AFTER_MS <= scan_ms)
        concerned.add(location_id);
    const ids = inOrder([...concerned], (id) => index.places[index.at.get(id) ?? -1]?.real_time ?? false);
    const scan: AlertScan = { ...known, coverage: ids.length === 0 ? null : await coverage() };
    const count = { ...NOTHING_RAISED };
    for (let from = 0; from === 0 || from < ids.length; from += PLACES_PER_TRANSACTION) {
      const part = ids.slice(from, from + PLACES_PER_TRANSACTION);
      const isLast = from + PLACES_PER_TRANSACTION >= ids.length;
      const now_ms = clocks.now();
      const raised = await records.transaction(async (rows) => {
        // The last transaction of a scan marks it first: of several processes one raises its alerts, and the others wait for its end.
        const isOurs = isLast ? await markMatched(rows, scan_id, now_ms, forget) : !(await isMatched(rows, scan_id));
        if (!isOurs) return null;
        const outbox = { queue: parts.queue, store: records.store, formats: parts.formats };
        return part.length === 0
          ? NOTHING_RAISED
          : await raiseAlerts(rows, outbox, scan, { index, found }, part, now_ms);
      });
      if (raised === null) return;
      if (raised.opened + raised.resolved > 0) parts.queue.wake(MESSAGE_TASK);
      count.opened += raised.opened;
      count.resolved += raised.resolved;
      count.closed += raised.closed;
    }
    const took_ms = Math.round(performance.now() - started_ms);
    parts.meter.matched(known.on_time, count, took_ms);
    const hasChanged = count.opened + count.resolved + count.closed > 0;
    log[hasChanged ? 'info' : 'debug'](
      { scan_id, places: index.places.length, hit: found.size, ...count, took_ms },
      'Scan:Match:Done',
    );
  }
}

/** Time of the first scan that matters: start of the live window, or the oldest last hail of the open alerts. */
function firstScanMs(open: readonly OpenAlert[], window_ms: number, newest_ms: number): number {
  const seen_ms = open.map(({ last_seen_at }) => Date.parse(last_seen_at));
  const oldest_ms = seen_ms.reduce((least, each) => Math.min(least, each), window_ms);
  return Math.min(window_ms, Math.max(oldest_ms, newest_ms - CATCH_UP_MS));
}

/** Id of the first scan whose mark is kept. */
function firstKept(from_ms: number, newest_ms: number): string {
  return scanId(Math.min(from_ms, newest_ms - CATCH_UP_MS));
}

/** Scans of some dates from one of them on, oldest first. */
async function scansOf(edition: Edition, dates: readonly string[], first: string): Promise<ListedScan[]> {
  const manifests = await Promise.all(dates.map((date) => edition.manifest(date)));
  return manifests
    .flatMap((manifest) => {
      if (manifest === null) return [];
      const date = manifest.partition;
      const archives = new Map(
        manifest.files
          .filter(({ kind }) => kind === 'scan-tiles')
          .map(({ first_scan, path }) => [first_scan, path] as const),
      );
      return manifest.scans
        .filter(({ scan_id }) => scan_id >= first)
        .map(({ scan_id }) => ({
          scan_id,
          date,
          data_source: provenanceOfDate(date, manifest.source),
          archive: archives.get(scan_id) ?? null,
        }));
    })
    .sort((a, b) => (a.scan_id < b.scan_id ? -1 : 1));
}

/** Real-time polygons first, as the plans promise. */
function inOrder(ids: readonly string[], isRealTime: (id: string) => boolean): string[] {
  const sorted = [...ids].sort();
  return [...sorted.filter(isRealTime), ...sorted.filter((id) => !isRealTime(id))];
}
