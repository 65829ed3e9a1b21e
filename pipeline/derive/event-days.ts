import { geodesicAreaKm2, pixelHull, ringCentroid } from '../../schemas/geo/hull.ts';
import type { PixelSet } from '../../schemas/geo/rings.ts';
import { polygonToWkt } from '../../schemas/geo/wkt.ts';
import type { EventDay } from '../../schemas/tables/derived.ts';

/** Aggregates of the detections >= 19 mm of a storm date; instants in epoch milliseconds. */
export type EventFacts = Pick<
  EventDay,
  'storm_date' | 'cell_count' | 'max_size_mm' | 'n_detections' | 'first_detected' | 'last_detected'
>;

/**
 * The event day of a storm date from its detections >= 19 mm: their pixels, each at least once and in any order, and their
 * aggregates. `affected_area_km2` is the geodesic area of the hull of the pixels' corners; two distant storms make it huge.
 * Throws RangeError without any pixel.
 */
export function eventDay(pixels: PixelSet, facts: EventFacts): EventDay {
  if (pixels.rows.length === 0) throw new RangeError('no pixels were given, expected at least one');
  const hull = pixelHull(pixels);
  const centroid = ringCentroid(hull);
  return {
    ...facts,
    affected_area_km2: geodesicAreaKm2(hull),
    centroid_lat: centroid.lat,
    centroid_lon: centroid.lon,
    hull: polygonToWkt([hull]),
  };
}
