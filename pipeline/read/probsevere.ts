import { bbox as boxOf } from '@turf/bbox';
import { rewind } from '@turf/rewind';
import { z } from 'zod';
import { LATTICE } from '../../schemas/geo/lattice.ts';
import type { Ring } from '../../schemas/geo/rings.ts';
import { polygonToWkt } from '../../schemas/geo/wkt.ts';
import type { ProbSevereObject } from '../../schemas/tables/radar.ts';
import { timestamp } from '../../schemas/time.ts';
import { METRES_PER_FOOT, MM_PER_INCH } from '../../schemas/units.ts';
import { parseJson } from '../json.ts';
import { closed } from './polygon.ts';
import { badFile, firstFault, quoted, utcTime } from './rejected-item.ts';

/** A storm object of a file; the reader of the scan adds the columns that depend on the scan. */
export type FileObject = Omit<ProbSevereObject, 'storm_date' | 'scan_time' | 'flag_stale'>;

interface ProbSevereFile {
  /** `validTime` of the file, epoch milliseconds; file names are rounded. */
  readonly valid_time: number;
  readonly model: 'probsevere-2' | 'probsevere-3';
  /** True when a simulator wrote the file. */
  readonly simulated: boolean;
  readonly objects: readonly FileObject[];
}

/** Real files reach 1.3 MB; outbreaks may have ten times that. */
export const MAX_PROBSEVERE_BYTES = 16 * 1024 * 1024;

/** Real files reach 223 objects. */
const MAX_OBJECTS = 3000;

/** End of the MESH line of an object whose MESH the model distrusts. */
const FLAGGED = '(flagged)';

const VALID_TIME = /^(\d{4})(\d\d)(\d\d)_(\d\d)(\d\d)(\d\d) UTC$/;

/** Names of files of 2022 are rounded down to the even minute; those of 2021 are exact. */
const MAX_ROUNDING_MS = 120_000;

/** Motions above this are outliers of the feed. */
const FASTEST_M_S = 40;

/** Largest polygon, degrees from edge to edge: real ones reach 1.8. */
const MAX_EXTENT_DEG = 5;

/** Highest values that are a measurement; 2,030 real objects reach 2.57 in, 3.65, 4357, 75.4, 14.7, 208 and 3065. */
const HIGHEST: Readonly<Record<string, number>> = {
  MESH: 250 / MM_PER_INCH,
  VIL_DENSITY: 20,
  MUCAPE: 15_000,
  EBSHEAR: 200,
  WETBULB_0C_HGT: 25,
  FLASH_RATE: 5000,
  SIZE: 50_000,
};

/** Texts of the feed for no value; numbers below zero stand for it too, where a value cannot be negative. */
const NO_VALUE = ['', 'N/A', 'NAN'];

const Text = z.union([z.string(), z.number()]).nullish();
const [west, south, east, north] = LATTICE.bbox;
const RingSchema = z.array(z.tuple([z.number().min(west).max(east), z.number().min(south).max(north)])).min(4);
const Feature = z.object({
  geometry: z.object({ type: z.literal('Polygon'), coordinates: z.array(RingSchema).min(1) }),
  models: z.record(z.string(), z.object({ PROB: Text, LINE01: Text, LINE02: Text })).default({}),
  properties: z.record(z.string(), z.unknown()),
});
type Feature = z.infer<typeof Feature>;
const File = z.object({
  source: z.string(),
  product: z.string(),
  validTime: z.string(),
  features: z.array(z.unknown()),
});

/**
 * Storm objects of a NOAA/CIMSS ProbSevere GeoJSON file, version 2 or 3, in file order.
 *
 * Sizes come in inches and leave in mm, heights in thousands of feet and leave in km, motion leaves as speed and the
 * direction towards which the storm moves. Fields that are absent, "N/A" or -999 are null. Rings that touch themselves are
 * kept. Throws BadInput, naming the feature, when an object has no id, polygon or hail probability, when a value is no
 * number or out of range, when the file is more than two minutes off the time in its name (`named_ms`), when fields are present in some objects only, or when number and display text differ.
 * A digit that became another one cannot be noticed where the file has it once: in positions, in ids, in version 3 in any
 * value, in `validTime` by less than two minutes. Positions stay on the lattice, polygons below 5 degrees, values in range.
 */
export function readProbSevere(bytes: Uint8Array, subject: string, named_ms?: number): ProbSevereFile {
  const file = check(File, parseJson(bytes, subject), 'file', subject);
  const valid_time = utcTime(file.validTime, VALID_TIME);
  if (valid_time === null) throw badFile(subject, `validTime '${file.validTime}', expected YYYYMMDD_HHMMSS UTC`);
  if (named_ms !== undefined && Math.abs(valid_time - named_ms) > MAX_ROUNDING_MS)
    throw badFile(
      subject,
      `validTime ${timestamp(valid_time)}, expected ${timestamp(named_ms)} within ${MAX_ROUNDING_MS / 1000} s`,
    );
  const is_third = /^ProbSevere[ _v]*3/i.test(file.product);
  const model = is_third ? 'probsevere-3' : 'probsevere-2';
  if (!is_third && file.product !== 'ProbSevere')
    throw badFile(subject, `product '${file.product}', expected ProbSevere or ProbSevere 3.0`);
  if (file.features.length > MAX_OBJECTS)
    throw badFile(subject, `${file.features.length} objects, expected at most ${MAX_OBJECTS}`);
  const features = file.features.map((feature, index) => check(Feature, feature, `feature ${index + 1}`, subject));
  rejectUneven(features, subject);
  const objects = features.map((feature, index) =>
    readObject(feature, valid_time, model, (reason) => badFile(subject, `feature ${index + 1} ${reason}`)),
  );
  return { valid_time, model, simulated: file.source === 'simulated', objects };
}

/** Fields that all objects of a file have, or none: a damaged key must not pass for a missing value. */
const EVEN_PROPERTIES = [...Object.keys(HIGHEST), 'MOTION_EAST', 'MOTION_SOUTH', 'ProbHail', 'ProbWind', 'ProbTor'];
const EVEN_MODELS = ['probhail', 'probwind', 'probtor'];
const EVEN_TEXTS = ['PROB', 'LINE01', 'LINE02'] as const;

function rejectUneven(features: readonly Feature[], subject: string): void {
  const even = (name: string, has: (feature: Feature) => boolean) => {
    const count = features.filter(has).length;
    if (count > 0 && count < features.length)
      throw badFile(subject, `${name} in ${count} of ${features.length} objects, expected all or none`);
  };
  for (const name of EVEN_PROPERTIES) even(name, ({ properties }) => properties[name] !== undefined);
  for (const name of EVEN_MODELS)
    for (const text of EVEN_TEXTS) even(`${name}.${text}`, ({ models }) => models[name]?.[text] !== undefined);
}

function check<S extends z.ZodType>(schema: S, value: unknown, place: string, subject: string): z.infer<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw badFile(subject, `${place} ${firstFault(result.error, 'value')}`, result.error);
}

function readObject(
  { geometry, models, properties }: Feature,
  valid_time: number,
  model: ProbSevereFile['model'],
  bad: (reason: string) => Error,
): FileObject {
  const id = properties.ID;
  if (typeof id !== 'string' && typeof id !== 'number') throw bad('has no ID');
  if (!/^\d+$/.test(String(id))) throw bad(`has ID ${quoted(id)}, expected a whole number`);
  const number = (name: string, value: unknown) => {
    const text = typeof value === 'string' ? value.toUpperCase() : value;
    const isMissing = text === undefined || text === null || NO_VALUE.includes(text as string);
    const found = isMissing ? null : decimal(value);
    if (!isMissing && found === null) throw bad(`has ${name} ${quoted(value)}, expected a number`);
    return found;
  };
  const probability = (name: 'hail' | 'wind' | 'tor', property: string) => {
    const percent = number(`prob${name}`, models[`prob${name}`]?.PROB) ?? number(property, properties[property]);
    if (percent !== null && (percent < 0 || percent > 100)) throw bad(`has Prob${name} ${percent}, expected 0 to 100`);
    return percent === null ? null : percent / 100;
  };
  /** Number that cannot be negative; -999 and the like mean missing. */
  const amount = (name: string) => {
    const value = number(name, properties[name]);
    const highest = HIGHEST[name] ?? Number.POSITIVE_INFINITY;
    if (value !== null && value > highest) throw bad(`has ${name} ${value}, expected at most ${highest}`);
    return value === null || value < 0 ? null : value;
  };
  const size_px = amount('SIZE');
  if (model === 'probsevere-2') rejectOtherText(models, properties, bad);
  const prob_hail = probability('hail', 'ProbHail');
  if (prob_hail === null) throw bad('has no hail probability, expected models.probhail.PROB or ProbHail');
  // RFC 7946 has the outer ring counter-clockwise and holes clockwise, the feed the other way round.
  const polygon = { type: 'Polygon' as const, coordinates: geometry.coordinates.map(closed) };
  const { coordinates: rings } = rewind(polygon) as { coordinates: Ring[] };
  const [west, south, east, north] = boxOf(polygon);
  const extent = Math.max(east - west, north - south);
  if (extent > MAX_EXTENT_DEG)
    throw bad(`has a polygon of ${extent.toFixed(2)} degrees, expected at most ${MAX_EXTENT_DEG}`);
  const [lon, lat] = centroid(rings[0]);
  return {
    valid_time,
    probsevere_id: String(id),
    lat,
    lon,
    prob_hail,
    prob_wind: probability('wind', 'ProbWind'),
    prob_tornado: probability('tor', 'ProbTor'),
    mesh_mm: scaled(amount('MESH'), MM_PER_INCH),
    vil_density_g_m3: amount('VIL_DENSITY'),
    mucape_j_kg: amount('MUCAPE'),
    effective_shear_kt: amount('EBSHEAR'),
    melting_level_km: scaled(amount('WETBULB_0C_HGT'), METRES_PER_FOOT),
    flash_rate_per_min: amount('FLASH_RATE'),
    size_px: Number.isInteger(size_px) ? size_px : null,
    ...readMotion(number('MOTION_EAST', properties.MOTION_EAST), number('MOTION_SOUTH', properties.MOTION_SOUTH)),
    flag_distrusted: String(models.probhail?.LINE02 ?? '')
      .trimEnd()
      .endsWith(FLAGGED),
    model,
    geometry: polygonToWkt(rings),
  };
}

/** Number in plain decimal text, as every property of the feed is written; null for anything else. */
function decimal(value: unknown): number | null {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  return typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : null;
}

/**
 * Version 2 writes each probability and the MESH twice, as a number and in the text for display: all 2,030 real objects
 * agree. Where they do not, one of the two is damaged.
 */
function rejectOtherText(
  models: Feature['models'],
  properties: Feature['properties'],
  bad: (reason: string) => Error,
): void {
  for (const [name, label] of [
    ['probhail', 'ProbHail'],
    ['probwind', 'ProbWind'],
    ['probtor', 'ProbTor'],
  ] as const) {
    const { PROB, LINE01 } = models[name] ?? {};
    if (LINE01 !== undefined && LINE01 !== `${label}: ${PROB}%`)
      throw bad(`has ${name} ${quoted(PROB)} and the text ${quoted(LINE01)}, expected the same`);
  }
  const text = models.probhail?.LINE02;
  const mesh = `- MESH: ${properties.MESH} in.`;
  if (text !== undefined && text !== mesh && text !== `${mesh} ${FLAGGED}`)
    throw bad(`has MESH ${quoted(properties.MESH)} and the text ${quoted(text)}, expected the same`);
}

/** Unit conversion, freed of binary noise: the feed has at most two decimals, the factors four. */
function scaled(value: number | null, factor: number): number | null {
  return value === null ? null : Math.round(value * factor * 1e6) / 1e6;
}

/** Speed and direction from metres per second towards east and south; both null when missing or faster than 40 m/s. */
function readMotion(east: number | null, south: number | null): Pick<FileObject, 'speed_kmh' | 'direction_deg'> {
  const speed = east === null || south === null ? Number.NaN : Math.hypot(east, south);
  if (!(speed <= FASTEST_M_S) || east === null || south === null) return { speed_kmh: null, direction_deg: null };
  const direction = ((Math.atan2(east, -south) * 180) / Math.PI + 360) % 360;
  return { speed_kmh: 3.6 * speed, direction_deg: speed === 0 ? null : direction };
}

/** Centroid of the area of a ring; the mean of its points when it has no area. */
function centroid(ring: Ring): [lon: number, lat: number] {
  const [x0, y0] = ring[0];
  // Twice the signed area and the first moments about the first point, in square degrees.
  let [area, x, y] = [0, 0, 0];
  for (let i = 1; i < ring.length; i++) {
    const [ax, ay] = [ring[i - 1][0] - x0, ring[i - 1][1] - y0];
    const [bx, by] = [ring[i][0] - x0, ring[i][1] - y0];
    const cross = ax * by - bx * ay;
    area += cross;
    x += (ax + bx) * cross;
    y += (ay + by) * cross;
  }
  if (area !== 0) return [x0 + x / (3 * area), y0 + y / (3 * area)];
  const points = ring.slice(1);
  const mean = (axis: 0 | 1) => points.reduce((sum, point) => sum + point[axis], 0) / points.length;
  return [mean(0), mean(1)];
}
