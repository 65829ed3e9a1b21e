import type { Position } from 'geojson';
import type { LngLat } from './coverage.ts';

/** WGS84. */
const EQUATOR_RADIUS_KM = 6378.137;
const FLATTENING = 1 / 298.257223563;
const ECCENTRICITY = Math.sqrt(FLATTENING * (2 - FLATTENING));
/** Corners of a drawn line for each 2 degrees of its length, so that it bends as the earth does. */
const CORNER_STEP = Math.PI / 90;

const radians = (degrees: number) => (degrees * Math.PI) / 180;
const degrees = (angle: number) => (angle * 180) / Math.PI;

/** Distance on the ellipsoid by Lambert's formula, off by some ten metres in thousands of kilometres. */
export function geodesicKm(a: LngLat, b: LngLat): number {
  const lats = [a, b].map(({ lat }) => Math.atan((1 - FLATTENING) * Math.tan(radians(lat))));
  const half_lon = radians(b.lng - a.lng) / 2;
  const angle = arc(lats[0], lats[1], half_lon);
  if (angle === 0) return 0;
  const [p, q] = [(lats[0] + lats[1]) / 2, (lats[1] - lats[0]) / 2];
  const x = (angle - Math.sin(angle)) * ((Math.sin(p) * Math.cos(q)) / Math.cos(angle / 2)) ** 2;
  const y = (angle + Math.sin(angle)) * ((Math.cos(p) * Math.sin(q)) / Math.sin(angle / 2)) ** 2;
  return EQUATOR_RADIUS_KM * (angle - (FLATTENING / 2) * (x + y));
}

/** Length of a line through places. */
export function lengthKm(places: readonly LngLat[]): number {
  return places.slice(1).reduce((sum, place, i) => sum + geodesicKm(places[i], place), 0);
}

/** Area inside a ring of places, on the sphere with the surface of the ellipsoid. */
export function areaKm2(places: readonly LngLat[]): number {
  const polar = authalic(Math.PI / 2);
  const radius2 = (EQUATOR_RADIUS_KM ** 2 / 2) * polar;
  const lats = places.map(({ lat }) => Math.asin(authalic(radians(lat)) / polar));
  const excess = places.reduce((sum, place, i) => {
    const next = (i + 1) % places.length;
    const lon = radians(places[next].lng - place.lng);
    const t = (at: number) => Math.tan(lats[at] / 2);
    return sum + 2 * Math.atan2(Math.tan(lon / 2) * (t(i) + t(next)), 1 + t(i) * t(next));
  }, 0);
  return Math.abs(excess) * radius2;
}

/** The shortest line through places, with corners on the way. */
export function geodesicLine(places: readonly LngLat[]): Position[] {
  return places.flatMap((place, i) => {
    const next = places[i + 1];
    return next === undefined ? [[place.lng, place.lat]] : between(place, next);
  });
}

/** Corners from a place to before the next. */
function between(a: LngLat, b: LngLat): Position[] {
  const angle = arc(radians(a.lat), radians(b.lat), radians(b.lng - a.lng) / 2);
  const steps = Math.max(1, Math.ceil(angle / CORNER_STEP));
  const [from, to] = [vector(a), vector(b)];
  return Array.from({ length: steps }, (_, i) => {
    if (i === 0) return [a.lng, a.lat];
    const [f, g] = [Math.sin(angle * (1 - i / steps)), Math.sin((angle * i) / steps)];
    const [x, y, z] = from.map((value, axis) => f * value + g * to[axis]);
    return [degrees(Math.atan2(y, x)), degrees(Math.atan2(z, Math.hypot(x, y)))];
  });
}

/** Angle between two places of a sphere, by half of the difference of their longitudes. */
function arc(lat_a: number, lat_b: number, half_lon: number): number {
  const h = Math.sin((lat_b - lat_a) / 2) ** 2 + Math.cos(lat_a) * Math.cos(lat_b) * Math.sin(half_lon) ** 2;
  return 2 * Math.asin(Math.min(1, Math.sqrt(h)));
}

function vector({ lat, lng }: LngLat): [number, number, number] {
  const [at, to] = [radians(lat), radians(lng)];
  return [Math.cos(at) * Math.cos(to), Math.cos(at) * Math.sin(to), Math.sin(at)];
}

/** `q` of the authalic latitude: surface between the equator and a latitude. */
function authalic(lat: number): number {
  const sin = Math.sin(lat);
  const e = ECCENTRICITY;
  return (1 - e * e) * (sin / (1 - (e * sin) ** 2) + Math.atanh(e * sin) / e);
}
