import { type FileReport, type GroundReport, groundReports } from '../../schemas/tables/feeds.ts';
import { addDays, MS_PER_DAY, MS_PER_HOUR, MS_PER_MIN, stormDate, timestamp, utcDate } from '../../schemas/time.ts';
import { badFile } from '../read/rejected-item.ts';
import { convectiveDateOf, readLsrGeoJson, readSpcReports } from '../read/reports.ts';
import {
  type Collection,
  type FeedFile,
  feed,
  fetchPages,
  hasAwipsLine,
  isJsonWith,
  type ListVersion,
  type ReceivedRows,
} from './define-feed.ts';

/** Daily lists of the Storm Prediction Center, filtered and raw. */
const SPC_LIST = /(?:^|\/)(?:\d{6}_rpts|today|yesterday)(?:_[a-z_]+)?\.csv$/;
const LSR_GEOJSON = /(?:^|\/)lsrs?_[\w-]*\.geojson$/;
/** Local storm reports come hours after the hail, and their corrections days after: each poll asks for this long. */
const LSR_REACH_MS = 24 * MS_PER_HOUR;

/** Ground reports of hail as received; of corrections and copies one row an event is current. */
const reports: Collection<GroundReport> = {
  name: 'reports',
  table: groundReports,
  publishes_collected: true,
  timeOf: ({ time }) => time,
  provenanceOf: ({ data_source }) => data_source,
  merge: mergeReports,
};

/**
 * Lists of the Storm Prediction Center of the running convective day and the day before. The last change dates the running list: after
 * 12 UTC its address has the list of the day before until the new one is written.
 */
export const spcReports = feed<GroundReport>({
  name: 'spc-reports',
  every_s: 120,
  fetch: (web, { spc_url }, now_ms) => {
    const running = (modified_ms: number | null) => spcListName(convectiveDay(Math.min(modified_ms ?? now_ms, now_ms)));
    const dated = spcListName(addDays(convectiveDay(now_ms), -1));
    const folder = `${spc_url}/climo/reports`;
    return fetchPages(web, [
      { name: running, url: `${folder}/today_filtered_hail.csv`, is_required: true },
      { name: dated, url: `${folder}/${dated}`, is_required: false },
    ]);
  },
  collectedByPoll: (now_ms) => ({ source: 'spc', from_ms: null, until_ms: now_ms }),
  accepts: ({ name }) => SPC_LIST.test(name),
  read: ({ name, bytes, received_ms }) => {
    const convective_date = convectiveDateOf(name, received_ms);
    if (convective_date === null) throw badFile(name, 'its name carries no date, expected YYMMDD_rpts_…');
    const from_ms = Date.parse(`${convective_date}T12:00:00Z`);
    const to_ms = from_ms + MS_PER_DAY;
    const list = /_rpts_raw|_raw_/.test(name) ? 'raw' : 'filtered';
    const read = readSpcReports(bytes, name, { convective_date, list, now_ms: received_ms });
    return {
      ...asReceived(read, 'spc', received_ms),
      version: { list: `${list} ${convective_date}`, from_ms, to_ms, received_ms },
      collected: { source: 'spc', from_ms, until_ms: Math.min(to_ms, received_ms) },
    };
  },
  collection: reports,
});

/** Local storm reports of the weather offices, from the archive of the Iowa Environmental Mesonet. */
export const lsr = feed<GroundReport>({
  name: 'lsr',
  every_s: 120,
  fetch: (web, { lsr_url }, now_ms) => {
    const query = new URLSearchParams({ sts: minute(now_ms - LSR_REACH_MS), ets: minute(now_ms + MS_PER_HOUR) });
    const url = `${lsr_url}/geojson/lsr.geojson?${query}`;
    return fetchPages(web, [{ name: 'lsr_recent.geojson', url, is_required: true }]);
  },
  collectedByPoll: (now_ms) => ({ source: 'lsr', from_ms: now_ms - LSR_REACH_MS, until_ms: now_ms }),
  accepts: (file) => isLsrGeoJson(file) || hasAwipsLine(file, /^LSR[A-Z]{3}$/),
  read: (file) => {
    if (!isLsrGeoJson(file)) throw badFile(file.name, 'LSR text is not read, expected the GeoJSON of the Iowa archive');
    return asReceived(readLsrGeoJson(file.bytes, file.name, file.received_ms), 'lsr', file.received_ms);
  },
  collection: reports,
});

type ReadReports = ReturnType<typeof readLsrGeoJson>;

function asReceived({ rows, rejected_ms, ...read }: ReadReports, source: FileReport['source'], received_at: number) {
  const received = { storm_date: '', received_at, withdrawn_at: null, is_current: false };
  return {
    ...read,
    rows: rows.map((report) => ({ ...report, ...received })),
    rejected: { source, times_ms: rejected_ms },
  };
}

/** Every different report with its times, and which of them are current. */
function mergeReports(
  stored: readonly GroundReport[],
  files: readonly ReceivedRows<GroundReport>[],
  storm_day_start_hour: number,
): GroundReport[] {
  const repeated = repeatedLists(stored, files);
  const used = files.filter(
    ({ version }, index) =>
      version === undefined || !(repeated.has(version.list) || isFollowed(version, files.slice(index + 1))),
  );
  const known = new Map<string, GroundReport>();
  for (const report of [...stored, ...used.flatMap(({ rows }) => rows)]) {
    const text = reportText(report);
    known.set(text, joinReceipts(report, known.get(text) ?? report));
  }
  const newest = newestVersions(known.values(), used);
  const listed = new Map(
    used.flatMap(({ version, rows }) => {
      const isNewest = version !== undefined && version.received_ms === newest.get(version.list);
      return isNewest ? [[version.list, new Set(rows.map(reportText))] as const] : [];
    }),
  );
  const all = Array.from(known, ([text, report]) => {
    const list = listOf(report);
    const newest_ms = newest.get(list) ?? 0;
    const wasListed = report.received_at >= newest_ms && report.received_at > (report.withdrawn_at ?? 0);
    const isListed = report.list === null || (listed.get(list)?.has(text) ?? wasListed);
    const withdrawn_at = isListed ? null : newest_ms;
    return { ...report, storm_date: stormDate(report.time, storm_day_start_hour), withdrawn_at };
  });
  const current = new Set(uniqueReports(all.filter(({ withdrawn_at }) => withdrawn_at === null)));
  return all.map((report) => ({ ...report, is_current: current.has(report) }));
}

/** True for a version of a list of which another file of the same receipt follows: `today` and the dated name are one list. */
function isFollowed({ list, received_ms }: ListVersion, files: readonly ReceivedRows[]): boolean {
  return files.some(({ version }) => version?.list === list && version.received_ms === received_ms);
}

/** Lists of which every received version has the reports that stand: receiving them again changes nothing. */
function repeatedLists(stored: readonly GroundReport[], files: readonly ReceivedRows<GroundReport>[]): Set<string> {
  const textOf = (reports: readonly GroundReport[]) => reports.map(reportText).sort().join('\n');
  const standing = Map.groupBy(
    stored.filter(({ withdrawn_at }) => withdrawn_at === null),
    listOf,
  );
  const lists = Map.groupBy(files, ({ version }) => version?.list ?? '');
  const repeated = [...lists].filter(([list, versions]) => {
    const text = textOf(standing.get(list) ?? []);
    return list !== '' && versions.every(({ rows }) => textOf(rows) === text);
  });
  return new Set(repeated.map(([list]) => list));
}

/** One row of two with the same content: received last in a list, else received first. */
function joinReceipts(a: GroundReport, b: GroundReport): GroundReport {
  const received_at = (a.list === null ? Math.min : Math.max)(a.received_at, b.received_at);
  const withdrawn_at = Math.max(a.withdrawn_at ?? 0, b.withdrawn_at ?? 0);
  return { ...a, received_at, withdrawn_at: withdrawn_at === 0 ? null : withdrawn_at };
}

/** Receipt of the newest version of each list, epoch milliseconds. */
function newestVersions(
  known: Iterable<GroundReport>,
  files: readonly ReceivedRows<GroundReport>[],
): ReadonlyMap<string, number> {
  const newest = new Map<string, number>();
  const add = (list: string, time_ms: number) => newest.set(list, Math.max(newest.get(list) ?? 0, time_ms));
  for (const report of known) add(listOf(report), Math.max(report.received_at, report.withdrawn_at ?? 0));
  for (const { version } of files) if (version !== undefined) add(version.list, version.received_ms);
  return newest;
}

function listOf({ list, time }: GroundReport): string {
  return `${list} ${convectiveDay(time)}`;
}

/** Date of the convective day, 12 to 12 UTC, that contains a time. */
function convectiveDay(time_ms: number): string {
  return utcDate(time_ms - 12 * MS_PER_HOUR);
}

function spcListName(date: string): string {
  return `${date.slice(2).replaceAll('-', '')}_rpts_filtered_hail.csv`;
}

function isLsrGeoJson(file: FeedFile): boolean {
  return LSR_GEOJSON.test(file.name) || isJsonWith(file, 'typetext');
}

/** `2026-05-01T20:12Z`. */
function minute(time_ms: number): string {
  return `${timestamp(time_ms).slice(0, 'YYYY-MM-DDTHH:MM'.length)}Z`;
}

/** Largest change of an event's time by a correction. */
const CORRECTION_REACH_MS = 60 * MS_PER_MIN;
/** Positions have a precision of hundredths of a degree; those of one place differ by rounding at most. */
const PLACE_STEP_DEG = 0.01;

/**
 * The reports that stand, one for each event, in any order.
 *
 * 1. A repeated report (same feed, office, time and position) counts once: that of the newest product, within one product the larger.
 * 2. A correction replaces one earlier report of its office: the nearest in time, within an hour, at the place that its remark
 *    names, else at its own. It may thus change size, place and time. One that repeats time and position replaces by rule 1.
 * 3. A row of the Storm Prediction Center at the minute and place of a local storm report, even a replaced one, is a copy of it
 *    and is dropped: only the local storm report has its corrections.
 *
 * Simulated and observed reports are never compared.
 */
export function uniqueReports<Report extends FileReport>(reports: readonly Report[]): Report[] {
  const { unique, spent } = withoutRepeats(reports);
  const standing = withoutCorrected(unique, spent);
  const local = new Set(reports.filter(({ source }) => source === 'lsr').map((report) => placeTime(report, 0, 0)));
  return standing.filter((report) => report.source === 'lsr' || !neighbours(report).some((key) => local.has(key)));
}

/** Content of a report as text, the same for the same report of two files; the list comes last. */
function reportText(report: FileReport): string {
  const { report_id, source, time, lat, lon, size_mm, is_measured, place, county, state, office, remark } = report;
  const { product_id, issued_at, data_source, is_correction, corrects_place, list } = report;
  const what = [report_id, source, time, lat, lon, size_mm, is_measured, place, county, state, office, remark];
  return JSON.stringify([...what, product_id, issued_at, data_source, is_correction, corrects_place, list]);
}

/** One report per feed, office, time and position; `spent` are the corrections that replaced a report by rule 1. */
function withoutRepeats<Report extends FileReport>(reports: readonly Report[]) {
  const versions = Map.groupBy(reports, (report) => `${report.data_source} ${report.report_id}`);
  const spent = new Set<Report>();
  const unique = Array.from(versions.values(), (same) => {
    const newest = same.reduce((known, report) => (isNewer(report, known) ? report : known));
    if (same.some((report) => !report.is_correction && report.product_id !== newest.product_id)) spent.add(newest);
    return newest;
  });
  return { unique, spent };
}

/** True for a report of a later product, or with a larger stone in the same product. The last comparison makes the order total. */
function isNewer(report: FileReport, known: FileReport): boolean {
  const [issued, known_issued] = [report.issued_at ?? 0, known.issued_at ?? 0];
  if (issued !== known_issued) return issued > known_issued;
  if (report.size_mm !== known.size_mm) return report.size_mm > known.size_mm;
  return reportText(report) > reportText(known);
}

/** Reports without those that a later correction replaces. Corrections apply in order of issue: one may correct another. */
function withoutCorrected<Report extends FileReport>(
  reports: readonly Report[],
  spent: ReadonlySet<FileReport>,
): Report[] {
  const places = Map.groupBy(reports, (report) => placeKey(report, report.place));
  const replaced = new Set<FileReport>();
  const corrections = reports
    .filter((report) => report.is_correction && !spent.has(report))
    .sort((a, b) => (a.issued_at ?? 0) - (b.issued_at ?? 0) || (a.report_id < b.report_id ? -1 : 1));
  for (const correction of corrections) {
    const candidates = (places.get(placeKey(correction, correction.corrects_place ?? correction.place)) ?? []).filter(
      (report) =>
        report !== correction &&
        !replaced.has(report) &&
        (report.issued_at ?? 0) < (correction.issued_at ?? 0) &&
        Math.abs(report.time - correction.time) <= CORRECTION_REACH_MS,
    );
    const away = (report: FileReport) => Math.abs(report.time - correction.time);
    candidates.sort((a, b) => away(a) - away(b) || (b.report_id < a.report_id ? -1 : 1));
    if (candidates[0] !== undefined) replaced.add(candidates[0]);
  }
  return reports.filter((report) => !replaced.has(report));
}

function placeKey({ data_source, office }: FileReport, place: string): string {
  return `${data_source} ${office} ${place.toLowerCase().replaceAll(/\s+/g, ' ')}`;
}

/** Minute and cell of a report, some rows and columns away. */
function placeTime({ data_source, time, lat, lon }: FileReport, rows: number, cols: number): string {
  const row = Math.round(lat / PLACE_STEP_DEG) + rows;
  const col = Math.round(lon / PLACE_STEP_DEG) + cols;
  return `${data_source} ${Math.round(time / MS_PER_MIN)} ${row} ${col}`;
}

function neighbours(report: FileReport): string[] {
  return [-1, 0, 1].flatMap((rows) => [-1, 0, 1].map((cols) => placeTime(report, rows, cols)));
}
