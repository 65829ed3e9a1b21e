import KDBush from 'kdbush';
import { boxAround } from '../../schemas/geo/around.ts';
import { distanceKm, travel } from '../../schemas/geo/distance.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { type NowcastStorm, nowcastStorm, STRIKE_KM, STRIKE_MM } from '../../schemas/nowcast/probability.ts';
import type { Detection } from '../../schemas/tables/detections.ts';
import type { TrackPoint } from '../../schemas/tables/tracks.ts';

/** Points so near a storm are scored: as far as the interface looks unless it is told to look farther. */
export const NEAR_KM = 15;
export const NEAR_POINTS_PER_STORM = 12;
/** Points from there to so far away may be looked at beside them: as far as the interface looks at most. */
export const FAR_KM = 50;

/** What is read of a detection: where it is, how large, and of which cell. */
export type HailPixel = Pick<Detection, 'lat' | 'lon' | 'estimated_size_mm' | 'cell_index'>;

/** Tells whether hail >= 19 mm of a scan fell within 1 km of a point. */
export function strikesOf(pixels: readonly HailPixel[]): (point: Position) => boolean {
  const hail = pixels.filter(isHail);
  if (hail.length === 0) return () => false;
  const index = new KDBush(hail.length);
  for (const { lat, lon } of hail) index.add(lon, lat);
  index.finish();
  return (point) =>
    index
      .range(...boxAround(point, STRIKE_KM))
      .some((pixel) => distanceKm(hail[pixel] as Position, point) <= STRIKE_KM);
}

/** Storms of one scan as the nowcast knows them: tracks that saw more than one scan, with their hail. */
export function liveStorms(tracks: readonly TrackPoint[], pixels: readonly HailPixel[]): NowcastStorm[] {
  const ofCell = Map.groupBy(pixels.filter(isHail), ({ cell_index }) => cell_index);
  return tracks
    .filter(({ state, scan_count }) => state === 'tracked' && scan_count > 1)
    .map((seen) => nowcastStorm(seen, ofCell.get(seen.cell_index) ?? []));
}

/**
 * Points around storms, in every direction and as dense at every distance of a belt; spread by the golden ratio's like for
 * a plane. With as many at every distance they would crowd under the storms, where persistence knows most of what comes.
 * `from` numbers the first point; `far_points`: how many of each storm lie beyond 15 km.
 */
export function pointsAround(storms: readonly NowcastStorm[], from: number, far_points: number): Position[] {
  const perStorm = NEAR_POINTS_PER_STORM + far_points;
  return storms.flatMap(({ seen }, storm) =>
    Array.from({ length: perStorm }, (_, index) => {
      const number = from + storm * perStorm + index + 1;
      const share = (number * 0.569840291) % 1;
      const far2 = NEAR_KM ** 2 + share * (FAR_KM ** 2 - NEAR_KM ** 2);
      const km = index < NEAR_POINTS_PER_STORM ? NEAR_KM * Math.sqrt(share) : Math.sqrt(far2);
      return travel(seen, 360 * ((number * 0.7548776662) % 1), km);
    }),
  );
}

function isHail({ estimated_size_mm }: HailPixel): boolean {
  return estimated_size_mm >= STRIKE_MM;
}
