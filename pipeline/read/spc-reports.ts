import type { FileReport } from '../../schemas/tables/feeds.ts';
import { isCalendarDate, MS_PER_HOUR, timestamp, utcDate } from '../../schemas/time.ts';
import { badFile, MAX_FUTURE_MS, quoted, type ReadItems, readItems, rejectHtml, rejectLarge } from './rejected-item.ts';
import { inchesToMm, isOnGlobe, MAX_SIZE_INCH, reportId, SIMULATED_OFFICE } from './report-fields.ts';

/** The largest day on record has some 1100 rows of a hundred bytes. */
const MAX_LIST_BYTES = 4 * 1024 * 1024;
/** Hour UTC at which a file day starts and the one before ends. */
const DAY_START_HOUR = 12;

/** First cells of the header lines: a file may hold several tables, one after the other. */
const TABLES: Readonly<Record<string, string>> = { Size: 'hail', F_Scale: 'tornado', Speed: 'wind' };
const HEADER = /^Time,(Size|F_Scale|Speed),Location,County,State,Lat,Lon,Comments$/;

/**
 * Hail reports of a daily list of the Storm Prediction Center, filtered or raw, which share one layout.
 *
 * A file of a date covers 12:00 UTC of it to 12:00 UTC of the next: `convective_date` is that of the file, and times below
 * 1200 belong to the date after it. Sizes come in hundredths of an inch and leave in mm. Cells are split at the first seven
 * commas, because remarks hold commas and quotes are plain characters. Rows that cannot be used are rejected; rows of tornadoes
 * and wind are counted. Throws BadInput when there is no table at all.
 */
export function readSpcReports(
  bytes: Uint8Array,
  subject: string,
  options: { readonly convective_date: string; readonly now_ms: number },
): ReadItems<FileReport> {
  rejectLarge(bytes, subject, MAX_LIST_BYTES);
  rejectHtml(bytes, subject, 'the report list of the Storm Prediction Center');
  const items: { readonly line: string; readonly number: number; readonly table: string }[] = [];
  let table: string | null = null;
  const lines = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8').split(/\r?\n/);
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue;
    const header = HEADER.exec(line.trim().replace(/^\uFEFF/, ''))?.[1];
    if (header !== undefined) table = TABLES[header] ?? null;
    else if (table === null) throw badFile(subject, `starts with ${quoted(line)}, expected 'Time,Size,Location,…'`);
    else items.push({ line, number: index + 1, table });
  }
  if (table === null) throw badFile(subject, "is empty, expected 'Time,Size,Location,…'");
  return readItems(items, {
    name: ({ number }) => `line ${number}`,
    otherKind: (item) => (item.table === 'hail' ? null : item.table),
    read: ({ line }) => readRow(line, options),
  });
}

function readRow(
  line: string,
  { convective_date, now_ms }: { convective_date: string; now_ms: number },
): FileReport | string {
  const [time = '', size = '', place = '', county = '', state = '', lat = '', lon = '', ...remarks] = line.split(',');
  if (line.split(',', 8).length < 8) return `${line.split(',').length} cells, expected 8`;
  const time_ms = timeOf(time.trim(), convective_date);
  if (time_ms === null) return `time is ${quoted(time)}, expected HHMM`;
  if (time_ms > now_ms + MAX_FUTURE_MS) return `time ${timestamp(time_ms)} lies in the future`;
  const hundredths = /^\d{1,4}$/.test(size.trim()) ? Number(size) : Number.NaN;
  if (!(hundredths > 0 && hundredths <= 100 * MAX_SIZE_INCH))
    return `size is ${quoted(size)}, expected hundredths of an inch from 1 to ${100 * MAX_SIZE_INCH}`;
  const position = positionOf(lat.trim(), lon.trim());
  if (position === null) return `position is ${quoted(`${lat},${lon}`)}, expected degrees of latitude and longitude`;
  const remark = remarks.join(',').trim();
  const office = /\(([A-Z]{3})\)$/.exec(remark)?.[1] ?? null;
  return {
    report_id: reportId('spc', office, time_ms, position),
    source: 'spc',
    time: time_ms,
    ...position,
    size_mm: inchesToMm(hundredths / 100),
    is_measured: null,
    place: place.trim(),
    county: county.trim(),
    state: state.trim(),
    office,
    remark: remark.replace(/\s*\([A-Z]{3}\)$/, '') || null,
    product_id: null,
    issued_at: null,
    data_source: office === SIMULATED_OFFICE ? 'simulated' : 'observed',
    is_correction: false,
    corrects_place: null,
  };
}

/** HHMM of a file day: from 1200 on the date itself, before it the next. */
function timeOf(hhmm: string, convective_date: string): number | null {
  const [, hour, minute] = /^(\d{2})(\d{2})$/.exec(hhmm) ?? [];
  if (hour === undefined || Number(hour) > 23 || Number(minute) > 59) return null;
  const after_start_h = (Number(hour) - DAY_START_HOUR + 24) % 24;
  return Date.parse(`${convective_date}T12:00:00Z`) + after_start_h * MS_PER_HOUR + Number(minute) * 60_000;
}

/** Position from two texts in degrees; null unless both are plain decimals on the globe and not the origin. */
function positionOf(lat_text: string, lon_text: string): { lat: number; lon: number } | null {
  if (![lat_text, lon_text].every((text) => /^-?\d{1,3}(\.\d{1,6})?$/.test(text))) return null;
  const [lat, lon] = [Number(lat_text), Number(lon_text)];
  return isOnGlobe(lat, lon) ? { lat, lon } : null;
}

/**
 * Convective date of a list by its name: `130520_rpts_hail.csv`, `130520_rpts_filtered_hail.csv`, or `today` and `yesterday`,
 * which turn over at 12 UTC. Null for a name that carries none.
 */
export function convectiveDateOf(name: string, now_ms: number): string | null {
  const [, year, month, day] = /(?:^|\/)(\d{2})(\d{2})(\d{2})_rpts(?:_[a-z_]+)?\.csv$/.exec(name) ?? [];
  if (year !== undefined) {
    const date = `20${year}-${month}-${day}`;
    return isCalendarDate(date) ? date : null;
  }
  const running = /(?:^|\/)(today|yesterday)(?:_[a-z_]+)?\.csv$/.exec(name)?.[1];
  if (running === undefined) return null;
  return utcDate(now_ms - (DAY_START_HOUR + (running === 'yesterday' ? 24 : 0)) * MS_PER_HOUR);
}
