import { z } from 'zod';
import type { ProbSevereObject } from '../../schemas/tables/probsevere.ts';
import { METRES_PER_FOOT, MM_PER_INCH } from '../../schemas/units.ts';
import { BadInput } from '../error.ts';
import { type JsonBounds, parseJson } from './json.ts';

/** A storm object as its file gives it: what depends on the scan it is used for is filled in by the reader of the scan. */
export type FileObject = Omit<ProbSevereObject, 'storm_date' | 'scan_time' | 'flag_stale'>;

export interface ProbSevereFile {
  /** `validTime` of the file, epoch milliseconds; file names are rounded. */
  readonly valid_time: number;
  readonly model: 'probsevere-2' | 'probsevere-3';
  /** True when the file says that a simulator wrote it. */
  readonly simulated: boolean;
  readonly objects: readonly FileObject[];
}

export const MAX_PROBSEVERE_BYTES = 16 * 1024 * 1024;

/** Real files reach 1.3 MB, 223 objects and 3104 positions; outbreaks may have ten times that. */
const BOUNDS: JsonBounds = {
  max_bytes: MAX_PROBSEVERE_BYTES,
  max_containers: 300_000,
  max_values: 1_000_000,
  max_depth: 32,
};

/** Real files reach 223 objects. */
const MAX_OBJECTS = 3000;

/** Motions above this are outliers of the feed. */
const FASTEST_M_S = 40;

const Text = z.union([z.string(), z.number()]).nullish();
const Ring = z.array(z.tuple([z.number().min(-180).max(180), z.number().min(-90).max(90)], z.unknown())).min(4);
const Feature = z.object({
  geometry: z.object({ type: z.literal('Polygon'), coordinates: z.array(Ring).min(1) }),
  models: z.record(z.string(), z.object({ PROB: Text, LINE02: Text })).default({}),
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
 * direction towards which the storm moves. Fields that are absent, no number, or -999 are null. Rings that touch
 * themselves are kept. Throws BadInput, naming the feature, when an object has no id, polygon or hail probability.
 */
export function readProbSevere(bytes: Uint8Array, subject: string): ProbSevereFile {
  const file = check(File, parseJson(bytes, subject, BOUNDS), 'file', subject);
  const valid_time = parseTime(file.validTime);
  if (valid_time === null)
    throw new BadInput('read', subject, `validTime '${file.validTime}', expected YYYYMMDD_HHMMSS UTC`);
  const model = modelOf(file.product);
  if (model === null)
    throw new BadInput('read', subject, `product '${file.product}', expected ProbSevere or ProbSevere 3.0`);
  if (file.features.length > MAX_OBJECTS)
    throw new BadInput('read', subject, `${file.features.length} objects, expected at most ${MAX_OBJECTS}`);
  const objects = file.features.map((feature, index) => {
    const place = `feature ${index + 1}`;
    return readObject(
      check(Feature, feature, place, subject),
      valid_time,
      model,
      (reason) => new BadInput('read', subject, `${place} ${reason}`),
    );
  });
  return { valid_time, model, simulated: file.source === 'simulated', objects };
}

function check<S extends z.ZodType>(schema: S, value: unknown, place: string, subject: string): z.infer<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = issue?.path.join('.') || 'value';
  throw new BadInput('read', subject, `${place} ${path}: ${issue?.message.toLowerCase()}`, { cause: result.error });
}

function parseTime(text: string): number | null {
  const parts = /^(\d{4})(\d\d)(\d\d)_(\d\d)(\d\d)(\d\d) UTC$/.exec(text);
  if (!parts) return null;
  const [, year, month, day, hour, minute, second] = parts;
  const iso = `${year}-${month}-${day}T${hour}:${minute}:${second}`;
  const time_ms = Date.parse(`${iso}Z`);
  return Number.isNaN(time_ms) || new Date(time_ms).toISOString().slice(0, 19) !== iso ? null : time_ms;
}

function modelOf(product: string): ProbSevereFile['model'] | null {
  if (product === 'ProbSevere') return 'probsevere-2';
  return /^ProbSevere[ _v]*3/i.test(product) ? 'probsevere-3' : null;
}

function readObject(
  { geometry, models, properties }: Feature,
  valid_time: number,
  model: ProbSevereFile['model'],
  bad: (reason: string) => BadInput,
): FileObject {
  const id = properties.ID;
  if (typeof id !== 'string' && typeof id !== 'number') throw bad('has no ID');
  const probability = (name: 'hail' | 'wind' | 'tor', property: string) => {
    const percent = decimal(models[`prob${name}`]?.PROB) ?? decimal(properties[property]);
    if (percent !== null && (percent < 0 || percent > 100)) throw bad(`has Prob${name} ${percent}, expected 0 to 100`);
    return percent === null ? null : percent / 100;
  };
  const prob_hail = probability('hail', 'ProbHail');
  if (prob_hail === null) throw bad('has no hail probability, expected models.probhail.PROB or ProbHail');
  const rings = geometry.coordinates.map((ring, index) =>
    orient(close(ring.map(([lon, lat]) => [lon, lat])), index === 0),
  );
  const [lon, lat] = centroid(rings[0] as Ring);
  return {
    valid_time,
    probsevere_id: String(id),
    lat,
    lon,
    prob_hail,
    prob_wind: probability('wind', 'ProbWind'),
    prob_tornado: probability('tor', 'ProbTor'),
    mesh_mm: scaled(amount(properties.MESH), MM_PER_INCH),
    vil_density_g_m3: amount(properties.VIL_DENSITY),
    mucape_j_kg: amount(properties.MUCAPE),
    effective_shear_kt: amount(properties.EBSHEAR),
    melting_level_km: scaled(amount(properties.WETBULB_0C_HGT), METRES_PER_FOOT),
    flash_rate_per_min: amount(properties.FLASH_RATE),
    size_px: wholeAmount(properties.SIZE),
    ...readMotion(decimal(properties.MOTION_EAST), decimal(properties.MOTION_SOUTH)),
    flag_distrusted: String(models.probhail?.LINE02 ?? '')
      .trimEnd()
      .endsWith('(flagged)'),
    model,
    geometry: `POLYGON (${rings.map((ring) => `(${ring.map((point) => point.join(' ')).join(', ')})`).join(', ')})`,
  };
}

/** Number in plain decimal text, as every property of the feed is written; null for anything else. */
function decimal(value: unknown): number | null {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  return typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value.trim()) ? Number(value) : null;
}

/** Number that cannot be negative; -999 and the like mean missing. */
function amount(value: unknown): number | null {
  const number = decimal(value);
  return number === null || number < 0 ? null : number;
}

function wholeAmount(value: unknown): number | null {
  const number = amount(value);
  return Number.isInteger(number) ? number : null;
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

type Point = readonly [lon: number, lat: number];
type Ring = readonly Point[];

function close(ring: Ring): Ring {
  const first = ring[0] as Point;
  const last = ring.at(-1) as Point;
  return first[0] === last[0] && first[1] === last[1] ? ring : [...ring, first];
}

/** RFC 7946 order: the outer ring counter-clockwise, holes clockwise. The feed has it the other way round. */
function orient(ring: Ring, outer: boolean): Ring {
  return moments(ring).area >= 0 === outer ? ring : ring.toReversed();
}

/** Twice the signed area of a ring and its first moments about the first point, in square degrees. */
function moments(ring: Ring): { area: number; x: number; y: number } {
  const [x0, y0] = ring[0] as Point;
  const sum = { area: 0, x: 0, y: 0 };
  for (let i = 1; i < ring.length; i++) {
    const [ax, ay] = [(ring[i - 1] as Point)[0] - x0, (ring[i - 1] as Point)[1] - y0];
    const [bx, by] = [(ring[i] as Point)[0] - x0, (ring[i] as Point)[1] - y0];
    const cross = ax * by - bx * ay;
    sum.area += cross;
    sum.x += (ax + bx) * cross;
    sum.y += (ay + by) * cross;
  }
  return sum;
}

/** Centroid of the area of a ring; the mean of its points when it has no area. */
function centroid(ring: Ring): Point {
  const [x0, y0] = ring[0] as Point;
  const { area, x, y } = moments(ring);
  if (area !== 0) return [x0 + x / (3 * area), y0 + y / (3 * area)];
  const points = ring.slice(1);
  const mean = (axis: 0 | 1) => points.reduce((sum, point) => sum + point[axis], 0) / points.length;
  return [mean(0), mean(1)];
}
