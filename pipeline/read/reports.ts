import { z } from 'zod';
import type { Position } from '../../schemas/geo/position.ts';
import type { FileReport } from '../../schemas/tables/feeds.ts';
import { isCalendarDate, MS_PER_HOUR, timestamp, utcDate } from '../../schemas/time.ts';
import {
  badFile,
  firstFault,
  inchesToMm,
  MAX_FUTURE_MS,
  MAX_SIZE_INCH,
  quoted,
  type ReadItems,
  readFeatures,
  readItems,
  textOf,
  utcTime,
} from './rejected-item.ts';

/** Reports of the simulator come from an office that does not exist. */
const SIMULATED_OFFICE = 'SIM';

/** Hail reports of a file, and the times of those that were rejected, epoch milliseconds; null for a time that cannot be read. */
interface ReadReports extends ReadItems<FileReport> {
  readonly rejected_ms: readonly (number | null)[];
}

const Text = z.string().max(4000).nullish();
const Report = z.object({
  geometry: z.object({ type: z.literal('Point'), coordinates: z.tuple([z.number(), z.number()], z.unknown()) }),
  properties: z.object({
    valid: z.string(),
    magnitude: z.union([z.number(), z.string()]).nullish(),
    unit: Text,
    qualifier: Text,
    typetext: z.string(),
    wfo: z.string().regex(/^[A-Z]{3,4}$/),
    city: Text,
    county: Text,
    state: Text,
    remark: Text,
    product_id: z.string(),
  }),
});
type Report = z.infer<typeof Report>;
const Kind = z.object({ properties: z.object({ typetext: z.string().max(100) }) });
const Valid = z.object({ properties: z.object({ valid: z.string() }) });

/**
 * Hail among the local storm reports of an Iowa Environmental Mesonet GeoJSON file, on land and over water, in file order,
 * corrections included. Other events are counted by their words. Features that cannot be used are rejected; a file that is no
 * feature collection throws BadInput.
 */
export function readLsrGeoJson(bytes: Uint8Array, subject: string, now_ms: number): ReadReports {
  const features = readFeatures(bytes, subject, 'the geojson of local storm reports');
  const kindOf = (feature: unknown) => Kind.safeParse(feature).data?.properties.typetext;
  const timeOf = (feature: unknown) => utcTime(Valid.safeParse(feature).data?.properties.valid ?? '', VALID);
  return readReports(features, kindOf, (feature) => readReport(feature, now_ms), timeOf);
}

/** Reads the items that are hail or of no known kind, and counts the others; `timeOf`: time of a rejected item. */
function readReports<Item>(
  items: readonly Item[],
  kindOf: (item: Item) => string | undefined,
  read: (item: Item) => FileReport | string,
  timeOf: (item: Item) => number | null,
  nameOf?: (item: Item) => string,
): ReadReports {
  const rejected_ms: (number | null)[] = [];
  const readOne = (item: Item) => {
    const kind = kindOf(item);
    if (kind !== undefined && !/^(marine )?hail$/i.test(kind.trim())) return { other: kind };
    const row = read(item);
    if (typeof row !== 'string') return { row };
    rejected_ms.push(timeOf(item));
    return row;
  };
  return { ...readItems(items, readOne, nameOf), rejected_ms };
}

function readReport(feature: unknown, now_ms: number): FileReport | string {
  const parsed = Report.safeParse(feature);
  if (!parsed.success) return firstFault(parsed.error, 'feature');
  const { properties, geometry } = parsed.data;
  const time_ms = utcTime(properties.valid, VALID);
  if (time_ms === null) return `valid is ${quoted(properties.valid)}, expected a UTC time`;
  if (time_ms > now_ms + MAX_FUTURE_MS) return `valid ${timestamp(time_ms)} lies in the future`;
  const issued_at = utcTime(properties.product_id, PRODUCT_ID);
  if (issued_at === null) return `product_id is ${quoted(properties.product_id)}, expected YYYYMMDDHHMM-office-…`;
  const [lon, lat] = geometry.coordinates;
  if (!isOnGlobe(lat, lon)) return `position is ${lat} ${lon}, expected degrees of latitude and longitude`;
  const inches = inchesOf(properties);
  if (typeof inches === 'string') return inches;
  const remark = properties.remark?.trim() || null;
  const corrects_place = correctedPlace(remark ?? '');
  return {
    report_id: reportId('lsr', properties.wfo, time_ms, { lat, lon }),
    source: 'lsr',
    time: time_ms,
    lat,
    lon,
    size_mm: inchesToMm(inches),
    is_measured: IS_MEASURED[properties.qualifier?.toUpperCase() ?? ''] ?? null,
    place: properties.city?.trim() ?? '',
    county: properties.county?.trim() ?? '',
    state: properties.state?.trim() ?? '',
    office: properties.wfo,
    remark,
    product_id: properties.product_id,
    issued_at,
    data_source: properties.wfo === SIMULATED_OFFICE ? 'simulated' : 'observed',
    is_correction: corrects_place !== null,
    corrects_place,
    list: null,
  };
}

const VALID = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,6})?)?Z$/;

/** Spellings of the inch since 2002: `Inch`, from August 2026 on `in`; a hail report without a unit is in inches. */
const INCH = /^(?:in\.?|inch(?:es)?|"|)$/i;

function inchesOf({ magnitude, unit }: Report['properties']): number | string {
  const text = typeof magnitude === 'string' && /^\d{1,3}(\.\d{1,4})?$/.test(magnitude) ? Number(magnitude) : magnitude;
  if (!INCH.test(unit?.trim() ?? '')) return `unit is ${quoted(unit ?? null)}, expected inches`;
  return typeof text === 'number' && text > 0 && text <= MAX_SIZE_INCH
    ? text
    : `magnitude is ${quoted(magnitude ?? null)}, expected inches above 0 and up to ${MAX_SIZE_INCH}`;
}

/** True for measured, false for estimated hail; other letters are unknown. */
const IS_MEASURED: Readonly<Record<string, boolean>> = { M: true, E: false };

/**
 * Place of the earlier report that a remark corrects, as in `Corrects previous hail report from 2 ESE Tatum.` or `Corrects
 * location of previous tornado report from 5 N Levelland.`; null for a remark that corrects none.
 */
function correctedPlace(remark: string): string | null {
  const found = /\bcorrects\b[^.]{0,60}\bprevious\b[^.]{0,60}\breport from ([^.]{1,60})/i.exec(remark.slice(0, 400));
  return found?.[1]?.trim() ?? null;
}

/** Identifier such as `202506060006-KMAF-NWUS54-LSRMAF`, which begins with its issue time. */
const PRODUCT_ID = /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})-[A-Z]{4}-[A-Z]{4}\d{2}-[A-Z0-9]{4,6}(?:-[A-Z]{3})?$/;

/** The largest day on record has some 1100 rows of a hundred bytes. */
const MAX_LIST_BYTES = 4 * 1024 * 1024;
/** Hour UTC at which a file day starts and the one before ends. */
const DAY_START_HOUR = 12;

/** First cells of the header lines: a file may hold several tables, one after the other. */
const TABLES: Readonly<Record<string, string>> = { Size: 'hail', F_Scale: 'tornado', Speed: 'wind' };
const HEADER = /^Time,(Size|F_Scale|Speed),Location,County,State,Lat,Lon,Comments$/;

interface ListOptions {
  readonly convective_date: string;
  readonly list: 'raw' | 'filtered';
  readonly now_ms: number;
}

/**
 * Hail reports of a daily list of the Storm Prediction Center, filtered or raw, which share one layout.
 *
 * A file covers 12:00 UTC of its convective date to 12:00 UTC of the next: times below 1200 belong to the date after it. Sizes come
 * in hundredths of an inch and leave in mm. Cells are split at the first seven commas, because remarks hold commas and quotes are
 * plain characters. Rows that cannot be used are rejected; rows of tornadoes and wind are counted. Throws BadInput when there is no
 * table at all.
 */
export function readSpcReports(bytes: Uint8Array, subject: string, options: ListOptions): ReadReports {
  const text = textOf(bytes, subject, 'the report list of the Storm Prediction Center', MAX_LIST_BYTES);
  const items: { readonly line: string; readonly number: number; readonly table: string }[] = [];
  let table: string | null = null;
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '') continue;
    const header = HEADER.exec(line.trim().replace(/^\uFEFF/, ''))?.[1];
    if (header !== undefined) table = TABLES[header] ?? null;
    else if (table === null) throw badFile(subject, `starts with ${quoted(line)}, expected 'Time,Size,Location,…'`);
    else items.push({ line, number: index + 1, table });
  }
  if (table === null) throw badFile(subject, "is empty, expected 'Time,Size,Location,…'");
  return readReports(
    items,
    ({ table: kind }) => kind,
    ({ line }) => readRow(line, options),
    ({ line }) => listTime(line.split(',')[0].trim(), options.convective_date),
    ({ number }) => `line ${number}`,
  );
}

function readRow(line: string, { convective_date, list, now_ms }: ListOptions): FileReport | string {
  const [time = '', size = '', place = '', county = '', state = '', lat = '', lon = '', ...remarks] = line.split(',');
  if (line.split(',', 8).length < 8) return `${line.split(',').length} cells, expected 8`;
  const time_ms = listTime(time.trim(), convective_date);
  if (time_ms === null) return `time is ${quoted(time)}, expected HHMM`;
  if (time_ms > now_ms + MAX_FUTURE_MS) return `time ${timestamp(time_ms)} lies in the future`;
  const hundredths = /^\d{1,4}$/.test(size.trim()) ? Number(size) : Number.NaN;
  if (!(hundredths > 0 && hundredths <= 100 * MAX_SIZE_INCH))
    return `size is ${quoted(size)}, expected hundredths of an inch from 1 to ${100 * MAX_SIZE_INCH}`;
  const position = { lat: degreesOf(lat), lon: degreesOf(lon) };
  if (!isOnGlobe(position.lat, position.lon))
    return `position is ${quoted(`${lat},${lon}`)}, expected degrees of latitude and longitude`;
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
    list,
  };
}

/** HHMM of a file day: from 1200 on the date itself, before it the next. */
function listTime(hhmm: string, convective_date: string): number | null {
  const [, hour, minute] = /^(\d{2})(\d{2})$/.exec(hhmm) ?? [];
  if (hour === undefined || Number(hour) > 23 || Number(minute) > 59) return null;
  const after_start_h = (Number(hour) - DAY_START_HOUR + 24) % 24;
  return Date.parse(`${convective_date}T12:00:00Z`) + after_start_h * MS_PER_HOUR + Number(minute) * 60_000;
}

/** Number of a plain decimal; NaN for another text. */
function degreesOf(text: string): number {
  return /^-?\d{1,3}(\.\d{1,6})?$/.test(text.trim()) ? Number(text) : Number.NaN;
}

/** True for a position on the globe; feeds write 0, 0 for an unknown position. */
function isOnGlobe(lat: number, lon: number): boolean {
  return Math.abs(lat) <= 90 && Math.abs(lon) <= 180 && (lat !== 0 || lon !== 0);
}

/** Feed, office, time and position: the same in every file that carries the report. */
function reportId(feed: 'spc' | 'lsr', office: string | null, time_ms: number, { lat, lon }: Position): string {
  const place = `${lat.toFixed(3)},${lon.toFixed(3)}`;
  return [feed, office, timestamp(time_ms), place].filter((part) => part !== null).join(':');
}

/**
 * Convective date of a list by its name: `130520_rpts_hail.csv`, `130520_rpts_filtered_hail.csv`, or `today` and `yesterday`,
 * which turn over at 12 UTC. Null for a name without a date.
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
