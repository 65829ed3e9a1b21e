import type { Blockage } from '../../schemas/geo/blockage.ts';
import type { Position } from '../../schemas/geo/position.ts';
import {
  IMPACT_RADIUS_MI,
  type PortfolioImpact,
  type PortfolioImpacts,
} from '../../schemas/resources/portfolio-impact.ts';
import { METRES_PER_MILE } from '../../schemas/units.ts';
import { forEachInChunks } from '../http/event-loop.ts';
import { qualityAt } from './detection-quality.ts';
import { boundedDistanceM, pixelDistanceM, pixelKey, pixelsAround } from './pixel-distance.ts';
import { pointConfidence } from './point-confidence.ts';
import { rounded } from './rounded.ts';

export const IMPACT_RADIUS_M = IMPACT_RADIUS_MI * METRES_PER_MILE;

/** Locations per chunk, after which other requests may run: about 3 ms. */
const CHUNK = 500;
/** Confidences per chunk, after which other requests may run: about 5 ms. */
const CONFIDENCES = 50;

type Asset = Position & Readonly<Record<'id' | 'name', string>>;

export interface PixelHail {
  readonly max_mm: number;
  /** Scans in which it was a detection, at least 1. */
  readonly detections: number;
}

/** Pixels with a detection on one storm date, by `pixelKey`. */
export type HailPixels = ReadonlyMap<number, PixelHail>;

type Impact = NonNullable<ReturnType<typeof impactOf>>;

/** Impacts of all locations that have one, in the order of the locations. */
export async function findImpacts(locations: readonly Asset[], pixels: HailPixels): Promise<Impact[]> {
  const impacts: Impact[] = [];
  if (pixels.size === 0) return impacts;
  await forEachInChunks(locations, CHUNK, (location) => {
    const impact = impactOf(location, pixels);
    if (impact !== null) impacts.push(impact);
  });
  return impacts;
}

/** Hail within a mile of one location, measured to the pixels' rectangles, the mile included; null without any. */
function impactOf(location: Asset, pixels: HailPixels) {
  const { row0, row1, col0, col1 } = pixelsAround(location, IMPACT_RADIUS_M);
  let nearest = { row: 0, col: 0, distance_m: Number.POSITIVE_INFINITY };
  let max_mm = 0;
  let detections = 0;
  for (let row = row0; row <= row1; row++)
    for (let col = col0; col <= col1; col++) {
      const pixel = pixels.get(pixelKey(row, col));
      if (pixel === undefined) continue;
      const distance_m = boundedDistanceM(location, row, col, [IMPACT_RADIUS_M]);
      if (distance_m > IMPACT_RADIUS_M) continue;
      if (distance_m < nearest.distance_m) nearest = { row, col, distance_m };
      max_mm = Math.max(max_mm, pixel.max_mm);
      detections += pixel.detections;
    }
  if (detections === 0) return null;
  // Pixels times scans, and the distance to the nearest rectangle, 0 inside it.
  return { location, nearest_m: pixelDistanceM(location, nearest.row, nearest.col), max_mm, detections };
}

/**
 * A page of impacts in ascending order of id: those after the cursor, and the cursor of the next page. `date` gives the month
 * for the freezing level, `terrain` the beams that terrain blocks. Without ground reports nothing is corroborated.
 */
export async function impactsPage(
  impacts: readonly Impact[],
  date: string,
  cursor: string | null,
  limit: number,
  terrain: Blockage | null,
): Promise<Pick<PortfolioImpacts, 'impacts' | 'next_cursor'>> {
  const month = Number(date.slice('YYYY-'.length, 'YYYY-MM'.length));
  const rest = cursor === null ? impacts : impacts.filter(({ location }) => location.id > cursor);
  const page: PortfolioImpact[] = [];
  await forEachInChunks(rest.slice(0, limit), CONFIDENCES, ({ location, nearest_m, max_mm, detections }) => {
    const { hdqi } = qualityAt(location, month, terrain).block;
    const evidence = { size_mm: max_mm, n_detections: detections, corroborated: false, hdqi };
    page.push({
      asset_id: location.id,
      name: location.name,
      nearest_detection_m: Math.round(nearest_m),
      max_size_mm: rounded(max_mm, 1),
      ml_confidence: rounded(pointConfidence(evidence), 3),
      n_detections: detections,
    });
  });
  return { impacts: page, next_cursor: rest.length > limit ? (page.at(-1)?.asset_id ?? null) : null };
}
