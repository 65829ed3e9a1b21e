import { geodesicAreaKm2, hullCentroid, pixelHull } from '../../schemas/geo/hull.ts';
import { polygonToWkt } from '../../schemas/geo/wkt.ts';
import { SIZE_BANDS } from '../../schemas/size.ts';
import type { DayMax } from '../../schemas/tables/day-max.ts';
import type { EventDay } from '../../schemas/tables/event-days.ts';

const SEVERE_MM = SIZE_BANDS[0].threshold_mm;

/** What an event day needs of a row of the day maximum. */
export type EventPixel = Pick<
  DayMax,
  'row' | 'col' | 'max_mm' | 'interpolated' | 'first_detected' | 'last_detected' | 'detection_scans'
>;

/**
 * The event day of a storm date: null without a detection >= 19 mm. Interpolated pixels never count.
 * `affected_area_km2` is the geodesic area of the hull of the corners of all pixels >= 19 mm; two far storms make it huge.
 */
export function eventDay(
  rows: readonly EventPixel[],
  { storm_date, cell_count }: { readonly storm_date: string; readonly cell_count: number },
): EventDay | null {
  const seen = rows.filter((row) => !row.interpolated);
  const severe = seen.filter((row) => row.max_mm >= SEVERE_MM);
  if (severe.length === 0) return null;
  const hull = pixelHull({ rows: severe.map(({ row }) => row), cols: severe.map(({ col }) => col) });
  const centroid = hullCentroid(hull);
  return {
    storm_date,
    cell_count,
    max_size_mm: severe.reduce((largest, row) => Math.max(largest, row.max_mm), 0),
    n_detections: seen.reduce((sum, row) => sum + row.detection_scans, 0),
    affected_area_km2: geodesicAreaKm2(hull),
    centroid_lat: centroid.lat,
    centroid_lon: centroid.lon,
    first_detected: seen.reduce((first, row) => Math.min(first, row.first_detected ?? first), Number.POSITIVE_INFINITY),
    last_detected: seen.reduce((last, row) => Math.max(last, row.last_detected ?? last), Number.NEGATIVE_INFINITY),
    hull: polygonToWkt([hull]),
  };
}
