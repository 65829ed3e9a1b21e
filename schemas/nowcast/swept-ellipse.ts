import { normalQuantile, radicalInverse } from './quasi-random.ts';

/** An ellipse as a storm's footprint; the major axis points towards `orientation_deg`, 0 = north, clockwise. */
export interface Ellipse {
  readonly major_km: number;
  readonly minor_km: number;
  readonly orientation_deg: number;
}

/** Motion with standard deviations of its errors. */
export interface UncertainMotion {
  readonly speed_kmh: number;
  readonly direction_deg: number;
  readonly speed_error_kmh: number;
  readonly direction_error_deg: number;
}

/** Offset of a point from the centre of a storm, km. */
export interface Offset {
  readonly east_km: number;
  readonly north_km: number;
}

/** 256 points stay within .006 of a million random ones, 64 miss by .055. */
const SAMPLES = 256;
/** Standard deviation of the logarithm of the footprint's size factor. */
const SIZE_SPREAD = 0.2;

interface Draw {
  readonly speed: number;
  readonly direction: number;
  /** Factor of the size of the footprint. */
  readonly grown: number;
}

/** Standard normal triples, the last as a factor, from the Halton sequence in bases 2, 3 and 5, from index 1 on. */
const DRAWS: readonly Draw[] = Array.from({ length: SAMPLES }, (_, index) => ({
  speed: normalQuantile(radicalInverse(index + 1, 2)),
  direction: normalQuantile(radicalInverse(index + 1, 3)),
  grown: Math.exp(SIZE_SPREAD * normalQuantile(radicalInverse(index + 1, 5))),
}));
const LARGEST = Math.max(...DRAWS.map(({ grown }) => grown));
const SPEEDS = [Math.min, Math.max].map((extreme) => extreme(...DRAWS.map(({ speed }) => speed)));

/**
 * Time at which each of 256 equally likely futures of a storm first covers a point between two times, minutes; NaN for never.
 * In the storm's frame the point moves along a straight line towards the ellipse.
 */
export function arrivals(
  point: Offset,
  ellipse: Ellipse,
  motion: UncertainMotion,
  from_min: number,
  to_min: number,
): Float64Array {
  const axis = radians(ellipse.orientation_deg);
  const [sine, cosine] = [Math.sin(axis), Math.cos(axis)];
  const along_km = point.east_km * sine + point.north_km * cosine;
  const across_km = point.east_km * cosine - point.north_km * sine;
  const times = new Float64Array(DRAWS.length);
  for (const [n, { speed, direction, grown }] of DRAWS.entries()) {
    const km_min = (motion.speed_kmh + motion.speed_error_kmh * speed) / 60;
    const turned = radians(motion.direction_deg + motion.direction_error_deg * direction) - axis;
    const [major_km, minor_km] = [ellipse.major_km * grown, ellipse.minor_km * grown];
    const vx = (-km_min * Math.cos(turned)) / major_km;
    const vy = (-km_min * Math.sin(turned)) / minor_km;
    times[n] = firstInside(along_km / major_km, across_km / minor_km, vx, vy, from_min, to_min);
  }
  return times;
}

/** Distance from the centre beyond which no future of a storm reaches, km. */
export function reachKm(ellipse: Ellipse, motion: UncertainMotion, to_min: number): number {
  const { speed_kmh, speed_error_kmh } = motion;
  const fastest_kmh = Math.max(...SPEEDS.map((speed) => Math.abs(speed_kmh + speed_error_kmh * speed)));
  return LARGEST * Math.max(ellipse.major_km, ellipse.minor_km) + (fastest_kmh * to_min) / 60;
}

/** First time in [from, to] at which (x, y) + t (vx, vy) lies in the unit circle; NaN if never. */
function firstInside(x: number, y: number, vx: number, vy: number, from: number, to: number): number {
  const startX = x + from * vx;
  const startY = y + from * vy;
  const c = startX * startX + startY * startY - 1;
  if (c <= 0) return from;
  const a = vx * vx + vy * vy;
  const half_b = startX * vx + startY * vy;
  const discriminant = half_b * half_b - a * c;
  if (half_b >= 0 || discriminant < 0) return Number.NaN;
  const first = from + (-half_b - Math.sqrt(discriminant)) / a;
  return first <= to ? first : Number.NaN;
}

function radians(degrees: number): number {
  return (degrees * Math.PI) / 180;
}
