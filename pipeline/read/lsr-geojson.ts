import { z } from 'zod';
import type { FileReport } from '../../schemas/tables/feeds.ts';
import { timestamp } from '../../schemas/time.ts';
import type { JsonBounds } from '../json.ts';
import { firstFault, MAX_FUTURE_MS, quoted, type ReadItems, readFeatures, readItems } from './rejected-item.ts';
import {
  correctedPlace,
  inchesToMm,
  isOnGlobe,
  issuedByProductId,
  MAX_SIZE_INCH,
  reportId,
  SIMULATED_OFFICE,
} from './report-fields.ts';

/** A day of an outbreak has some 3000 reports of half a kilobyte. */
const BOUNDS: JsonBounds = {
  max_bytes: 16 * 1024 * 1024,
  max_containers: 200_000,
  max_values: 1_000_000,
  max_depth: 32,
};

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

/** True for hail on land and over water. */
export function isHailEvent(event: string): boolean {
  return /^(marine )?hail$/i.test(event.trim());
}

/**
 * Hail among the local storm reports of an Iowa Environmental Mesonet GeoJSON file, in file order, corrections included: each
 * names the product that carried it, and which of them stands is decided where all are known. Other events are counted by their
 * words. Features that cannot be used are rejected; a file that is no feature collection throws BadInput.
 */
export function readLsrGeoJson(bytes: Uint8Array, subject: string, now_ms: number): ReadItems<FileReport> {
  return readItems(readFeatures(bytes, subject, 'the geojson of local storm reports', BOUNDS), {
    name: (_, index) => `feature ${index + 1}`,
    otherKind: (feature) => {
      const event = Kind.safeParse(feature).data?.properties.typetext;
      return event === undefined || isHailEvent(event) ? null : event;
    },
    read: (feature) => readReport(feature, now_ms),
  });
}

function readReport(feature: unknown, now_ms: number): FileReport | string {
  const parsed = Report.safeParse(feature);
  if (!parsed.success) return firstFault(parsed.error, 'feature');
  const { properties, geometry } = parsed.data;
  const time_ms = utcInstant(properties.valid);
  if (time_ms === null) return `valid is ${quoted(properties.valid)}, expected a UTC time`;
  if (time_ms > now_ms + MAX_FUTURE_MS) return `valid ${timestamp(time_ms)} lies in the future`;
  const issued_at = issuedByProductId(properties.product_id);
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
    is_measured: measuredOf(properties.qualifier ?? ''),
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
  };
}

function utcInstant(text: string): number | null {
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?Z$/.test(text)) return null;
  const time_ms = Date.parse(text);
  // Months of 31 days that have 30 are pushed on by the parser: the text has to come back.
  return Number.isNaN(time_ms) || timestamp(time_ms).slice(0, 16) !== text.slice(0, 16) ? null : time_ms;
}

function inchesOf({ magnitude, unit }: Report['properties']): number | string {
  const text = typeof magnitude === 'string' && /^\d{1,3}(\.\d{1,4})?$/.test(magnitude) ? Number(magnitude) : magnitude;
  if (!/^inch(es)?$/i.test(unit ?? '')) return `unit is ${quoted(unit ?? null)}, expected Inch`;
  return typeof text === 'number' && text > 0 && text <= MAX_SIZE_INCH
    ? text
    : `magnitude is ${quoted(magnitude ?? null)}, expected inches above 0 and up to ${MAX_SIZE_INCH}`;
}

/** M is measured, E estimated; anything else does not say. */
export function measuredOf(qualifier: string): boolean | null {
  if (qualifier.toUpperCase() === 'M') return true;
  return qualifier.toUpperCase() === 'E' ? false : null;
}
