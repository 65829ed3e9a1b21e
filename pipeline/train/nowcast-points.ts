import KDBush from 'kdbush';
import { boxAround } from '../../schemas/geo/around.ts';
import { destination, distanceKm } from '../../schemas/geo/distance.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { type NowcastStorm, nowcastStorm, STRIKE_KM, STRIKE_MM } from '../../schemas/nowcast/probability.ts';
import type { Detection } from '../../schemas/tables/detections.ts';
import type { TrackPoint } from '../../schemas/tables/tracks.ts';

/** Largest distance of scored points from a storm: the default radius of the interface. */
export const NEAR_KM = 15;
const NEAR_POINTS_PER_STORM = 12;
/** Largest distance of further points, which are reported separately: the largest radius of the interface. */
export const FAR_KM = 50;

/** Columns of a detection that the nowcast reads. */
export type HailPixel = Pick<Detection, 'lat' | 'lon' | 'estimated_size_mm' | 'cell_index'>;

/** Predicate over points: true where a scan has hail >= 19 mm within 1 km. */
export function strikesOf(pixels: readonly HailPixel[]): (point: Position) => boolean {
  const hail = pixels.filter(isHail);
  if (hail.length === 0) return () => false;
  const index = new KDBush(hail.length);
  for (const { lat, lon } of hail) index.add(lon, lat);
  index.finish();
  return (point) =>
    index.range(...boxAround(point, STRIKE_KM)).some((pixel) => distanceKm(hail[pixel], point) <= STRIKE_KM);
}

/** Storms observed in one scan, with their hail: tracks of at least two scans. */
export function liveStorms(tracks: readonly TrackPoint[], pixels: readonly HailPixel[]): NowcastStorm[] {
  const ofCell = Map.groupBy(pixels.filter(isHail), ({ cell_index }) => cell_index);
  return tracks
    .filter(({ state, scan_count }) => state === 'tracked' && scan_count > 1)
    .map((seen) => nowcastStorm(seen, ofCell.get(seen.cell_index) ?? []));
}

/**
 * Storms that the service has after a scan: the observed ones, and coasting ones at their last observed position. `rows`: track rows
 * of the look-back, in order of time.
 */
export function knownStorms(
  rows: readonly TrackPoint[],
  pixelsAt: (time_ms: number) => readonly HailPixel[],
): NowcastStorm[] {
  const storms = [...Map.groupBy(rows, ({ track_id }) => track_id).values()];
  const seen = storms.flatMap((track) => {
    const goesOn = track.at(-1)?.state === 'tracked' || track.at(-1)?.state === 'coasted';
    return goesOn ? (track.findLast(({ state }) => state === 'tracked') ?? []) : [];
  });
  const byScan = Map.groupBy(seen, ({ scan_time }) => scan_time);
  return [...byScan].flatMap(([scan_time, points]) => liveStorms(points, pixelsAt(scan_time)));
}

/**
 * Points around storms, uniform in area over each distance band; a low-discrepancy sequence (R2, the golden ratio's counterpart in
 * two dimensions). Points uniform in distance would crowd near the storms, where persistence is hard to beat.
 * `from`: number of the first point; `far_points`: points of each storm beyond 15 km.
 */
export function pointsAround(storms: readonly NowcastStorm[], from: number, far_points: number): Position[] {
  const perStorm = NEAR_POINTS_PER_STORM + far_points;
  return storms.flatMap(({ seen }, storm) =>
    Array.from({ length: perStorm }, (_, index) => {
      const number = from + storm * perStorm + index + 1;
      const share = (number * 0.569840291) % 1;
      const far2 = NEAR_KM ** 2 + share * (FAR_KM ** 2 - NEAR_KM ** 2);
      const km = index < NEAR_POINTS_PER_STORM ? NEAR_KM * Math.sqrt(share) : Math.sqrt(far2);
      return destination(seen, 360 * ((number * 0.7548776662) % 1), km);
    }),
  );
}

function isHail({ estimated_size_mm }: HailPixel): boolean {
  return estimated_size_mm >= STRIKE_MM;
}
