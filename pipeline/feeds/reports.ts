import { type FileReport, groundReports } from '../../schemas/tables/feeds.ts';
import { addDays, MS_PER_DAY, MS_PER_HOUR, stormDate, timestamp, utcDate } from '../../schemas/time.ts';
import { BadInput } from '../error.ts';
import { readLsrGeoJson } from '../read/lsr-geojson.ts';
import { readLsrText } from '../read/lsr-text.ts';
import { convectiveDateOf, readSpcReports } from '../read/spc-reports.ts';
import { type Collection, type FeedFile, feed, hasAwipsLine, isJsonWith } from './define-feed.ts';
import { uniqueReports } from './unique-reports.ts';
import { fetchPages } from './web-pages.ts';

/** Daily lists of the Storm Prediction Center, filtered and raw. */
const SPC_LIST = /(?:^|\/)(?:\d{6}_rpts|today|yesterday)(?:_[a-z_]+)?\.csv$/;
const LSR_GEOJSON = /(?:^|\/)lsrs?_[\w-]*\.geojson$/;
/** Local storm reports come hours after the hail, and their corrections days after: each poll asks for this long. */
const LSR_REACH_MS = 24 * MS_PER_HOUR;

/** Ground reports of hail: one row per event, corrections and copies joined. */
const reports: Collection<FileReport, ReturnType<typeof uniqueReports>[number] & { storm_date: string }> = {
  name: 'reports',
  table: groundReports,
  item_version: 1,
  publishes_collected: true,
  timeOf: ({ time }) => time,
  provenanceOf: ({ data_source }) => data_source,
  rows: (items, storm_day_start_hour) =>
    uniqueReports(items.map(({ item }) => item)).map((report) => ({
      ...report,
      storm_date: stormDate(report.time, storm_day_start_hour),
    })),
  rowTime: ({ time }) => time,
};

/**
 * Lists of the Storm Prediction Center: that of the running convective day and that of the day before, which still changes. The
 * first is dated by its last change: after 12 UTC its address still has the list of the day before until the new one is written.
 */
export const spcReports = feed({
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
    if (convective_date === null) throw new BadInput('read', name, 'its name carries no date, expected YYMMDD_rpts_…');
    const from_ms = Date.parse(`${convective_date}T12:00:00Z`);
    const to_ms = from_ms + MS_PER_DAY;
    // The raw and the filtered list of a day are two lists; `today` and the dated name are one.
    const version = /_rpts_raw|_raw_/.test(name) ? 'raw' : 'filtered';
    return {
      ...readSpcReports(bytes, name, { convective_date, now_ms: received_ms }),
      listing: { key: `spc-${version}-${convective_date}`, from_ms, to_ms },
      collected: { source: 'spc', from_ms, until_ms: Math.min(to_ms, received_ms) },
    };
  },
  collection: reports,
});

/** Local storm reports of the weather offices, from the archive of the Iowa Environmental Mesonet or as text products. */
export const lsr = feed({
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
    const readLsr = isLsrGeoJson(file) ? readLsrGeoJson : readLsrText;
    return { ...readLsr(file.bytes, file.name, file.received_ms), listing: null };
  },
  collection: reports,
});

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
