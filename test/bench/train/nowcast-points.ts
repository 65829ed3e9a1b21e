import KDBush from 'kdbush';
import { boxAround } from '../../../schemas/geo/around.ts';
import { destination, distanceKm } from '../../../schemas/geo/distance.ts';
import type { Position } from '../../../schemas/geo/position.ts';
import {
  type HailSource,
  STRIKE_KM,
  STRIKE_MM,
  stormSource,
  untrackedSources,
} from '../../../schemas/nowcast/probability.ts';
import type { Detection, TrackPoint } from '../../../schemas/tables/radar.ts';

/** Largest distance of scored points from a storm: the default radius of the interface. */
export const NEAR_KM = 15;
const NEAR_POINTS = { storm: 12, untracked: 4 } as const;
/** Largest distance of further points, which are reported separately: the largest radius of the interface. */
export const FAR_KM = 50;

/** Columns of a detection that the nowcast reads. */
export type HailPixel = Pick<Detection, 'scan_time' | 'lat' | 'lon' | 'estimated_size_mm' | 'cell_index'>;

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

/** Hail of one scan as the service has it: of storms observed in it, which are tracks of at least two scans, and hail without a track. */
export function liveSources(tracks: readonly TrackPoint[], pixels: readonly HailPixel[]): HailSource[] {
  const scan_time = tracks[0]?.scan_time ?? pixels[0]?.scan_time;
  if (scan_time === undefined) return [];
  const hail = pixels.filter(isHail);
  const live = tracks.filter(({ state, scan_count }) => state === 'tracked' && scan_count > 1);
  const ofCell = Map.groupBy(hail, ({ cell_index }) => cell_index);
  const storms = live.map((seen) => stormSource(seen, ofCell.get(seen.cell_index) ?? []));
  const cells = new Set(live.map(({ cell_index }) => cell_index));
  const untracked = hail.filter(({ cell_index }) => !cells.has(cell_index));
  return [...storms, ...untrackedSources(untracked, scan_time, storms)];
}

/**
 * Points around hail, uniform in area over each distance band; a low-discrepancy sequence (R2, the golden ratio's counterpart in
 * two dimensions). Points uniform in distance would crowd near the hail, where persistence is hard to beat. Hail without a track
 * has a third of the points of a storm: its clumps are many and small.
 * `from`: number of the first point; `far_points`: points of each storm beyond 15 km.
 */
export function pointsAround(sources: readonly HailSource[], from: number, far_points: number): Position[] {
  let number = from;
  return sources.flatMap(({ seen }) => {
    const isStorm = seen.scan_count > 1;
    const near_points = isStorm ? NEAR_POINTS.storm : NEAR_POINTS.untracked;
    const count = near_points + (isStorm ? far_points : Math.floor(far_points / 3));
    return Array.from({ length: count }, (_, index) => {
      number += 1;
      const share = (number * 0.569840291) % 1;
      const far2 = NEAR_KM ** 2 + share * (FAR_KM ** 2 - NEAR_KM ** 2);
      const km = index < near_points ? NEAR_KM * Math.sqrt(share) : Math.sqrt(far2);
      return destination(seen, 360 * ((number * 0.7548776662) % 1), km);
    });
  });
}

function isHail({ estimated_size_mm }: HailPixel): boolean {
  return estimated_size_mm >= STRIKE_MM;
}
