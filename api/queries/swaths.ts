import { SIZE_BANDS } from '../../schemas/size.ts';
import type { Edition } from '../published/catalog.ts';
import type { Queries } from '../published/duckdb.ts';
import { onThread } from '../published/thread.ts';
import type { Region } from '../rules/region.ts';
import { type Drawing, type DrawnTier, tierBounds } from '../rules/swath-tiers.ts';
import { FILES, type RegionPixels, regionFilter } from './sql.ts';

/** Asks for the footprint of a storm date. */
type SwathQuestion = Readonly<{ date: string; region: Region; min_size_mm: number; simplify_m: number }>;

/** A whole outbreak takes a tenth of a second. */
const drawTiers = onThread<Drawing, readonly DrawnTier[]>({
  module: new URL('../rules/swath-tiers.ts', import.meta.url),
  name: 'drawTiers',
  subject: 'the drawing of a swath',
  limit_ms: 15_000,
});

/** Tables that a swath is made of. */
export const SWATH_TABLES = ['day-max', 'detections'] as const;

/** Footprint of a storm date in a region, and the detections behind it. */
export async function swathOf(engine: Queries, edition: Edition, question: SwathQuestion) {
  const { date, region, min_size_mm, simplify_m } = question;
  const { window, runs, bbox } = region;
  if (window === null) return { tiers: [], ...NO_DETECTIONS };
  const pathsOf = (table: string, from_mm: number) => edition.paths(table, [date], { bbox, min_size_mm: from_mm });
  const [lowest] = tierBounds(min_size_mm);
  const [counts, pixels] = await Promise.all([
    countDetections(engine, pathsOf('detections', min_size_mm), { window, runs }, min_size_mm),
    lowest === undefined
      ? null
      : readMaximum(engine, pathsOf('day-max', lowest.threshold_mm), { window, runs }, lowest.threshold_mm),
  ]);
  const tiers = pixels === null || pixels.mm.length === 0 ? [] : await drawTiers({ pixels, min_size_mm, simplify_m });
  return { ...counts, tiers };
}

/**
 * Pixels of a region whose day maximum reaches a size, filled-in ones included, in no order. `paths` are day-max files of
 * one storm date; they add up, so a pixel may lie in several.
 */
async function readMaximum(engine: Queries, paths: readonly string[], region: RegionPixels, from_mm: number) {
  if (paths.length === 0) return { row: [], col: [], mm: [] };
  const filter = regionFilter(region, 3);
  const { row, col, mm } = await engine.columns<'row' | 'col' | 'mm'>(
    `SELECT "row"::INTEGER AS "row", col::INTEGER AS col, max(max_mm) AS mm
     FROM ${FILES} ${filter.sql} AND max_mm >= $2 GROUP BY "row", col`,
    [paths, from_mm, ...filter.parameters],
  );
  // Typed arrays cross to a thread faster.
  return {
    row: Uint16Array.from(row as number[]),
    col: Uint16Array.from(col as number[]),
    mm: Float64Array.from(mm as number[]),
  };
}

const NO_DETECTIONS = { n_detections: 0, max_size_mm: null, at_bound: new Map<number, number>() };

/**
 * Counts the detections (pixel-scans) of a region of at least a size, finds the largest of those, and counts those at or above each
 * bound of the size bands. `paths` are files of the detections of one storm date.
 */
async function countDetections(engine: Queries, paths: readonly string[], region: RegionPixels, min_size_mm: number) {
  if (paths.length === 0) return NO_DETECTIONS;
  const filter = regionFilter(region, 3);
  const bounds = SIZE_BANDS.map(({ threshold_mm }) => threshold_mm);
  const atBounds = bounds.map((mm) => `(count(*) FILTER (estimated_size_mm >= ${mm}))::DOUBLE AS "${mm}"`);
  const [counted] = await engine.rows<Record<string, number> & { n: number; largest: number | null }>(
    `SELECT count(*)::DOUBLE AS n, max(estimated_size_mm) AS largest, ${atBounds.join(', ')}
     FROM ${FILES} ${filter.sql} AND estimated_size_mm >= $2`,
    [paths, min_size_mm, ...filter.parameters],
  );
  if (counted === undefined) return NO_DETECTIONS;
  return {
    n_detections: counted.n,
    max_size_mm: counted.largest,
    at_bound: new Map<number, number>(bounds.map((mm) => [mm, counted[mm] ?? 0])),
  };
}
