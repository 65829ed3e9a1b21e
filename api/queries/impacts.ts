import type { Blockage } from '../../schemas/geo/blockage.ts';
import { LATTICE } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import {
  GAP_ASSETS_MAX,
  GAP_GROUPS_MAX,
  IMPACT_RADIUS_MI,
  type PortfolioGaps,
  type PortfolioImpact,
  type PortfolioImpacts,
} from '../../schemas/resources/portfolio-impact.ts';
import { timestamp } from '../../schemas/time.ts';
import { METRES_PER_MILE } from '../../schemas/units.ts';
import { forEachInChunks } from '../http/event-loop.ts';
import type { Engine } from '../published/duckdb.ts';
import { qualityAt } from '../rules/detection-quality.ts';
import { boundedDistanceM, pixelDistanceM, pixelKey, pixelsAround } from '../rules/pixel-distance.ts';
import { pointConfidence } from '../rules/point-confidence.ts';
import { type Coverage, radarGapsOf } from '../rules/radar-coverage.ts';
import { rounded } from '../rules/rounded.ts';
import { FILES } from './sql.ts';

/** Pixels, locations, confidences and coverages between which other requests may run: each about 3 ms. */
const AT_A_TIME = { pixels: 20_000, locations: 500, confidences: 50, coverages: 200 };
/** Hail as near as this strikes a location. */
const IMPACT_RADIUS_M = IMPACT_RADIUS_MI * METRES_PER_MILE;

type Asset = Position & Readonly<Record<'id' | 'name', string>>;

/** Largest size of a pixel, mm, and the scans in which it was a detection, at least 1. */
type PixelHail = Readonly<Record<'max_mm' | 'detections', number>>;

/** Pixels with a detection on one storm date, by `pixelKey`. */
type HailPixels = ReadonlyMap<number, PixelHail>;

/**
 * A pixel's day from the files of its stretches. A pixel that only what lies between two scans raised to 10 mm has no
 * detection.
 */
const PIXELS_SQL = `
  SELECT "row"::INTEGER * ${LATTICE.cols} + col AS pixel, max(max_mm) AS max_mm, sum(detection_scans) AS detections
  FROM ${FILES} WHERE storm_date = $2::DATE AND NOT interpolated AND detection_scans > 0 GROUP BY pixel`;

/** Pixels with a detection on a storm date. `paths`: files of `day-max` that hold the date. */
export async function readHailPixels(engine: Engine, paths: readonly string[], date: string): Promise<HailPixels> {
  const found = new Map<number, PixelHail>();
  if (paths.length === 0) return found;
  const read = await engine.columns<'pixel' | keyof PixelHail>(PIXELS_SQL, [paths, date]);
  const { pixel, max_mm, detections } = read as Readonly<Record<keyof typeof read, readonly number[]>>;
  await forEachInChunks(pixel, AT_A_TIME.pixels, (key, index) => {
    found.set(key, { max_mm: max_mm[index], detections: detections[index] });
  });
  return found;
}

type Impact = NonNullable<ReturnType<typeof impactOf>>;

/** Impacts of all locations that have one, in the order of the locations. */
export async function findImpacts(locations: readonly Asset[], pixels: HailPixels): Promise<Impact[]> {
  const impacts: Impact[] = [];
  await forEachInChunks(pixels.size === 0 ? [] : locations, AT_A_TIME.locations, (location) => {
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
  await forEachInChunks(rest.slice(0, limit), AT_A_TIME.confidences, ({ location, nearest_m, max_mm, detections }) => {
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

/** Radar coverage of each location on a storm date. Locations with the same gaps are one entry, the least seen first. */
export async function portfolioGaps(
  locations: readonly (Position & { readonly id: string })[],
  date: string,
  dates_without_data: readonly string[],
  coverageAt: (point: Position) => ReadonlyMap<string, Coverage | null>,
): Promise<PortfolioGaps> {
  const groups = new Map<ReadonlyMap<string, Coverage | null>, string[]>();
  await forEachInChunks(locations, AT_A_TIME.coverages, (location) => {
    const coverage = coverageAt(location);
    const ids = groups.get(coverage) ?? [];
    groups.set(coverage, ids);
    ids.push(location.id);
  });
  const anywhere = [...groups.keys()][0] ?? coverageAt({ lat: 0, lon: 0 });
  const until_ms = anywhere.get(date)?.until_ms ?? null;
  const in_part = [...groups].flatMap(([coverage, ids]) => {
    const [part] = radarGapsOf([], coverage).dates_seen_in_part;
    return part === undefined || (part.gaps.length === 0 && part.share > 0)
      ? []
      : { share: part.share, gap_count: part.gap_count, gaps: part.gaps, ids };
  });
  const count = (of: typeof in_part) => of.reduce((sum, { ids }) => sum + ids.length, 0);
  return {
    dates_without_data: [...dates_without_data],
    dates_with_unknown_scans: radarGapsOf([], anywhere).dates_with_unknown_scans,
    until: timestamp(until_ms),
    assets_seen_in_part: count(in_part),
    assets_unseen: count(in_part.filter(({ share }) => share === 0)),
    seen_in_part: in_part
      .sort((a, b) => a.share - b.share || b.ids.length - a.ids.length)
      .slice(0, GAP_GROUPS_MAX)
      .map(({ ids, ...part }) => ({ ...part, asset_count: ids.length, asset_ids: ids.slice(0, GAP_ASSETS_MAX) })),
  };
}
