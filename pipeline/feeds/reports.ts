import { type FileReport, groundReports } from '../../schemas/tables/ground-reports.ts';
import { MS_PER_DAY, stormDate } from '../../schemas/time.ts';
import { uniqueReports } from '../derive/unique-reports.ts';
import { BadInput } from '../error.ts';
import { readLsrGeoJson } from '../read/lsr-geojson.ts';
import { readLsrText } from '../read/lsr-text.ts';
import { convectiveDateOf, readSpcReports } from '../read/spc-reports.ts';
import { collection, type FeedFile } from './collection.ts';
import { hasAwipsLine, isJsonWith } from './file-kind.ts';

/** Daily lists of the Storm Prediction Center, filtered and raw. */
const SPC_LIST = /(?:^|\/)(?:\d{6}_rpts|today|yesterday)(?:_[a-z_]+)?\.csv$/;
const LSR_GEOJSON = /(?:^|\/)lsrs?_[\w-]*\.geojson$/;

/** Who saw hail on the ground: one row per event, corrections and copies joined. */
export const reports = collection<FileReport, ReturnType<typeof uniqueReports>[number] & { storm_date: string }>({
  name: 'reports',
  table: groundReports,
  item_version: 1,
  accepts: (file) => SPC_LIST.test(file.name) || isLsrGeoJson(file) || hasAwipsLine(file, /^LSR[A-Z]{3}$/),
  read: (file) => {
    const { name, bytes, received_ms } = file;
    if (isLsrGeoJson(file)) return { ...readLsrGeoJson(bytes, name, received_ms), listing: null };
    if (!SPC_LIST.test(name)) return { ...readLsrText(bytes, name, received_ms), listing: null };
    const convective_date = convectiveDateOf(name, received_ms);
    if (convective_date === null) throw new BadInput('read', name, 'its name carries no date, expected YYMMDD_rpts_…');
    const from_ms = Date.parse(`${convective_date}T12:00:00Z`);
    const list = readSpcReports(bytes, name, { convective_date, now_ms: received_ms });
    // The raw and the filtered list of a day are two lists; `today` and the dated name are one.
    const kind = /_rpts_raw|_raw_/.test(name) ? 'raw' : 'filtered';
    return { ...list, listing: { key: `spc-${kind}-${convective_date}`, from_ms, to_ms: from_ms + MS_PER_DAY } };
  },
  timeOf: ({ time }) => time,
  provenanceOf: ({ data_source }) => data_source,
  rows: (items, storm_day_start_hour) =>
    uniqueReports(items.map(({ item }) => item)).map((report) => ({
      ...report,
      storm_date: stormDate(report.time, storm_day_start_hour),
    })),
  rowTime: ({ time }) => time,
  collected: ({ received_ms }, { listing }) =>
    listing === null
      ? null
      : { source: 'spc', from_ms: listing.from_ms, until_ms: Math.min(listing.to_ms, received_ms) },
});

function isLsrGeoJson(file: FeedFile): boolean {
  return LSR_GEOJSON.test(file.name) || isJsonWith(file, 'typetext');
}
