import { SIZE_BANDS } from '../../schemas/size.ts';
import type { Queries } from '../published/duckdb.ts';
import type { MaximumPixels } from '../rules/swath-tiers.ts';
import { FILES, type RegionPixels, regionFilter } from './sql.ts';

/**
 * Pixels of a region whose day maximum reaches a size, filled-in ones included, in no order. `paths` are day-max files of
 * one storm date; they add up, so a pixel may lie in several.
 */
export async function readMaximum(
  engine: Queries,
  paths: readonly string[],
  region: RegionPixels,
  from_mm: number,
): Promise<MaximumPixels> {
  if (paths.length === 0) return { row: [], col: [], mm: [] };
  const filter = regionFilter(region, 3);
  const { row, col, mm } = await engine.columns<'row' | 'col' | 'mm'>(
    `SELECT "row"::INTEGER AS "row", col::INTEGER AS col, max(max_mm) AS mm
     FROM ${FILES} ${filter.sql} AND max_mm >= $2 GROUP BY "row", col`,
    [paths, from_mm, ...filter.parameters],
  );
  return {
    row: Uint16Array.from(row as number[]),
    col: Uint16Array.from(col as number[]),
    mm: Float64Array.from(mm as number[]),
  };
}

/** Detections (pixel-scans) of a region. */
export interface DetectionCounts {
  /** Of at least the size asked for. */
  readonly n_detections: number;
  /** Largest of those, mm; null without any. */
  readonly max_size_mm: number | null;
  /** Detections at or above each bound of the size bands, by bound in mm. */
  readonly at_bound: ReadonlyMap<number, number>;
}

/** Counts the detections of a region of at least a size. `paths` are files of the detections of one storm date. */
export async function countDetections(
  engine: Queries,
  paths: readonly string[],
  region: RegionPixels,
  min_size_mm: number,
): Promise<DetectionCounts> {
  const none = { n_detections: 0, max_size_mm: null, at_bound: new Map<number, number>() };
  if (paths.length === 0) return none;
  const filter = regionFilter(region, 3);
  const bounds = SIZE_BANDS.map(({ threshold_mm }) => threshold_mm);
  const atBounds = bounds.map((mm) => `(count(*) FILTER (estimated_size_mm >= ${mm}))::DOUBLE AS "${mm}"`);
  const [counted] = await engine.rows<Record<string, number> & { n: number; largest: number | null }>(
    `SELECT count(*)::DOUBLE AS n, max(estimated_size_mm) AS largest, ${atBounds.join(', ')}
     FROM ${FILES} ${filter.sql} AND estimated_size_mm >= $2`,
    [paths, min_size_mm, ...filter.parameters],
  );
  if (counted === undefined) return none;
  return {
    n_detections: counted.n,
    max_size_mm: counted.largest,
    at_bound: new Map(bounds.map((mm) => [mm, counted[mm] ?? 0])),
  };
}
